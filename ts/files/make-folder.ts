/**
 * Makes a folder and the missing ones above it.
 *
 * Node's recursive `mkdir` never returns below /proc, where every new name is reported as missing; here each folder is tried once.
 * A folder inside a run directory is made only while the run directory exists, so that a removed one does not come back half-filled.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

import { PrlError } from "../errors.ts";
import { syncDirectory } from "./atomic-write.ts";

/**
 * Makes `path`, which may exist already.
 *
 * @param within a folder that contains `path` and that must exist
 * @returns the folders that were missing
 * @throws PrlError `PRL_IO` naming the folder that cannot be made
 */
export function makeFolder(path: string, within?: string): string[] {
  const root = within === undefined ? undefined : resolve(within);
  const missing: string[] = [];
  for (let folder = resolve(path); !isThere(folder); folder = dirname(folder)) {
    if (folder === root) throw new PrlError("PRL_IO", `cannot make the folder ${path}: ${root} is not there`);
    missing.unshift(folder);
  }
  for (const folder of missing) make(folder);
  return missing;
}

/** The same, and the names of the folders that it makes survive a power cut: what is synced in a folder is lost with the folder's name. */
export async function makeDurableFolder(path: string, within?: string): Promise<void> {
  for (const folder of makeFolder(path, within)) await syncDirectory(dirname(folder));
}

/** Makes a folder that other users cannot look into, and the missing ones above it; one that is there stays as it is. */
export async function makePrivateFolder(path: string): Promise<void> {
  await makeDurableFolder(dirname(resolve(path)));
  if (isThere(path)) return;
  make(path, 0o700);
  await syncDirectory(dirname(resolve(path)));
}

function isThere(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot look at ${folder}`, { cause });
  }
}

function make(folder: string, mode = 0o777): void {
  try {
    mkdirSync(folder, { mode });
  } catch (cause) {
    // Another process may be faster.
    const isMade = cause instanceof Error && "code" in cause && cause.code === "EEXIST" && isThere(folder);
    if (!isMade) throw new PrlError("PRL_IO", `cannot make the folder ${folder}`, { cause });
  }
}
