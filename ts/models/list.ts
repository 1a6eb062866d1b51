/** Models in the cache: what is there, and its removal. */
import { readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import type { HubSettings } from "../hub/index.ts";
import { modelRoot } from "./hub-cache.ts";
import { CONFIG_FILE, missingFiles } from "./model-files.ts";
import { type ModelReference, parseModelName } from "./model-name.ts";
import { type Refusal, supportOf } from "./support.ts";

export interface CachedRevision {
  readonly model: string;
  readonly commit: string;
  /** Branches and tags that have this commit. */
  readonly revisions: readonly string[];
  /** Bytes of its files; those of another commit count in both. */
  readonly bytes: number;
  /** Files without which it cannot be loaded. */
  readonly missing: readonly string[];
  /** Why the engine does not serve it; null: it does. */
  readonly refusal: Refusal | null;
}

const PREFIX = "models--";

/** Every commit of every model in the cache, by name. Errors: PRL_IO. */
export async function listModels(settings: HubSettings): Promise<CachedRevision[]> {
  const root = settings.caches.model;
  const found: CachedRevision[] = [];
  for (const entry of await names(root)) {
    const reference = entry.startsWith(PREFIX) ? parseModelName(entry.slice(PREFIX.length).replace("--", "/")) : null;
    if (reference === null) continue;
    const refs = await refsOf(join(root, entry, "refs"));
    for (const commit of await names(join(root, entry, "snapshots"))) {
      const dir = join(root, entry, "snapshots", commit);
      if ((await ifThere(stat(dir), dir))?.isDirectory() !== true) continue;
      const revisions = refs.filter((ref) => ref.commit === commit).map(({ name }) => name);
      found.push({ model: reference.name, commit, revisions, ...(await described(dir)) });
    }
  }
  return found;
}

async function described(dir: string): Promise<Pick<CachedRevision, "bytes" | "missing" | "refusal">> {
  const { missing, malformed } = await filesOf(dir);
  const config = await ifThere(readFile(join(dir, CONFIG_FILE), "utf8"), dir);
  const refusal = config === null ? null : (await supportOf(config)).serve;
  return { bytes: await bytesOf(dir), missing, refusal: refusal ?? malformed };
}

/** Names the missing files, or why they cannot be named: other programs keep models in the cache that prl does not read, and the list goes on past them. */
async function filesOf(dir: string): Promise<{ missing: string[]; malformed: Refusal | null }> {
  try {
    return { missing: await missingFiles(dir), malformed: null };
  } catch (cause) {
    if (!(cause instanceof PrlError) || cause.code !== "PRL_WEIGHTS_FORMAT") throw cause;
    return { missing: [], malformed: { code: cause.code, reason: cause.message } };
  }
}

/** Sizes of the files that the links of a snapshot name, each blob once. */
async function bytesOf(dir: string): Promise<number> {
  const seen = new Set<string>();
  let bytes = 0;
  for (const name of await readdir(dir, { recursive: true })) {
    const path = join(dir, name);
    const target = await ifThere(realpath(path), path);
    if (target === null || seen.has(target)) continue;
    seen.add(target);
    const found = await stat(target);
    if (found.isFile()) bytes += found.size;
  }
  return bytes;
}

/** Branches and tags; their names may have slashes. */
async function refsOf(folder: string): Promise<{ name: string; commit: string }[]> {
  const found: { name: string; commit: string }[] = [];
  for (const name of (await ifThere(readdir(folder, { recursive: true }), folder)) ?? []) {
    const path = join(folder, name);
    if ((await ifThere(stat(path), path))?.isFile() !== true) continue;
    found.push({ name, commit: (await readFile(path, "utf8")).trim() });
  }
  return found;
}

/** A lock that was touched this recently has a living holder, which touches it every two seconds. */
const HELD_MS = 15_000;

/** Removes all revisions of a model from the cache; the bytes that it had. Errors: PRL_HUB_UNKNOWN, PRL_IO. */
export async function removeModel(settings: HubSettings, reference: ModelReference): Promise<number> {
  const root = modelRoot(settings, reference);
  if ((await ifThere(stat(root), root)) === null) {
    throw new PrlError("PRL_HUB_UNKNOWN", `the model ${reference.name} is not in the cache ${settings.caches.model}`);
  }
  for (const lock of await names(join(root, "locks"))) {
    const held = await ifThere(stat(join(root, "locks", lock)), root);
    if (held === null || Date.now() - held.mtimeMs > HELD_MS) continue;
    throw new PrlError("PRL_IO", `the model ${reference.name} is being downloaded by another process: stop it first`);
  }
  const bytes = await bytesOf(join(root, "blobs"));
  await rm(root, { recursive: true });
  return bytes;
}

/** Sorted names in a folder; none when there is no folder. */
async function names(folder: string): Promise<string[]> {
  return ((await ifThere(readdir(folder), folder)) ?? []).toSorted();
}
