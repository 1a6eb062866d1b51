/** Distinguishes a missing file from an unreadable one: the first is an answer, the second is an error that names the file. */
import { access } from "node:fs/promises";

import { PrlError } from "../errors.ts";

/** Whether the file system failed because nothing is at the path. */
export function isMissing(cause: unknown): boolean {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}

/** Errors: PRL_IO when the file system does not say. */
export async function isThere(path: string): Promise<boolean> {
  return (await ifThere(access(path), path)) !== null;
}

/** The result of reading `path`, null where nothing exists. Errors: PRL_IO for every other failure. */
export async function ifThere<T>(reading: Promise<T>, path: string): Promise<T | null> {
  try {
    return await reading;
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw new PrlError("PRL_IO", `cannot read ${path}`, { cause });
  }
}
