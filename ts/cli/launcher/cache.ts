/**
 * The content-addressed cache of made things: `<PRL_CACHE_DIR>/<kind>/<key>/`, default `~/.cache/prl`.
 *
 * An entry exists when its folder does: it is made beside its place and renamed, so it is whole or absent, and of two runs that make the
 * same entry at once one wins and both use it. The key says all that the content depends on.
 */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { cacheDir } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";

const KEY_HEX_DIGITS = 32;

/** A key from values; objects count by content, not by the order of their keys. */
export function cacheKey(parts: unknown): string {
  return createHash("sha256").update(canonicalJson(parts)).digest("hex").slice(0, KEY_HEX_DIGITS);
}

/** Digest of a file's bytes, for use in keys. */
export async function fileKey(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot read ${path}`, { cause });
  }
  return hash.digest("hex");
}

/** Names and digests of the files directly in `dir` that `wanted` accepts, for use in keys. */
export async function folderKey(dir: string, wanted: (name: string) => boolean): Promise<Record<string, string>> {
  const entries = await readdir(dir, { withFileTypes: true });
  const names = entries.filter((entry) => !entry.isDirectory() && wanted(entry.name)).map((entry) => entry.name);
  const digests: Record<string, string> = {};
  for (const name of names.toSorted()) digests[name] = await fileKey(join(dir, name));
  return digests;
}

/**
 * The folder of an entry, made by `make(emptyFolder)` when it is not there.
 *
 * @returns its path, and whether it was there already
 */
export async function cached(
  kind: string,
  key: string,
  make: (dir: string) => Promise<void>,
  root: string = cacheDir(),
): Promise<{ path: string; hit: boolean }> {
  const path = join(root, kind, key);
  if (await exists(path)) return { path, hit: true };
  const unfinished = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    await mkdir(unfinished, { recursive: true });
  } catch (cause) {
    throw new PrlError(
      "PRL_IO",
      `cannot write to the cache ${root}: set PRL_CACHE_DIR to a folder that can be written`,
      { cause },
    );
  }
  try {
    await make(unfinished);
    await rename(unfinished, path);
  } catch (cause) {
    // Another run was faster: a folder that is not empty cannot be renamed over.
    if (isOccupied(cause) && (await exists(path))) return { path, hit: true };
    throw cause;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return { path, hit: false };
}

function isOccupied(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && (cause.code === "ENOTEMPTY" || cause.code === "EEXIST");
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    // Not there, or not readable; making it then says why.
    return false;
  }
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
