/**
 * Whole-file replacement: readers see the old bytes or the new ones, never a mixture and never a torn file.
 *
 * The new bytes go to a temporary file in the same directory, are synced, then renamed over the target; the directory is synced last.
 * When anything fails (most often because of a full disk) the target keeps its content and the temporary file is removed. This file
 * knows no formats.
 */
import { randomBytes } from "node:crypto";
import { link, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { PrlError } from "../errors.ts";

/** The errors of a file system without hard links. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EXDEV", "EMLINK"]);

/**
 * Replaces the file at `path` by `data`, or by the pieces that it gives one after the other; the directory must exist. `mode`: who may read and
 * write it, from its first byte on; default: as the process makes files.
 *
 * @throws PrlError `PRL_IO` naming the file; the file that was there before is whole.
 */
export async function atomicWriteFile(
  path: string,
  data: string | Uint8Array | AsyncIterable<string>,
  mode?: number,
): Promise<void> {
  const temporary = temporaryPath(path);
  try {
    await writeSynced(temporary, data, mode);
    await rename(temporary, path);
  } catch (cause) {
    await discard(temporary);
    throw new PrlError("PRL_IO", `cannot write ${path}; what was there before is unchanged`, {
      cause,
    });
  }
  await syncDirectory(dirname(path));
}

/**
 * Makes a file that is not there yet, whole and durable. False: it is there already, and stays as it is; of several processes that make it at once one does. On
 * a file system without hard links the last one does.
 *
 * @throws PrlError `PRL_IO` naming the file
 */
export async function createFile(path: string, data: string, mode?: number): Promise<boolean> {
  const temporary = temporaryPath(path);
  try {
    await writeSynced(temporary, data, mode);
    try {
      await link(temporary, path);
    } catch (cause) {
      const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
      if (code === "EEXIST") return false;
      if (!NO_LINKS.has(String(code))) throw cause;
      await rename(temporary, path);
    }
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot make ${path}`, { cause });
  } finally {
    await discard(temporary);
  }
  await syncDirectory(dirname(path));
  return true;
}

/** In the same directory, under a name that no other call has. */
function temporaryPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`);
}

/** A disk that refuses this too has refused something before, which counts. */
async function discard(temporary: string): Promise<void> {
  await rm(temporary, { force: true }).catch(() => undefined);
}

async function writeSynced(
  path: string,
  data: string | Uint8Array | AsyncIterable<string>,
  mode: number | undefined,
): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await writeFile(file, data);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Makes the files directly in a folder durable, and their names; another process may have written them.
 *
 * @throws PrlError `PRL_IO` naming the file or the folder
 */
export async function syncFolder(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw new PrlError("PRL_IO", `cannot list ${folder}`, { cause });
  });
  for (const { name } of entries.filter((entry) => entry.isFile())) {
    const path = join(folder, name);
    try {
      const file = await open(path, "r");
      try {
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (cause) {
      throw new PrlError("PRL_IO", `cannot sync ${path}`, { cause });
    }
  }
  await syncDirectory(folder);
}

/**
 * Gives a file that is whole and synced its place in the same directory, durably.
 *
 * @throws PrlError `PRL_IO` naming both
 */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot move ${from} to ${to}`, { cause });
  }
  await syncDirectory(dirname(to));
}

/** Makes the names in `directory` durable. Some file systems refuse to sync directories; there this does nothing. */
export async function syncDirectory(directory: string): Promise<void> {
  try {
    const handle = await open(directory, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code !== "EINVAL" && code !== "ENOTSUP") {
      throw new PrlError("PRL_IO", `cannot sync the directory ${directory}`, { cause });
    }
  }
}

/** `atomicWriteFile` of `value` as indented JSON with a final newline. */
export async function atomicWriteJson(path: string, value: unknown): Promise<void> {
  await atomicWriteFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
