/** The config of a `prl inference` process: the resolved section that the launcher wrote as JSON. */
import { join } from "node:path";

import { z } from "zod";

import { inferenceBlock, parseProcessConfig, readProcessConfig, weightBroadcastBlock } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { readRegularFile } from "../files/regular-file.ts";
import type { LoadModelOptions } from "../native/index.ts";

export const inferenceConfigSchema = z.strictObject({
  model_dir: z.string().min(1).describe("Folder with config.json and the weights"),
  version: z.int().nonnegative().default(0).describe("Policy version of those weights"),
  seed: z.int().nonnegative().default(0).describe("Seed of requests that have none"),
  inference: inferenceBlock,
  weight_broadcast: weightBroadcastBlock,
  start_paused: z
    .boolean()
    .default(false)
    .describe("Requests wait for the first /resume, before which the orchestrator brings the weights"),
  colocated: z
    .boolean()
    .default(false)
    .describe("It shares its GPU with the trainer of a run: it starts in the servers' turn, and a vLLM can sleep"),
  adapter_rank: z
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe("Rank of the adapters that a vLLM of the run loads beside the model; null: it gets whole models"),
});

export type InferenceProcessConfig = z.output<typeof inferenceConfigSchema>;

/** Reads and checks the config file of an inference process. Errors: PRL_CONFIG_FILE, PRL_CONFIG_INVALID. */
export function readInferenceProcessConfig(path: string): Promise<InferenceProcessConfig> {
  return readProcessConfig(path, inferenceConfigSchema);
}

/** The same from a value that came from `place`. Errors: PRL_CONFIG_INVALID. */
export function parseInferenceProcessConfig(value: unknown, place: string): InferenceProcessConfig {
  return parseProcessConfig(value, inferenceConfigSchema, place);
}

/** Default memory for keys and values: more or longer sequences share it. */
const UNASKED_KV_BYTES = 256 * 1024 * 1024;
/** One full sequence must fit with room for another to begin. */
const LEAST_SEQUENCES = 2;
const BYTES_PER_VALUE = 4;
/** Tokens of one block of the cache, which is never divided, and numbers of one of its vectors (crates/engine/src/model/cache.rs). */
const BLOCK_TOKENS = 16;

/**
 * Options of the engine for a config. By default `maxModelLen` is the model's limit, as far as the default memory holds it, and
 * `kvCacheBytes` holds every sequence at full length, but no more than the default memory unless two sequences need more.
 */
export async function engineOptions({
  model_dir: dir,
  version,
  inference,
}: InferenceProcessConfig): Promise<LoadModelOptions> {
  const shape = await modelShape(dir);
  const tokenBytes = shape.kvValuesPerToken * BYTES_PER_VALUE;
  const blocks = Math.floor((inference.kv_cache_bytes ?? UNASKED_KV_BYTES) / (tokenBytes * BLOCK_TOKENS));
  // A cache without a block is refused by the engine, which says how many bytes it needs.
  const affordable = Math.max(blocks, 1) * BLOCK_TOKENS;
  const maxModelLen = Math.min(inference.max_model_len ?? affordable, shape.maxPositions);
  const sequenceBytes = upTo(BLOCK_TOKENS, maxModelLen) * tokenBytes;
  const all = Math.min(sequenceBytes * inference.max_num_seqs, UNASKED_KV_BYTES);
  return {
    version,
    dtype: inference.model?.dtype ?? "auto",
    ...(inference.model?.base_dtype && { baseDtype: inference.model.base_dtype }),
    threads: inference.threads ?? 0,
    maxNumSeqs: inference.max_num_seqs,
    maxModelLen,
    kvCacheBytes: inference.kv_cache_bytes ?? Math.max(all, sequenceBytes * LEAST_SEQUENCES),
    prefixCache: inference.prefix_cache,
  };
}

/**
 * The longest sequence of a model, and, when a KV cache of `kv_cache_bytes` cannot hold one of `max_model_len`, the bytes that it
 * needs.
 */
export async function checkCapacity(
  dir: string,
  inference: { max_model_len: number; kv_cache_bytes: number | null },
): Promise<{ maxPositions: number; neededBytes: number | null }> {
  const shape = await modelShape(dir);
  const tokens = upTo(BLOCK_TOKENS, Math.min(inference.max_model_len, shape.maxPositions));
  const needed = tokens * shape.kvValuesPerToken * BYTES_PER_VALUE;
  const fits = inference.kv_cache_bytes === null || inference.kv_cache_bytes >= needed;
  return { maxPositions: shape.maxPositions, neededBytes: fits ? null : needed };
}

const modelSchema = z.object({
  hidden_size: z.int().positive(),
  num_hidden_layers: z.int().positive(),
  num_attention_heads: z.int().positive(),
  num_key_value_heads: z.int().positive().nullish(),
  head_dim: z.int().positive().nullish(),
  max_position_embeddings: z.int().positive(),
});

/** Keys and values that one token leaves in the cache over all layers, and the longest sequence of the model. */
async function modelShape(dir: string): Promise<{ kvValuesPerToken: number; maxPositions: number }> {
  const path = join(dir, "config.json");
  let value: unknown;
  try {
    value = JSON.parse(await readRegularFile(path));
  } catch (cause) {
    throw new PrlError("PRL_ENGINE_CONFIG", `${path} cannot be read as JSON`, { cause });
  }
  const parsed = modelSchema.safeParse(value);
  if (!parsed.success) throw new PrlError("PRL_ENGINE_CONFIG", `${path}: ${z.prettifyError(parsed.error)}`);
  const model = parsed.data;
  const heads = model.num_key_value_heads ?? model.num_attention_heads;
  const headDim = model.head_dim ?? model.hidden_size / model.num_attention_heads;
  return {
    // The values of a head fill whole vectors.
    kvValuesPerToken: model.num_hidden_layers * heads * (headDim + upTo(BLOCK_TOKENS, headDim)),
    maxPositions: model.max_position_embeddings,
  };
}

/** The least multiple of `step` that is no less than `value`. */
function upTo(step: number, value: number): number {
  return Math.ceil(value / step) * step;
}
