/** A model's config.json, of a folder, of the cache or of the hub, without its weights. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { hubSettings } from "../hub/index.ts";
import { checkArchitecture, statedDtype, type WeightDtype } from "../native/index.ts";
import { cachedModel } from "./hub-cache.ts";
import { locateModel, type LocateOptions } from "./locate.ts";
import { CONFIG_FILE } from "./model-files.ts";
import { modelText } from "./model-name.ts";
import { openModel } from "./pull.ts";
import { remoteConfig } from "./remote.ts";
import { type ModelShape, modelShape } from "./sizes/shape.ts";

export interface DescribedModel {
  /** `org/name`, or the folder. */
  readonly model: string;
  readonly shape: ModelShape;
  /** `model_type` of config.json. */
  readonly architecture: string;
  /** The format that config.json names. */
  readonly dtype: WeightDtype;
  /** prl trains and samples models of this architecture. */
  readonly isRun: boolean;
}

/** Architectures whose sizes are known, so that they can be planned, and that nothing of prl runs. */
const SIZES_ONLY: ReadonlySet<unknown> = new Set(["glm4_moe"]);

/**
 * Reads config.json alone. A snapshot in the cache without weights is enough.
 *
 * Errors: PRL_CONFIG_FILE when a folder has none; PRL_ENGINE_CONFIG when it is no JSON object or lacks a size;
 * PRL_ENGINE_ARCHITECTURE_UNSUPPORTED; those of requests to the hub.
 */
export async function describeModel(
  name: string,
  options: LocateOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<DescribedModel> {
  const { model, place, text } = await readConfig(name, options);
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch (cause) {
    throw new PrlError("PRL_ENGINE_CONFIG", `${place} is not valid JSON`, { cause });
  }
  if (typeof config !== "object" || config === null)
    throw new PrlError("PRL_ENGINE_CONFIG", `${place} is no JSON object`);
  const isRun = !("model_type" in config && SIZES_ONLY.has(config.model_type));
  if (isRun) checkArchitecture(config as Readonly<Record<string, unknown>>, place);
  const shape = modelShape(config);
  if (shape === null) {
    const needed = "hidden_size, intermediate_size, num_hidden_layers, num_attention_heads and vocab_size";
    throw new PrlError("PRL_ENGINE_CONFIG", `${place} does not give the sizes of the model: ${needed} are needed`);
  }
  return { model, shape, architecture: shape.model_type ?? "not named", dtype: statedDtype(config), isRun };
}

async function readConfig(
  name: string,
  options: LocateOptions & { readonly signal?: AbortSignal | undefined },
): Promise<{ model: string; place: string; text: string }> {
  const settings = options.settings ?? hubSettings();
  const { dir, reference } = await locateModel(name, options);
  const cached = dir ?? (reference === null ? null : ((await cachedModel(settings, reference))?.dir ?? null));
  const model = reference === null ? (dir ?? name) : modelText(reference);
  if (cached !== null) {
    const place = join(cached, CONFIG_FILE);
    const text = await ifThere(readFile(place, "utf8"), place);
    if (text !== null) return { model, place, text };
    if (reference === null)
      throw new PrlError("PRL_CONFIG_FILE", `${cached} is no folder with a model: it has no ${CONFIG_FILE}`);
  }
  if (reference === null) throw new PrlError("PRL_CONFIG_FILE", `${name} is no folder with a model`);
  const snapshot = await openModel(settings, reference, options.signal);
  return { model, place: `${CONFIG_FILE} of ${model}`, text: await remoteConfig(settings, snapshot, options.signal) };
}
