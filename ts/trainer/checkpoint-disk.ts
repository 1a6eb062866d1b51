/** The disk that checkpoints go to, under prime-rl's names. */
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

import { isMissing } from "../files/file-presence.ts";

const GIB = 2 ** 30;

/** Of the file system of `root`, which need not be there yet; what is free is what is left to this user. Errors: those of `statfs`. */
export async function checkpointDisk(root: string): Promise<Record<string, number>> {
  try {
    const { bsize, blocks, bfree, bavail } = await statfs(root);
    return {
      "system/ckpt_disk_free_gib": (bavail * bsize) / GIB,
      "system/ckpt_disk_used_gib": ((blocks - bfree) * bsize) / GIB,
      "system/ckpt_disk_total_gib": (blocks * bsize) / GIB,
      "system/ckpt_disk_free_ratio": blocks === 0 ? 0 : bavail / blocks,
    };
  } catch (error) {
    if (!isMissing(error) || dirname(root) === root) throw error;
    return checkpointDisk(dirname(root));
  }
}
