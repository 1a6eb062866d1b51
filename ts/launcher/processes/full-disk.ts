/** Finds out whether a disk is full: a process that dies of that cannot write down why. */
import { open, rm } from "node:fs/promises";
import { join } from "node:path";

/** A block of most file systems: less may fit into a block that is in use already. */
const PROBE_BYTES = 4096;

/** Says that nothing can be written to `folder` because its disk, or the user's share of it, is full; null when that is not so. */
export async function fullDisk(folder: string): Promise<string | null> {
  const path = join(folder, `.room-${process.pid}`);
  try {
    const file = await open(path, "w");
    try {
      await file.write(Buffer.alloc(PROBE_BYTES, 1));
      await file.sync();
    } finally {
      await file.close();
    }
    return null;
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "ENOSPC") return `the disk of ${folder} is full (ENOSPC)`;
    if (code === "EDQUOT") return `the disk quota for ${folder} is used up (EDQUOT)`;
    // This function reports no other problem of the folder.
    return null;
  } finally {
    await rm(path, { force: true });
  }
}
