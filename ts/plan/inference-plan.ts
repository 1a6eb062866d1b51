/** The inference servers of a plan: the bytes of one GPU or one process by kind, and how many sequences the KV cache holds. */
import type { RlConfig } from "../config/index.ts";
import { countParameters, type DescribedModel, servingMemory } from "../models/index.ts";
import type { Assumptions } from "./assumptions.ts";
import type { Device } from "../models/index.ts";
import { baseDtypeOf, gib } from "./trainer-plan.ts";
import { kvBytesPerToken, servedWeights, vllmMemory, type VllmWorkload } from "./vllm-memory.ts";

export interface InferencePlan {
  readonly backend: "engine" | "vllm";
  /** Servers, each data-parallel copy of one counted; of `orchestrator.client.base_url` one for each address. */
  readonly servers: number;
  /** GPUs of each server; 0 on processors. */
  readonly gpus_per_server: number;
  /** The run starts them. */
  readonly is_started: boolean;
  readonly place: "gpu" | "cpu";
  /** Bytes of one GPU, or of one process, by what they are for. */
  readonly bytes: Readonly<Record<string, number>>;
  readonly total: number;
  /** Bytes that a token takes in the KV cache of one GPU or process. */
  readonly kv_bytes_per_token: number;
  /** Tokens that the KV cache of a server holds. */
  readonly kv_tokens: number;
  /** Longest sequence (tokens). */
  readonly max_model_len: number;
  /** Sequences of that length that the KV cache of a server holds. */
  readonly longest_sequences: number;
  /** Sequences of the assumed mean length that a server decodes together, at most `max_num_seqs`. */
  readonly mean_sequences: number;
}

/** A vLLM on a processor has this KV cache unless the config gives another (ts/inference/vllm/serve-command.ts). */
const CPU_KV_BYTES = 2 ** 30;
/** Blocks of the engine's KV cache, and of vLLM's. */
const BLOCK_TOKENS = 16;

/** `device`: null for processors. */
export function inferencePlan(
  config: RlConfig,
  model: DescribedModel,
  given: { dtype: "float32" | "bfloat16"; assumptions: Assumptions; device: Device | null; share?: number | null },
): InferencePlan {
  const { inference, orchestrator } = config;
  const { base_url: addresses, api } = orchestrator.client;
  const isStarted = addresses.length === 0;
  const backend = isStarted ? inference.backend : api === "vllm" ? "vllm" : "engine";
  const servers = isStarted
    ? inference.replicas * (backend === "vllm" ? inference.vllm.data_parallel_size : 1)
    : addresses.length;
  const common = { backend, servers, is_started: isStarted, max_model_len: longestSequence(config, model) } as const;
  if (backend === "engine") return { ...common, ...engineBytes(config, model, given) };
  const workload = vllmWorkload(config, model, given);
  const memory = given.device === null ? cpuBytes(model, workload) : vllmMemory(model.shape, given.device, workload);
  const { weights, work, reserve, kv_cache: cache, total, kv_tokens: tokens, sequences } = memory;
  return {
    ...common,
    gpus_per_server: given.device === null ? 0 : workload.tensorParallel,
    place: given.device === null ? "cpu" : "gpu",
    bytes: { weights, work, reserve, kv_cache: cache },
    total,
    kv_bytes_per_token: memory.kv_bytes_per_token,
    kv_tokens: tokens,
    longest_sequences: sequences,
    mean_sequences: meanSequences(tokens, config, given.assumptions),
  };
}

export function vllmWorkload(
  config: RlConfig,
  model: DescribedModel,
  {
    dtype,
    assumptions,
    share = null,
  }: { dtype: "float32" | "bfloat16"; assumptions: Assumptions; share?: number | null },
): VllmWorkload {
  const { inference, orchestrator } = config;
  const { vllm } = inference;
  const isStarted = orchestrator.client.base_url.length === 0;
  return {
    tensorParallel: isStarted ? vllm.tensor_parallel_size : assumptions.serverGpus,
    dtype,
    quantization: vllm.quantization,
    share: share ?? vllm.gpu_memory_utilization,
    kvBytes: inference.kv_cache_bytes,
    longest: longestSequence(config, model),
    sequences: inference.max_num_seqs,
  };
}

/** Tokens of the longest sequence that a server takes. */
export function longestSequence({ inference, seq_len: length }: RlConfig, { shape }: DescribedModel): number {
  return Math.min(inference.max_model_len ?? length, shape.max_position_embeddings ?? Infinity);
}

/** Rollouts are at half of their completion on average. */
export function meanLength({ promptTokens, completionTokens }: Assumptions): number {
  return promptTokens + completionTokens / 2;
}

function meanSequences(tokens: number, { inference }: RlConfig, assumptions: Assumptions): number {
  return Math.max(0, Math.min(inference.max_num_seqs, Math.floor(tokens / meanLength(assumptions))));
}

function cpuBytes({ shape }: DescribedModel, workload: VllmWorkload) {
  const weights = servedWeights(shape, workload);
  const perToken = kvBytesPerToken(shape, 1, workload.dtype);
  const cache = workload.kvBytes ?? CPU_KV_BYTES;
  const tokens = Math.floor(cache / perToken / BLOCK_TOKENS) * BLOCK_TOKENS;
  const sequences = Math.floor(tokens / workload.longest);
  return {
    weights,
    work: 0,
    reserve: 0,
    kv_cache: cache,
    total: weights + cache,
    kv_bytes_per_token: perToken,
    kv_tokens: tokens,
    sequences,
  };
}

function engineBytes(
  config: RlConfig,
  model: DescribedModel,
  { dtype, assumptions }: { dtype: "float32" | "bfloat16"; assumptions: Assumptions },
) {
  const { inference } = config;
  const { total: parameters } = countParameters(model.shape);
  const seqLen = longestSequence(config, model);
  const rows = { batch: inference.max_num_seqs, seqLen, dtype };
  const memory = servingMemory(model.shape, parameters, { ...rows, ...baseDtypeOf(config) });
  const tokensOfAll = inference.max_num_seqs * Math.ceil(seqLen / BLOCK_TOKENS) * BLOCK_TOKENS;
  const perToken = memory.kv_cache / tokensOfAll;
  const cache = inference.kv_cache_bytes ?? memory.kv_cache;
  const tokens = Math.floor(cache / perToken);
  return {
    gpus_per_server: 0,
    place: "cpu" as const,
    bytes: { weights: memory.weights, work: memory.work, kv_cache: cache },
    total: memory.weights + memory.work + cache,
    kv_bytes_per_token: perToken,
    kv_tokens: tokens,
    longest_sequences: Math.floor(tokens / seqLen),
    mean_sequences: meanSequences(tokens, config, assumptions),
  };
}

/** Names servers whose GPUs are too small; empty when a longest sequence fits. */
export function inferenceProblems(plan: InferencePlan, device: Device): string[] {
  const { place, longest_sequences: sequences, total, kv_tokens: tokens, max_model_len: longest } = plan;
  if (place === "cpu") return [];
  if (total > device.memory) {
    return [
      `a server needs ${gib(total)} on each GPU, and ${device.name} has ${gib(device.memory)}: use a larger inference.vllm.tensor_parallel_size, or a smaller inference.kv_cache_bytes`,
    ];
  }
  if (sequences >= 1) return [];
  const advice =
    "use a larger inference.vllm.tensor_parallel_size or gpu_memory_utilization, or a shorter inference.max_model_len";
  return [
    `the KV cache of a server holds ${tokens} tokens on ${device.name}, and a sequence has up to ${longest} (inference.max_model_len): ${advice}`,
  ];
}
