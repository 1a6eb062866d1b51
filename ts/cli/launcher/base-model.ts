/**
 * The weights that a run starts from: those in the model's folder or, when it holds a config and a tokenizer but no weights, random ones
 * made from the run's seed and kept in the cache.
 */
import { readdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

import { cacheDir } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { randomCheckpoint } from "../../native/index.ts";
import { packageManifest } from "../version.ts";
import { cached, cacheKey, folderKey } from "./cache.ts";

export interface BaseModel {
  /** A complete Hugging Face folder. */
  dir: string;
  /** Stands for its content in cache keys. */
  key: string;
  /** How it came about, for people. */
  origin: "given" | "built" | "cached";
}

/** The folder that `model.name` means: a path, or a name below `models/` in the cache. */
export function modelFolder(name: string): string {
  return isAbsolute(name) ? name : join(cacheDir(), "models", name);
}

/**
 * Resolves `model.name` to a folder with weights.
 *
 * @throws PrlError `PRL_CONFIG_FILE` when there is no such folder or it has no config.json; what `randomCheckpoint` throws.
 */
export async function ensureBaseModel(name: string, seed: number): Promise<BaseModel> {
  const folder = modelFolder(name);
  let entries: string[];
  try {
    entries = await readdir(folder);
  } catch (cause) {
    throw new PrlError(
      "PRL_CONFIG_FILE",
      `model.name: there is no folder ${folder}; a path begins with ./, ../ or /, a plain name is looked up in the cache`,
      { cause },
    );
  }
  if (!entries.includes("config.json")) {
    throw new PrlError(
      "PRL_CONFIG_FILE",
      `model.name: ${folder} has no config.json, so it is no Hugging Face model folder`,
    );
  }
  if (entries.some((entry) => entry.endsWith(".safetensors"))) {
    const files = await folderKey(folder, (file) => file.endsWith(".safetensors") || file.endsWith(".json"));
    return { dir: folder, key: cacheKey(files), origin: "given" };
  }
  const files = await folderKey(folder, (file) => !file.startsWith(".") && !file.endsWith(".md"));
  const key = cacheKey({ random: files, seed, version: packageManifest().version });
  const { path, hit } = await cached("models", `random-${key}`, (dir) => randomCheckpoint(folder, dir, seed));
  return { dir: path, key, origin: hit ? "cached" : "built" };
}
