/**
 * The command line and the environment of `vllm serve` for a config: what the orchestrator's client needs (token ids in and out, control
 * routes, log-probabilities of sampling), then the keys of `[inference]`, then the user's further arguments.
 *
 * The key that callers show travels in an environment variable: arguments are visible to everybody on the machine.
 */
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";

import type { WeightDtype } from "../../native/index.ts";
import type { InferenceProcessConfig } from "../process-config.ts";

export interface ServeSettings {
  port: number;
  /** Format of the weights. */
  dtype: WeightDtype;
  /** This vLLM computes on processors. */
  isCpu: boolean;
  /** GPUs that it computes on, as CUDA_VISIBLE_DEVICES names them; null: it chooses. */
  gpus: readonly string[] | null;
  /** Longest sequence of the model (tokens). */
  maxPositions: number;
  /** Folders of modules that Python already searches. */
  pythonPath: readonly string[];
  /** The key that callers have to show; null: none. */
  apiKey: string | null;
}

export interface ServeCommand {
  /** Arguments of `python`. */
  args: string[];
  /** Variables for vLLM; undefined: it gets none of this name, whatever this process has. */
  env: Record<string, string | undefined>;
}

/** Without an explicit size a vLLM on processors takes most of the machine's memory. */
const CPU_KV_BYTES = 2 ** 30;
/** Tokens of one step on a processor, where each prompt is computed in one step. */
const CPU_STEP_TOKENS = 4_096;
/** Sources and build output are equally deep below the package's folder. */
const PYTHON = fileURLToPath(new URL("../../../ts/inference/vllm/python", import.meta.url));
/** What `--max-lora-rank` may be. */
const LORA_RANKS: readonly number[] = [1, 8, 16, 32, 64, 128, 256, 320, 512];
const CPU_WORKER = "prl_vllm.cpu_worker.Worker";

export function serveCommand(config: InferenceProcessConfig, settings: ServeSettings): ServeCommand {
  const { inference } = config;
  const { vllm } = inference;
  const { isCpu, apiKey, pythonPath, gpus } = settings;
  const threads = isCpu && inference.threads !== null ? String(inference.threads) : null;
  return {
    args: [
      "-m",
      "vllm.entrypoints.cli.main",
      "serve",
      config.model_dir,
      ...placeArguments(config, settings),
      ...modelArguments(config, settings),
      ...vllm.extra_args,
    ],
    env: {
      VLLM_SERVER_DEV_MODE: "1",
      VLLM_NO_USAGE_STATS: "1",
      HF_HUB_OFFLINE: "1",
      PYTHONUNBUFFERED: "1",
      ...(isCpu && { PYTHONPATH: [PYTHON, ...pythonPath].join(delimiter) }),
      ...(gpus !== null && { CUDA_VISIBLE_DEVICES: gpus.join(",") }),
      VLLM_API_KEY: apiKey ?? undefined,
      // Opens /v1/load_lora_adapter.
      ...(config.adapter_rank !== null && { VLLM_ALLOW_RUNTIME_LORA_UPDATING: "1" }),
      // Only this one returns experts.
      ...(inference.enable_return_routed_experts && { VLLM_USE_V2_MODEL_RUNNER: "1" }),
      // It would win over the argument.
      VLLM_CPU_KVCACHE_SPACE: undefined,
      ...(threads !== null && { OMP_NUM_THREADS: threads, VLLM_CPU_OMP_THREADS_BIND: "nobind" }),
    },
  };
}

function placeArguments(config: InferenceProcessConfig, { port }: ServeSettings): string[] {
  const { model_dir: dir, inference, adapter_rank: rank } = config;
  const asked = inference.model?.name ?? dir;
  // Requests of the run name its model, and get the adapter of this name, which the orchestrator loads.
  const name = rank === null ? asked : `${asked}@base`;
  const place = ["--host", inference.server.host, "--port", String(port), "--served-model-name", name];
  return [...place, "--enable-scale-out", "--logprobs-mode", "processed_logprobs", "--disable-uvicorn-access-log"];
}

function modelArguments(
  { inference, seed, colocated, adapter_rank: rank }: InferenceProcessConfig,
  settings: ServeSettings,
): string[] {
  const { vllm, max_model_len: longest } = inference;
  const { dtype, isCpu, maxPositions } = settings;
  const length = Math.min(longest ?? maxPositions, maxPositions);
  const kvBytes = inference.kv_cache_bytes ?? (isCpu && vllm.gpu_memory_utilization === null ? CPU_KV_BYTES : null);
  const valued: [string, string | number | null][] = [
    ["--dtype", dtype],
    ["--seed", seed],
    ["--max-model-len", length],
    ["--max-num-seqs", inference.max_num_seqs],
    ["--kv-cache-memory-bytes", kvBytes],
    ["--gpu-memory-utilization", vllm.gpu_memory_utilization],
    ["--tensor-parallel-size", vllm.tensor_parallel_size],
    ["--data-parallel-size", vllm.data_parallel_size],
    ["--quantization", vllm.quantization],
    ["--max-lora-rank", rank === null ? null : (LORA_RANKS.find((most) => most >= rank) ?? rank)],
    ["--worker-cls", isCpu ? CPU_WORKER : null],
    ["--max-num-batched-tokens", isCpu ? Math.max(length, CPU_STEP_TOKENS) : null],
  ];
  const switches: [string, boolean][] = [
    [inference.prefix_cache ? "--enable-prefix-caching" : "--no-enable-prefix-caching", true],
    ["--enforce-eager", vllm.enforce_eager ?? isCpu],
    ["--enable-expert-parallel", vllm.enable_expert_parallel],
    ["--enable-return-routed-experts", inference.enable_return_routed_experts],
    ["--enable-lora", rank !== null],
    // It frees the GPU for the trainer's turn.
    ["--enable-sleep-mode", colocated],
    // vLLM 0.32 on a processor ends with an error when a seeded request's prompt is computed in parts.
    ["--no-enable-chunked-prefill", isCpu],
  ];
  return [
    ...valued.flatMap(([flag, value]) => (value === null ? [] : [flag, String(value)])),
    ...switches.flatMap(([flag, isOn]) => (isOn ? [flag] : [])),
  ];
}
