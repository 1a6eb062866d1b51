/**
 * Making a folder and those above it that are missing.
 *
 * Node's own recursive `mkdir` never returns below /proc, which says of every new name that it is missing; here each folder is tried once.
 * A folder inside a run directory is made only while the run directory is there: one that was taken away is not to come back half-filled.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

import { PrlError } from "../errors.ts";

/**
 * Makes `path`, which may be there already.
 *
 * @param within a folder that `path` is in and that must be there
 * @throws PrlError `PRL_IO` naming the folder that cannot be made
 */
export function makeFolder(path: string, within?: string): void {
  const root = within === undefined ? undefined : resolve(within);
  const missing: string[] = [];
  for (let folder = resolve(path); !isThere(folder); folder = dirname(folder)) {
    if (folder === root) throw new PrlError("PRL_IO", `cannot make the folder ${path}: ${root} is not there`);
    missing.unshift(folder);
  }
  for (const folder of missing) make(folder);
}

function isThere(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot look at ${folder}`, { cause });
  }
}

function make(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (cause) {
    // Another process may be faster.
    const isMade = cause instanceof Error && "code" in cause && cause.code === "EEXIST" && isThere(folder);
    if (!isMade) throw new PrlError("PRL_IO", `cannot make the folder ${folder}`, { cause });
  }
}
