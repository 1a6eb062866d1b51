/**
 * Reads a file that a user named. Reading a named pipe without a writer, a terminal or /dev/zero would never end, so only regular files of
 * a bounded size are read.
 */
import { constants, type Stats } from "node:fs";
import { open } from "node:fs/promises";

import { PrlError } from "../errors.ts";

/** Larger than any config; a larger file is something else. */
export const LARGEST_TEXT = 16 * 1024 * 1024;

/** The kind of a file as text. */
export function fileKind(stats: Stats): "file" | "folder" | "named pipe" | "socket" | "device" {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  if (stats.isFIFO()) return "named pipe";
  return stats.isSocket() ? "socket" : "device";
}

/**
 * The text of a regular file.
 *
 * @throws PrlError `PRL_IO` when it is not regular, or too large; errors of the file system
 */
export async function readRegularFile(path: string): Promise<string> {
  // Without O_NONBLOCK the open of a named pipe waits for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    const kind = fileKind(stats);
    if (kind !== "file") throw new PrlError("PRL_IO", `${path} is a ${kind}, not a file`);
    if (stats.size > LARGEST_TEXT) {
      throw new PrlError("PRL_IO", `${path} has ${stats.size} bytes, more than the ${LARGEST_TEXT} that are read`);
    }
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
