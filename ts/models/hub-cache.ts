/**
 * Models in the cache that Hugging Face's programs share: `models--org--name/{blobs,refs,snapshots}`.
 *
 * `refs/<revision>` has the commit of a branch or tag, `snapshots/<commit>/` its files as links to blobs. prl writes a ref when the snapshot
 * is whole.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";

import { ifThere, isThere } from "../files/file-presence.ts";
import { type HubSettings, isCommit, repositoryRoot } from "../hub/index.ts";
import { missingFiles } from "./model-files.ts";
import { modelRepository, type ModelReference } from "./model-name.ts";

export interface CachedModel {
  readonly commit: string;
  /** Folder of the snapshot. */
  readonly dir: string;
  /** Files without which the model cannot be loaded; none: it is whole. */
  readonly missing: readonly string[];
}

/** Folder of everything that the cache has of a model. */
export function modelRoot(settings: HubSettings, reference: ModelReference): string {
  return repositoryRoot(settings, modelRepository(reference));
}

/** The snapshot of a revision, as the cache knows it; null when it does not. */
export async function cachedModel(settings: HubSettings, reference: ModelReference): Promise<CachedModel | null> {
  const commit = await knownCommit(settings, reference);
  if (commit === null) return null;
  const dir = join(modelRoot(settings, reference), "snapshots", commit);
  return (await isThere(dir)) ? { commit, dir, missing: await missingFiles(dir) } : null;
}

async function knownCommit(settings: HubSettings, reference: ModelReference): Promise<string | null> {
  if (isCommit(reference.revision)) return reference.revision;
  const path = join(modelRoot(settings, reference), "refs", reference.revision);
  const commit = (await ifThere(readFile(path, "utf8"), path))?.trim() ?? "";
  return isCommit(commit) ? commit : null;
}

/** Notes the commit of a branch or tag, as Hugging Face's programs do. A commit itself gets no ref. */
export async function writeRef(settings: HubSettings, reference: ModelReference, commit: string): Promise<void> {
  if (isCommit(reference.revision)) return;
  const root = modelRoot(settings, reference);
  const path = join(root, "refs", reference.revision);
  // Not in refs/: programs that list that folder take every file in it for a ref.
  const unfinished = join(root, `.ref.${process.pid}.${randomBytes(4).toString("hex")}.tmp`);
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(unfinished, commit);
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
}
