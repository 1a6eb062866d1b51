/**
 * The memory of one GPU of a vLLM server, and how much its KV cache holds.
 *
 * vLLM takes a share of the GPU (`gpu_memory_utilization`, 0.92 unless it is set), loads the weights cut over the tensor-parallel GPUs, measures
 * a step of as many tokens as it takes at once, and gives the rest to the KV cache. A token has 2 x layers x KV heads x head width x 2 bytes
 * there (4 in float32); a GPU has at least one KV head. What a step takes is estimated: the widest arrays of a layer and the logits in f32.
 */
import { countParameters, expertsOf, type ModelShape, sizesOf } from "../models/index.ts";
import type { Device } from "../models/index.ts";
import { elementBytes } from "./torch-memory.ts";

export interface VllmWorkload {
  readonly tensorParallel: number;
  readonly dtype: "float32" | "bfloat16";
  /** `inference.vllm.quantization`; null: none. */
  readonly quantization: string | null;
  /** Share of the GPU; null: vLLM's default. */
  readonly share: number | null;
  /** Bytes of the KV cache that the config asks for; null: what is left. */
  readonly kvBytes: number | null;
  /** Longest sequence (tokens). */
  readonly longest: number;
  readonly sequences: number;
}

/** Bytes of one GPU, by what they are for. */
export interface VllmMemory {
  readonly weights: number;
  readonly work: number;
  readonly reserve: number;
  readonly kv_cache: number;
  readonly total: number;
  /** The memory that vLLM may take. */
  readonly limit: number;
  readonly kv_bytes_per_token: number;
  readonly kv_tokens: number;
  /** Sequences of `max_model_len` tokens in the KV cache of a server. */
  readonly sequences: number;
}

/** `CacheConfig.gpu_memory_utilization` of vLLM 0.32. */
export const DEFAULT_SHARE = 0.92;
/** `default_max_num_batched_tokens` of vLLM 0.32 for its server, by the GPU's memory. */
const LARGE_GPU = 70 * 2 ** 30;
const HUGE_GPU = 160 * 2 ** 30;
const BLOCK_TOKENS = 16;
const F32 = 4;
/** CUDA context and NCCL, and CUDA graphs. */
export const SERVER_RESERVE = 1.5 * 2 ** 30;

/** Bytes of one token in the KV cache of one GPU. */
export function kvBytesPerToken(shape: ModelShape, tensorParallel: number, dtype: "float32" | "bfloat16"): number {
  const { layers, heads, headDim } = sizesOf(shape);
  return 2 * layers * Math.max(1, Math.ceil(heads / tensorParallel)) * headDim * elementBytes(dtype);
}

export function vllmMemory(shape: ModelShape, device: Device, workload: VllmWorkload): VllmMemory {
  const { tensorParallel, dtype, share, longest, sequences } = workload;
  const weights = servedWeights(shape, workload) / tensorParallel;
  const work = stepBytes(shape, stepTokens(device), workload) + F32 * 2 * sequences * shape.vocab_size;
  const limit = device.memory * (share ?? DEFAULT_SHARE);
  const perToken = kvBytesPerToken(shape, tensorParallel, dtype);
  const left = workload.kvBytes ?? limit - weights - work - SERVER_RESERVE;
  const blocks = Math.max(0, Math.floor(left / (perToken * BLOCK_TOKENS)));
  const cache = blocks * BLOCK_TOKENS * perToken;
  const perSequence = Math.ceil(longest / BLOCK_TOKENS);
  return {
    weights,
    work,
    reserve: SERVER_RESERVE,
    kv_cache: cache,
    total: weights + work + SERVER_RESERVE + cache,
    limit: workload.kvBytes === null ? limit : device.memory,
    kv_bytes_per_token: perToken,
    kv_tokens: blocks * BLOCK_TOKENS,
    sequences: Math.floor(blocks / perSequence),
  };
}

/** Bytes of the weights of a whole server. A quantization in 8 bits leaves embedding, head and norms as they are. */
export function servedWeights(
  shape: ModelShape,
  { dtype, quantization }: Pick<VllmWorkload, "dtype" | "quantization">,
): number {
  const { total, outside } = countParameters(shape);
  const width = elementBytes(dtype);
  return quantization === "fp8" ? outside * width + (total - outside) : total * width;
}

/** Tokens of one step of vLLM's server. */
function stepTokens({ memory, id }: Device): number {
  if (memory >= HUGE_GPU) return 16_384;
  return memory >= LARGE_GPU && !id.startsWith("a100") ? 8192 : 2048;
}

function stepBytes(shape: ModelShape, tokens: number, { tensorParallel, dtype }: VllmWorkload): number {
  const { hidden, qkv } = sizesOf(shape);
  const experts = expertsOf(shape);
  const wide = experts === null ? 2 * shape.intermediate_size : experts.used * (2 * experts.width + hidden);
  return tokens * elementBytes(dtype) * (4 * hidden + (qkv + 1.5 * wide) / tensorParallel);
}
