/**
 * The memory that the embedded engine needs for a model. It counts arrays as `crates/engine` allocates them (its README, "What is held").
 *
 * Legend: P parameters, E = vocabulary x H (the embedding), H hidden, F feed-forward, q and k widths of queries and keys, W = q + 2 k,
 * N rows: `batch` sequences of `seqLen` tokens, D = 2 F, or with X experts of width F, of which a row uses K, the larger of 2 F of a
 * dense layer and 2 K F + X + 4 K.
 *
 * | what                 | numbers of 4 bytes, or of 2 where they are packed or looked up and the weights are in bfloat16           |
 * | -------------------- | -------------------------------------------------------------------------------------------------------- |
 * | weights, served      | P, and E once more when the head is tied: the layers and the head packed, the embedding for look-up      |
 * | weights, trained     | P flat, those served, and P (without E when the head is not tied) packed for the backward pass           |
 * | gradients            | P                                                                                                        |
 * | AdamW's moments      | 2 P; of 2 bytes with `optim.state_dtype = "bfloat16"`                                                    |
 * | with an adapter      | those served, P packed for the backward pass, and 6 A: A numbers flat, twice packed, gradients, moments  |
 * | activations          | N (2 H + W + 2 q + k + D) for each kept layer and one more, N H for each recomputed layer                |
 * | work of training     | N (7 H + D + q + W + 2 k), and logits of 1,024 tokens for 2,048 tokens of the vocabulary at most         |
 * | projections in int8  | 1 + 2 / 64 bytes each in place of 4 or 2: P without embedding and head, served, trained with an adapter  |
 * | keys and values      | layers x KV heads x (head width + the same in whole vectors) for each token, in blocks of 16             |
 * | work of serving      | the same as one layer's activations for the rows of a step, and a row of logits per sequence             |
 *
 * The policy `auto` of the trainer keeps the layers that fit in 1 GiB. While a model is loaded, one part of it is flat in f32 beside what is packed
 * already: the embedding, then each layer, then a head that is not tied. A model that is opened with `weightsOf` has the trainer's packed
 * weights and adds none. What is not counted: the process
 * itself, some 100 MB, twelve rows of logits for each thread of a trainer, and the file's pages, which the system takes back.
 */
import type { BaseDtype, WeightDtype } from "../native/index.ts";
import { type AdapterShape, adapterParameters, countParameters } from "./sizes/parameters.ts";
import { expertsOf, type ModelShape, sizesOf } from "./sizes/shape.ts";

/** The bytes of every number but packed weights. */
const BYTES = 4;
const WEIGHT_BYTES: Readonly<Record<WeightDtype, number>> = { float32: 4, bfloat16: 2 };
/** A byte, and a scale of two for each 64 (crates/engine/src/kernels/pack/int8.rs). */
const BASE_BYTES: Readonly<Record<BaseDtype, number>> = { int8: 1 + 2 / 64 };
/** `ACTIVATION_BUDGET_BYTES` of crates/engine/src/train/options.rs. */
const ACTIVATION_BUDGET = 2 ** 30;
/** `HEAD_TOKENS` and `TARGETS` of crates/engine/src/train/backward/head.rs: sides of the matrix of logits that it holds. */
const HEAD_TOKENS = 2048;
const TARGETS = 1024;
/** `BLOCK_TOKENS` of the cache, and the width of its vectors. */
const BLOCK_TOKENS = 16;
const LANES = 16;
/** Default `max_batched_tokens` of crates/engine/src/generate/request.rs. */
const STEP_ROWS = 512;

export interface Workload {
  /** Sequences at once. */
  readonly batch: number;
  /** Tokens of each. */
  readonly seqLen: number;
  /** Format of the weights that are packed. */
  readonly dtype: WeightDtype;
  /** Format of frozen projections; absent: `dtype`. */
  readonly baseDtype?: BaseDtype;
  /** Format of the optimizer's moments; absent: float32. */
  readonly stateDtype?: WeightDtype;
}

/** Bytes by what they are for. */
export interface TrainingMemory {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  readonly activations: number;
  readonly total: number;
}

export interface ServingMemory {
  readonly weights: number;
  /** In f32. */
  readonly kv_cache: number;
  /** In bfloat16, as the tiers AVX-512-BF16 and AMX keep it for weights in bfloat16; null for other weights. */
  readonly kv_cache_bf16: number | null;
  readonly work: number;
  readonly total: number;
  /** Most bytes while the model is loaded. */
  readonly loading: number;
}

/** Memory of a trainer of all weights, with AdamW. */
export function trainingMemory(shape: ModelShape, parameters: number, workload: Workload): TrainingMemory {
  const weights = parameters * BYTES + packedBytes(shape, parameters, { dtype: workload.dtype });
  return trained(parameters, weights, shape, workload);
}

/** Memory of a trainer of an adapter, with AdamW; the weights are frozen. */
export function adapterMemory(
  shape: ModelShape,
  parameters: number,
  workload: Workload & AdapterShape,
): TrainingMemory {
  const numbers = adapterParameters(shape, workload);
  const weights = packedBytes(shape, parameters, workload) + 3 * numbers * BYTES;
  return trained(numbers, weights, shape, workload);
}

/** With gradients and both moments of the numbers in training, and activations. */
function trained(numbers: number, weights: number, shape: ModelShape, workload: Workload): TrainingMemory {
  const gradients = numbers * BYTES;
  const optimizer = 2 * numbers * WEIGHT_BYTES[workload.stateDtype ?? "float32"];
  const held = activations(shape, workload);
  return { weights, gradients, optimizer, activations: held, total: weights + gradients + optimizer + held };
}

/** Weights as forward and backward pass have them. */
function packedBytes(shape: ModelShape, parameters: number, format: Format): number {
  const head = sizesOf(shape).embedding * WEIGHT_BYTES[format.dtype];
  return servedBytes(shape, parameters, format) + head + projectionBytes(shape, parameters, format);
}

/** Bytes of what the backward pass keeps, and of its work. */
function activations(shape: ModelShape, workload: Workload): number {
  const { hidden, layers, q, k, qkv } = sizesOf(shape);
  const feedForward = feedForwardWidth(shape);
  const rows = workload.batch * workload.seqLen;
  const perLayer = 2 * hidden + qkv + 2 * q + k + feedForward;
  const kept = Math.min(layers, Math.floor(ACTIVATION_BUDGET / (rows * perLayer * BYTES)));
  const recomputed = layers - kept;
  const held = rows * perLayer * (kept + (recomputed > 0 ? 1 : 0)) + rows * hidden * recomputed;
  const logits = Math.min(TARGETS, rows) * Math.min(HEAD_TOKENS, shape.vocab_size);
  const work = rows * (7 * hidden + feedForward + q + qkv + 2 * k) + logits;
  return (held + work) * BYTES;
}

/** Memory of an inference server. */
export function servingMemory(shape: ModelShape, parameters: number, workload: Workload): ServingMemory {
  const { batch, seqLen } = workload;
  const { hidden, layers, heads, headDim, q, k, qkv } = sizesOf(shape);
  const feedForward = feedForwardWidth(shape);
  const tokens = batch * Math.ceil(seqLen / BLOCK_TOKENS) * BLOCK_TOKENS;
  const perToken = layers * heads * (headDim + Math.ceil(headDim / LANES) * LANES);
  const rows = Math.max(batch, Math.min(batch * seqLen, STEP_ROWS));
  const weights = servedBytes(shape, parameters, workload);
  const cache = tokens * perToken * BYTES;
  const work = (rows * (4 * hidden + qkv + 2 * q + k + 1.5 * feedForward) + batch * shape.vocab_size) * BYTES;
  const loading = loadingBytes(shape, weights, workload);
  const half = workload.dtype === "bfloat16" ? cache / 2 : null;
  return { weights, kv_cache: cache, kv_cache_bf16: half, work, total: weights + cache + work, loading };
}

/** Most bytes while a model is loaded whose packed weights take `weights`. */
function loadingBytes(shape: ModelShape, weights: number, { dtype }: Format): number {
  const { embedding, isTied } = sizesOf(shape);
  const { layer } = countParameters(shape);
  const first = embedding * (BYTES + (isTied ? 2 : 1) * WEIGHT_BYTES[dtype]);
  return Math.max(first, weights + BYTES * (isTied ? layer : Math.max(layer, embedding)));
}

type Format = Pick<Workload, "dtype" | "baseDtype">;

/** Embedding and head, which are two arrays where they are tied too, and the layers. */
function servedBytes(shape: ModelShape, parameters: number, format: Format): number {
  return 2 * sizesOf(shape).embedding * WEIGHT_BYTES[format.dtype] + projectionBytes(shape, parameters, format);
}

/** All that is neither embedding nor head; the norms and routers among it are few. */
function projectionBytes(shape: ModelShape, parameters: number, { dtype, baseDtype }: Format): number {
  const { embedding, isTied } = sizesOf(shape);
  const numbers = parameters - (isTied ? embedding : 2 * embedding);
  return numbers * (baseDtype === undefined ? WEIGHT_BYTES[dtype] : BASE_BYTES[baseDtype]);
}

/** Numbers that a row keeps of the feed-forward part of a layer, in the layer where they are most. */
function feedForwardWidth(shape: ModelShape): number {
  const dense = 2 * shape.intermediate_size;
  const experts = expertsOf(shape);
  return experts === null
    ? dense
    : Math.max(dense, 2 * experts.used * experts.width + experts.count + 4 * experts.used);
}
