/** Says how prl can use a model, before anything of it is loaded. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { type HubSettings, hubSettings } from "../hub/index.ts";
import { statedDtype } from "../native/index.ts";
import { localTensors, remoteTensors, type TensorShape } from "./headers.ts";
import { type LocatedModel, locateModel, type LocateOptions } from "./locate.ts";
import {
  servingMemory,
  type ServingMemory,
  adapterMemory,
  trainingMemory,
  type TrainingMemory,
  type Workload,
} from "./memory.ts";
import { CONFIG_FILE, INDEX_FILE, shardNames, TOKENIZER_FILE, WEIGHTS_FILE } from "./model-files.ts";
import { type ModelReference, modelText } from "./model-name.ts";
import { openModel } from "./pull.ts";
import { remoteConfig, remoteShards } from "./remote.ts";
import { adapterParameters, defaultTargets } from "./sizes/parameters.ts";
import { expertsOf, type ModelShape, modelShape } from "./sizes/shape.ts";
import { type Refusal, type Support, supportOf } from "./support.ts";

export interface ModelInfo extends Support {
  /** `org/name`, or the folder. */
  readonly model: string;
  /** Null: the model is not on this disk. */
  readonly folder: string | null;
  readonly architecture: string | null;
  /** Null: the folder has no weights, and a run makes random ones. */
  readonly parameters: number | null;
  /** Dtypes of the weights. */
  readonly dtypes: readonly string[];
  /** Longest sequence of the model. */
  readonly max_tokens: number | null;
  readonly workload: Workload;
  /** Null when the parameters or the shape are not known. */
  readonly training: TrainingMemory | null;
  /** The same for the adapter `lora`. */
  readonly adapter: TrainingMemory | null;
  /** An adapter of the workload's rank on the projections that are adapted by default; null when the shape is not known. */
  readonly lora: LoraInfo | null;
  readonly serving: ServingMemory | null;
}

export interface LoraInfo {
  readonly rank: number;
  /** Projections of every layer. */
  readonly modules: readonly string[];
  readonly parameters: number;
}

/** The part of a model that is read. */
interface Described {
  readonly config: string;
  readonly tensors: readonly TensorShape[];
  readonly hasTokenizer: boolean;
  readonly hasNamedTemplates: boolean;
}

/** dtypes that the engine reads (crates/engine/src/model/weights.rs). */
const READABLE = ["F32", "BF16", "F16"];
const DEFAULT_SEQ_LEN = 2048;
/** The default of `model.lora.rank`. */
const ADAPTER_RANK = 16;

/**
 * Describes a folder, a model in the cache, or one on the hub, of which only config.json, the index and the headers of the weights are
 * read.
 *
 * Errors: PRL_CONFIG_FILE when a folder has no config.json; PRL_WEIGHTS_FORMAT; those of requests to the hub.
 */
export async function modelInfo(
  name: string,
  asked: Partial<Workload> & { readonly rank?: number },
  options: LocateOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<ModelInfo> {
  const settings = options.settings ?? hubSettings();
  const located = await locateModel(name, options);
  const described = await describe(settings, located, options.signal);
  const shape = shapeOf(described.config);
  const support = await supportOf(described.config);
  const parameters = described.tensors.length === 0 ? null : countParameters(described.tensors, shape);
  const seqLen = asked.seqLen ?? Math.min(DEFAULT_SEQ_LEN, shape?.max_position_embeddings ?? DEFAULT_SEQ_LEN);
  const dtype = asked.dtype ?? statedDtype(parsed(described.config));
  const base = asked.baseDtype === undefined ? {} : { baseDtype: asked.baseDtype };
  const workload = { batch: asked.batch ?? 1, seqLen, dtype, ...base };
  const rank = asked.rank ?? ADAPTER_RANK;
  const isKnown = shape !== null && parameters !== null;
  return {
    model: located.reference === null ? (located.dir ?? name) : modelText(located.reference),
    folder: located.dir,
    architecture: architectureOf(described.config),
    parameters,
    dtypes: [...new Set(described.tensors.map((tensor) => tensor.dtype))].toSorted(),
    max_tokens: shape?.max_position_embeddings ?? null,
    ...withFiles(support, described),
    workload,
    training: isKnown ? trainingMemory(shape, parameters, workload) : null,
    adapter: isKnown ? adapterMemory(shape, parameters, { ...workload, rank }) : null,
    lora: shape === null ? null : loraOf(shape, rank),
    serving: isKnown ? servingMemory(shape, parameters, workload) : null,
  };
}

function loraOf(shape: ModelShape, rank: number): LoraInfo {
  return { rank, modules: defaultTargets(expertsOf(shape)), parameters: adapterParameters(shape, { rank }) };
}

/** The engine's verdict, and what the files add to it. */
function withFiles({ train, serve }: Support, { tensors, hasTokenizer, hasNamedTemplates }: Described): Support {
  const odd = tensors.find(({ dtype }) => !READABLE.includes(dtype));
  const dtype: Refusal | null =
    odd === undefined
      ? null
      : {
          code: "PRL_ENGINE_DTYPE_UNSUPPORTED",
          reason: `tensor ${odd.name} has dtype ${odd.dtype}: the engine reads ${READABLE.join(", ")}`,
        };
  const tokenizer: Refusal | null = hasTokenizer
    ? null
    : { code: "PRL_TOKENIZER", reason: `there is no ${TOKENIZER_FILE}` };
  const templates: Refusal | null = hasNamedTemplates
    ? {
        code: "PRL_ENGINE_CONFIG_UNSUPPORTED",
        reason: "there is a folder chat_templates, which cannot be saved with a trained model",
      }
    : null;
  return { train: train ?? dtype ?? tokenizer ?? templates, serve: serve ?? dtype ?? tokenizer ?? templates };
}

function describe(settings: HubSettings, located: LocatedModel, signal?: AbortSignal): Promise<Described> {
  const { dir, reference } = located;
  return dir === null ? describeRemote(settings, reference, signal) : describeFolder(dir);
}

async function describeFolder(dir: string): Promise<Described> {
  const text = async (name: string): Promise<string | null> => {
    const path = join(dir, name);
    return ifThere(readFile(path, "utf8"), path);
  };
  const isThere = async (name: string): Promise<boolean> =>
    (await ifThere(stat(join(dir, name)), join(dir, name))) !== null;
  const config = await text(CONFIG_FILE);
  if (config === null)
    throw new PrlError("PRL_CONFIG_FILE", `${dir} is no folder with a model: it has no ${CONFIG_FILE}`);
  const index = await text(INDEX_FILE);
  const isSingle = await isThere(WEIGHTS_FILE);
  const files = isSingle ? [WEIGHTS_FILE] : index === null ? [] : shardNames(index, join(dir, INDEX_FILE));
  const tensors: TensorShape[] = [];
  for (const name of files) tensors.push(...(await localTensors(dir, name)));
  return {
    config,
    tensors,
    hasTokenizer: await isThere(TOKENIZER_FILE),
    hasNamedTemplates: await isThere("chat_templates"),
  };
}

async function describeRemote(
  settings: HubSettings,
  reference: ModelReference,
  signal: AbortSignal | undefined,
): Promise<Described> {
  const snapshot = await openModel(settings, reference, signal);
  const shards = await remoteShards(settings, snapshot, signal);
  const has = (name: string): boolean => snapshot.files.some(({ path }) => path === name);
  if (shards === null && !has(WEIGHTS_FILE)) {
    const advice = "prl loads no other weights than safetensors";
    throw new PrlError("PRL_HUB_MODEL", `the model ${modelText(reference)} has no ${WEIGHTS_FILE}: ${advice}`);
  }
  const tensors: TensorShape[] = [];
  for (const name of shards ?? [WEIGHTS_FILE]) tensors.push(...(await remoteTensors(settings, snapshot, name, signal)));
  const config = await remoteConfig(settings, snapshot, signal);
  // A download leaves named templates out.
  return { config, tensors, hasTokenizer: has(TOKENIZER_FILE), hasNamedTemplates: false };
}

/** The engine holds a tied head once, and computes the frequencies that old files store. */
function countParameters(tensors: readonly TensorShape[], shape: ModelShape | null): number {
  const isTied = shape?.tie_word_embeddings === true;
  return tensors
    .filter(({ name }) => !name.endsWith(".rotary_emb.inv_freq") && !(isTied && name === "lm_head.weight"))
    .reduce((sum, tensor) => sum + tensor.shape.reduce((product, size) => product * size, 1), 0);
}

function shapeOf(config: string): ModelShape | null {
  return modelShape(parsed(config));
}

function architectureOf(config: string): string | null {
  const { architectures } = (parsed(config) ?? {}) as { architectures?: unknown };
  const [first] = Array.isArray(architectures) ? (architectures as unknown[]) : [];
  return typeof first === "string" ? first : null;
}

/** Null for a text that is no JSON, which `supportOf` reports. */
function parsed(config: string): unknown {
  try {
    return JSON.parse(config);
  } catch {
    return null;
  }
}
