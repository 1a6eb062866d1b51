/**
 * The weights that a run starts from: those in the model's folder or, when it holds a config and a tokenizer but no weights, random ones
 * made from the run's seed and kept in the cache.
 */
import { readdir, readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

import { cacheDir, type KeyPath, placeOf, type Provenance } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { checkArchitecture, openSafetensors, randomCheckpoint } from "../../native/index.ts";
import { loadTokenizer } from "../../renderers/index.ts";
import { weightsDigest } from "../../trainer/index.ts";
import { packageManifest } from "../../version.ts";
import { cached, cacheKey, folderKey } from "./cache.ts";

export interface BaseModel {
  /** A complete Hugging Face folder. */
  dir: string;
  /** Represents its content in cache keys. */
  key: string;
  /** Digest of the weights in the named folder, which checkpoints are bound to. */
  weights: string;
  /** Where it came from, for messages. */
  origin: "given" | "built" | "cached";
  /** Damage of the cache's copy, which was then built anew. */
  damage: string | null;
}

/** The folder that `model.name` means: a path, or a name below `models/` in the cache. */
export function modelFolder(name: string): string {
  return isAbsolute(name) ? name : join(cacheDir(), "models", name);
}

/**
 * Checks a model without loading its weights, before anything of a run exists: the folder, its config.json, its
 * tokenizer, the headers of its weights.
 *
 * @throws PrlError `PRL_CONFIG_FILE`, `PRL_ENGINE_CONFIG`, `PRL_ENGINE_ARCHITECTURE_UNSUPPORTED`, `PRL_TOKENIZER`, `PRL_WEIGHTS_FORMAT`, ..., naming the key and the file
 */
export async function checkModel(
  name: string,
  provenance: Provenance | undefined,
  key: KeyPath = ["model", "name"],
): Promise<void> {
  try {
    const folder = modelFolder(name);
    const entries = await modelFiles(folder, name);
    // The engine refuses it too, but only when the trainer opens the model (crates/engine/src/companions.rs).
    if (entries.includes("chat_templates")) {
      throw new PrlError(
        "PRL_ENGINE_CONFIG_UNSUPPORTED",
        `${folder} has a folder chat_templates, and named chat templates cannot be saved with a trained model; write the one to train with to chat_template.jinja and remove the folder`,
      );
    }
    const config = await readModelConfig(join(folder, "config.json"));
    checkArchitecture(config, join(folder, "config.json"));
    const { vocab_size: rows } = config;
    const tokenizer = await loadTokenizer(folder);
    if (typeof rows === "number" && tokenizer.vocabSize > rows) {
      throw new PrlError(
        "PRL_ENGINE_CONFIG",
        `${folder}: tokenizer.json has ${tokenizer.vocabSize} tokens, config.json a vocab_size of ${rows}: they are of two models`,
      );
    }
    for (const entry of entries) {
      if (entry.endsWith(".safetensors")) (await openSafetensors(join(folder, entry))).close();
    }
  } catch (cause) {
    if (!(cause instanceof PrlError) || cause.code === "PRL_NATIVE_MISSING") throw cause;
    throw new PrlError(cause.code, `${placeOf(key, provenance)}: ${cause.message}`, {
      cause: cause.cause,
    });
  }
}

async function readModelConfig(path: string): Promise<Readonly<Record<string, unknown>>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new PrlError("PRL_CONFIG_FILE", `${path} cannot be read`, { cause });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (cause) {
    throw new PrlError("PRL_ENGINE_CONFIG", `${path} is not valid JSON`, { cause });
  }
  throw new PrlError("PRL_ENGINE_CONFIG", `${path} is no JSON object`);
}

/** Advice for a missing folder: a name like `owner/model` is most likely meant for the Hugging Face Hub. */
function howToGet(folder: string, name: string): string {
  if (/^[\w.-]+\/[\w.-]+$/u.test(name))
    return `prl downloads no models: \`hf download ${name} --local-dir ${folder}\` does (pip install huggingface_hub), or name a folder that has one`;
  return "A path begins with ./, ../ or /; any other name is that of a folder in prl's cache";
}

/** Names of the files of a model folder. */
async function modelFiles(folder: string, name: string): Promise<string[]> {
  let entries: string[];
  try {
    entries = await readdir(folder);
  } catch (cause) {
    throw new PrlError("PRL_CONFIG_FILE", `there is no model folder ${folder}. ${howToGet(folder, name)}`, { cause });
  }
  if (entries.includes("config.json")) return entries;
  throw new PrlError("PRL_CONFIG_FILE", `${folder} has no config.json, so it is no Hugging Face model folder`);
}

/**
 * Resolves `model.name` to a folder with weights.
 *
 * @throws PrlError `PRL_CONFIG_FILE` when there is no such folder or it has no config.json; what `randomCheckpoint` throws.
 */
export async function ensureBaseModel(name: string, seed: number): Promise<BaseModel> {
  const folder = modelFolder(name);
  const entries = await modelFiles(folder, name);
  const weights = await weightsDigest(folder);
  if (entries.some((entry) => entry.endsWith(".safetensors"))) {
    const files = await folderKey(folder, (file) => file.endsWith(".json"));
    return { dir: folder, key: cacheKey({ weights, files }), weights, origin: "given", damage: null };
  }
  const files = await folderKey(folder, (file) => !file.startsWith(".") && !file.endsWith(".md"));
  const key = cacheKey({ random: files, seed, version: packageManifest().version });
  const entry = await cached("models", `random-${key}`, (dir) => randomCheckpoint(folder, dir, seed));
  return { dir: entry.path, key, weights, origin: entry.hit ? "cached" : "built", damage: entry.damage };
}
