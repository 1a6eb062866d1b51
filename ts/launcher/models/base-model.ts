/**
 * The weights that a run starts from: those in the model's folder or, when it holds a config and a tokenizer but no weights, random ones
 * made from the run's seed and kept in the cache.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { type KeyPath, placeOf, type Provenance } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import {
  ensureModel,
  locateModel,
  type ModelReference,
  modelText,
  previewModel,
  type PullOptions,
  type Support,
  supportOf,
} from "../../models/index.ts";
import { formatBytes } from "../../monitors/index.ts";
import { checkArchitecture, openSafetensors, randomCheckpoint } from "../../native/index.ts";
import { loadTokenizer } from "../../renderers/index.ts";
import { weightsDigest } from "../../trainer/internal.ts";
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

/**
 * The folder that `model.name` means: a path, a name below `models/` in prl's cache, or a model of the hub that is in the cache.
 *
 * @throws PrlError `PRL_CONFIG_FILE` when the model is on the hub only
 */
export async function modelFolder(name: string): Promise<string> {
  const found = await locateModel(name);
  if (found.dir !== null) return found.dir;
  throw new PrlError("PRL_CONFIG_FILE", `the model ${name} is not in the cache: prl model pull ${name} downloads it`);
}

/** How a model is checked that may have to be downloaded first. */
export interface ModelCheck {
  readonly provenance: Provenance | undefined;
  /** The key that gives the model's name. */
  readonly key?: KeyPath;
  /** The download that is allowed; null: none, because only the check is wanted. */
  readonly pull: PullOptions | null;
  /** The uses that the embedded engine makes of it; none where the trainer is torch and inference is vLLM. */
  readonly engine: readonly (keyof Support)[];
}

/**
 * Checks a model without loading its weights, before anything of a run exists: the folder, its config.json, its
 * tokenizer, the headers of its weights. Without a permission to download, of a model that is on the hub only its config.json is checked.
 *
 * Resolves to what a run would download, in words, for a model that is not on this disk; else to null.
 *
 * @throws PrlError `PRL_CONFIG_FILE`, `PRL_ENGINE_CONFIG`, `PRL_ENGINE_ARCHITECTURE_UNSUPPORTED`, `PRL_TOKENIZER`, `PRL_WEIGHTS_FORMAT`,
 * `PRL_HUB_UNKNOWN`, ..., naming the key and the file
 */
export async function checkModel(name: string, check: ModelCheck): Promise<string | null> {
  const { provenance, key = ["model", "name"], pull } = check;
  try {
    const found = await locateModel(name);
    if (found.dir === null && pull === null) {
      return `${placeOf(key, provenance)}: ${await checkOnHub(found.reference, check.engine)}`;
    }
    await checkFolder(found.dir ?? (await ensureModel(name, pull ?? {})).dir, name, check.engine);
    return null;
  } catch (cause) {
    if (!(cause instanceof PrlError) || cause.code === "PRL_NATIVE_MISSING") throw cause;
    throw new PrlError(cause.code, `${placeOf(key, provenance)}: ${cause.message}`, {
      cause: cause.cause,
    });
  }
}

async function checkOnHub(reference: ModelReference, engine: ModelCheck["engine"]): Promise<string> {
  const { bytes, files, config } = await previewModel(reference);
  const place = `config.json of the model ${reference.name}`;
  checkArchitecture(parseModelConfig(config, place), place);
  await checkEngine(config, `the model ${reference.name}`, engine);
  return `${modelText(reference)} is not in the cache: a run downloads ${files} files, ${formatBytes(bytes)}`;
}

/** Asks the engine whether it can do this with models of such a config.json. */
async function checkEngine(text: string, place: string, engine: ModelCheck["engine"]): Promise<void> {
  if (engine.length === 0) return;
  const support = await supportOf(text);
  for (const what of engine) {
    const refusal = support[what];
    if (refusal !== null) throw new PrlError(refusal.code, `${place}: ${refusal.reason}`);
  }
}

async function checkFolder(folder: string, name: string, engine: ModelCheck["engine"]): Promise<void> {
  const entries = await modelFiles(folder, name);
  // The engine refuses it too, but only when the trainer opens the model (crates/engine/src/companions.rs).
  if (entries.includes("chat_templates")) {
    throw new PrlError(
      "PRL_ENGINE_CONFIG_UNSUPPORTED",
      `${folder} has a folder chat_templates, and named chat templates cannot be saved with a trained model; write the one to train with to chat_template.jinja and remove the folder`,
    );
  }
  const path = join(folder, "config.json");
  const text = await readModelConfig(path);
  const config = parseModelConfig(text, path);
  checkArchitecture(config, path);
  const { vocab_size: rows } = config;
  const tokenizer = await loadTokenizer(folder);
  await checkEngine(text, folder, engine);
  if (typeof rows === "number" && tokenizer.vocabSize > rows) {
    throw new PrlError(
      "PRL_ENGINE_CONFIG",
      `${folder}: tokenizer.json has ${tokenizer.vocabSize} tokens, config.json a vocab_size of ${rows}: they are of two models`,
    );
  }
  for (const entry of entries) {
    if (entry.endsWith(".safetensors")) (await openSafetensors(join(folder, entry))).close();
  }
}

async function readModelConfig(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new PrlError("PRL_CONFIG_FILE", `${path} cannot be read`, { cause });
  }
}

function parseModelConfig(text: string, path: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (cause) {
    throw new PrlError("PRL_ENGINE_CONFIG", `${path} is not valid JSON`, { cause });
  }
  throw new PrlError("PRL_ENGINE_CONFIG", `${path} is no JSON object`);
}

/** Names of the files of a model folder. */
async function modelFiles(folder: string, name: string): Promise<string[]> {
  let entries: string[];
  try {
    entries = await readdir(folder);
  } catch (cause) {
    const advice =
      "A path begins with ./, ../ or /; org/name is a model of the Hugging Face hub; any other name is that of a folder in prl's cache";
    throw new PrlError("PRL_CONFIG_FILE", `${JSON.stringify(name)}: there is no model folder ${folder}. ${advice}`, {
      cause,
    });
  }
  if (entries.includes("config.json")) return entries;
  throw new PrlError("PRL_CONFIG_FILE", `${folder} has no config.json, so it is no Hugging Face model folder`);
}

/**
 * Resolves `model.name` to a folder with weights, which are downloaded when the model is on the hub only.
 *
 * @throws PrlError `PRL_CONFIG_FILE` when there is no such folder or it has no config.json; what `pullModel` and `randomCheckpoint` throw.
 */
export async function ensureBaseModel(name: string, seed: number, pull: PullOptions = {}): Promise<BaseModel> {
  const { dir: folder } = await ensureModel(name, pull);
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
