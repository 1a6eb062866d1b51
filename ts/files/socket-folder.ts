/**
 * Temporary folders for Unix sockets, whose paths must be short: where TMPDIR is too long for one, the folder is in `/tmp`. The paths of run
 * directories are often too long.
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PrlError } from "../errors.ts";

/** The limit of macOS; Linux takes 107. */
const MOST_BYTES = 103;
const SHORT = "/tmp";
/** The characters that the system puts behind the prefix. */
const RANDOM = "XXXXXX";

/**
 * Makes a folder whose name begins with `prefix`, for a socket with this name.
 *
 * @throws PrlError `PRL_IO` naming the folder that it cannot be made in
 */
export async function makeSocketFolder(prefix: string, socket: string): Promise<string> {
  const isLong = Buffer.byteLength(join(tmpdir(), prefix + RANDOM, socket)) > MOST_BYTES;
  const parent = isLong ? SHORT : tmpdir();
  try {
    return await mkdtemp(join(parent, prefix));
  } catch (cause) {
    const why = isLong ? `, where it is because TMPDIR (${tmpdir()}) is too long for a socket` : "";
    const text = `cannot make a folder for a socket in ${parent}${why}: set TMPDIR to a short folder that can be written`;
    throw new PrlError("PRL_IO", text, { cause });
  }
}
