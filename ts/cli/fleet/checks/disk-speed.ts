/** How fast a folder takes a file, as a checkpoint would be: written, synced, and removed. */
import { randomBytes } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";

import { messageOf } from "../../../errors.ts";
import { bytesText, type Check, ok, problem, warning } from "../../doctor/check.ts";

const NAME = "Disk writes";
const PIECE_BYTES = 4 * 1024 ** 2;
const PIECES = 16;
/** A slow disk writes less than all pieces. */
const MOST_MS = 10_000;
const SLOW_BYTES_PER_S = 100 * 1024 ** 2;

/** @param folder is there, and can be written */
export async function diskSpeedCheck(folder: string): Promise<Check> {
  const path = join(folder, `.prl-fleet-check-${randomBytes(4).toString("hex")}`);
  try {
    const { bytes, ms } = await written(path);
    const rate = bytes / (ms / 1000);
    const detail = `${bytesText(rate)}/s for ${bytesText(bytes)} in ${folder}`;
    if (rate >= SLOW_BYTES_PER_S) return ok(NAME, detail);
    return warning(NAME, detail, "set dir of the host to a faster disk, or ckpt.recovery_interval higher");
  } catch (error) {
    return problem(NAME, `${folder}: ${messageOf(error)}`, "set dir of the host to a folder that can be written");
  } finally {
    await rm(path, { force: true });
  }
}

async function written(path: string): Promise<{ bytes: number; ms: number }> {
  // Bytes that no file system makes smaller.
  const piece = randomBytes(PIECE_BYTES);
  const file = await open(path, "wx");
  try {
    const began = performance.now();
    let bytes = 0;
    for (let count = 0; count < PIECES && performance.now() - began < MOST_MS; count++) {
      bytes += (await file.write(piece)).bytesWritten;
      await file.datasync();
    }
    return { bytes, ms: performance.now() - began };
  } finally {
    await file.close();
  }
}
