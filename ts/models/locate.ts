/** From a model's name in a config or on a command line to its folder. */
import { stat } from "node:fs/promises";
import { basename, isAbsolute, join, resolve } from "node:path";

import { cacheDir } from "../config/index.ts";
import { ifThere } from "../files/file-presence.ts";
import { type HubSettings, hubSettings } from "../hub/index.ts";
import { cachedModel } from "./hub-cache.ts";
import { type ModelReference, parseModelName } from "./model-name.ts";
import { pullModel, type PullOptions } from "./pull.ts";

/** A folder, which may not exist, or a model of the hub that is not whole in the cache. */
export type LocatedModel =
  | { readonly dir: string; readonly reference: ModelReference | null }
  | { readonly dir: null; readonly reference: ModelReference };

export interface LocateOptions {
  /** Names may be folders below this one; default: only paths that begin with ./, ../ or / are. */
  readonly cwd?: string | undefined;
  readonly settings?: HubSettings | undefined;
}

/**
 * Where the model is that `name` means: a folder by its path; a folder `models/<name>` of prl's cache; a model of the hub.
 *
 * A branch of the hub that the cache has whole is not looked up again, so that a run does not change with the hub; `prl model pull` does.
 */
export async function locateModel(name: string, options: LocateOptions = {}): Promise<LocatedModel> {
  const { cwd } = options;
  if (isAbsolute(name)) return { dir: name, reference: null };
  const below = join(cacheDir(), "models", name);
  if (cwd !== undefined) {
    const dir = resolve(cwd, name);
    if (/^\.\.?(\/|$)/u.test(name) || (await isFolder(dir))) return { dir, reference: null };
  }
  if (await isFolder(below)) return { dir: below, reference: null };
  const reference = parseModelName(name);
  if (reference === null) return { dir: cwd === undefined ? below : resolve(cwd, name), reference };
  const found = await cachedModel(options.settings ?? hubSettings(), reference);
  return { reference, dir: found === null || found.missing.length > 0 ? null : found.dir };
}

/** The folder of a model, and its name: `org/name`, or the last part of the path. */
export interface ModelPlace {
  readonly dir: string;
  readonly name: string;
}

/** The place of the model; it is downloaded when it is on the hub and not in the cache. Errors: those of `pullModel`. */
export async function ensureModel(name: string, options: LocateOptions & PullOptions = {}): Promise<ModelPlace> {
  const { dir, reference } = await locateModel(name, options);
  if (dir !== null) return { dir, name: reference?.name ?? basename(dir) };
  const pulled = await pullModel(options.settings ?? hubSettings(), reference, options);
  return { dir: pulled.dir, name: reference.name };
}

async function isFolder(path: string): Promise<boolean> {
  return (await ifThere(stat(path), path))?.isDirectory() === true;
}
