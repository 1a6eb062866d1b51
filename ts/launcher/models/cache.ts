/**
 * The content-addressed cache of models and other generated folders: `<PRL_CACHE_DIR>/<kind>/<key>/`, default `~/.cache/prl`.
 *
 * An entry is made beside its place and renamed, so it is whole or absent. When two runs make the same entry at once, one wins and
 * both use it. The key has everything that the content depends on; `.digests.json` in the entry has the digests of the content. An entry is
 * checked against them each time before a run starts from it: a damaged entry is made again, never used.
 */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

import { cacheDir } from "../../config/index.ts";
import { canonicalJson } from "../../canonical-json.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { ifThere, isMissing, isThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { atomicWriteJson, syncDirectory, syncFolder } from "../../files/atomic-write.ts";

const KEY_HEX_DIGITS = 32;
const DIGESTS_FILE = ".digests.json";
const UNFINISHED = /\.tmp$/;
/** Unfinished entries of killed runs are deleted when they are this old. */
const UNFINISHED_AGE_MS = 7 * 24 * 3_600_000;

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

export interface CacheEntry {
  /** Its folder. */
  path: string;
  /** The entry existed already. */
  hit: boolean;
  /** Damage of the existing entry; null when there was none. */
  damage: string | null;
}

/**
 * The folder of an entry; `make(emptyFolder)` makes it when it is missing or has changed since it was made.
 *
 * @throws PrlError `PRL_IO` when the cache cannot be written; what `make` throws
 */
export async function cached(
  kind: string,
  key: string,
  make: (dir: string) => Promise<void>,
  root: string = cacheDir(),
): Promise<CacheEntry> {
  const path = join(root, kind, key);
  const found = await inspect(path);
  if (found === "intact") return { path, hit: true, damage: null };
  const damage = found === "absent" ? null : found.damage;
  const unfinished = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    makeFolder(unfinished);
  } catch (cause) {
    throw new PrlError(
      "PRL_IO",
      `cannot write to the cache ${root}: set PRL_CACHE_DIR to a folder that can be written`,
      { cause },
    );
  }
  await removeLeftovers(join(root, kind));
  try {
    await make(unfinished);
    await atomicWriteJson(join(unfinished, DIGESTS_FILE), await folderKey(unfinished, isContent));
    await syncFolder(unfinished);
    return { path, hit: await putInPlace(unfinished, path), damage };
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Renames the new folder to `path`; true when another run was faster and its entry, which is equal, stays. */
async function putInPlace(unfinished: string, path: string): Promise<boolean> {
  for (let isRetry = false; ; isRetry = true) {
    try {
      await rename(unfinished, path);
      await syncDirectory(dirname(path));
      return false;
    } catch (cause) {
      // A folder that is not empty, or a file, cannot be renamed over.
      if (!isOccupied(cause) || isRetry) throw new PrlError("PRL_IO", `cannot put ${path} into the cache`, { cause });
    }
    if ((await inspect(path)) === "intact") return true;
    await rm(path, { recursive: true, force: true });
  }
}

/** Compares an entry with the digests that were taken when it was made. */
async function inspect(path: string): Promise<"intact" | "absent" | { damage: string }> {
  if (!(await isThere(path))) return "absent";
  const text = await ifThere(readFile(join(path, DIGESTS_FILE), "utf8"), join(path, DIGESTS_FILE));
  if (text === null) return { damage: `${DIGESTS_FILE} is missing` };
  let wanted: unknown;
  try {
    wanted = JSON.parse(text);
  } catch {
    return { damage: `${DIGESTS_FILE} is malformed` };
  }
  if (typeof wanted !== "object" || wanted === null) return { damage: `${DIGESTS_FILE} is malformed` };
  let there: Record<string, string>;
  try {
    there = await folderKey(path, isContent);
  } catch (cause) {
    return { damage: messageOf(cause) };
  }
  for (const [name, digest] of Object.entries(wanted)) {
    if (there[name] === undefined) return { damage: `${name} is missing` };
    if (there[name] !== digest) return { damage: `${name} has changed` };
  }
  const extra = Object.keys(there).find((name) => !Object.hasOwn(wanted, name));
  return extra === undefined ? "intact" : { damage: `${extra} does not belong there` };
}

function isContent(name: string): boolean {
  return name !== DIGESTS_FILE;
}

async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!UNFINISHED.test(name)) continue;
    const path = join(folder, name);
    try {
      if (Date.now() - (await stat(path)).mtimeMs > UNFINISHED_AGE_MS) await rm(path, { recursive: true, force: true });
    } catch (cause) {
      // Another run ended or cleaned up first.
      if (!isMissing(cause)) throw new PrlError("PRL_IO", `cannot delete what a killed run left at ${path}`, { cause });
    }
  }
}

function isOccupied(cause: unknown): boolean {
  return codeOf(cause) === "ENOTEMPTY" || codeOf(cause) === "EEXIST" || codeOf(cause) === "ENOTDIR";
}

function codeOf(cause: unknown): unknown {
  return cause instanceof Error && "code" in cause ? cause.code : undefined;
}
