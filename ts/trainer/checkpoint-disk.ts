/** Metrics of the disk that holds the checkpoints, under prime-rl's names. */
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

import { isMissing } from "../files/file-presence.ts";

const GIB = 2 ** 30;

/**
 * Space of the file system of `root`, which may not exist yet; free space is the space that this user may use. Errors: those of
 * `statfs`.
 */
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
