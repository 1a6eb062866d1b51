/** Arguments of `vllm serve` that the run sets itself, so that they are refused among the further ones. */

const BY_KEY: Readonly<Record<string, string>> = {
  model: "model.name",
  dtype: "model.dtype",
  host: "inference.server.host",
  port: "inference.server.port",
  "served-model-name": "model.name",
  "api-key": "inference.vllm.api_key_var",
  "tensor-parallel-size": "inference.vllm.tensor_parallel_size",
  "data-parallel-size": "inference.vllm.data_parallel_size",
  "enable-expert-parallel": "inference.vllm.enable_expert_parallel",
  quantization: "inference.vllm.quantization",
  "max-model-len": "inference.max_model_len",
  "max-num-seqs": "inference.max_num_seqs",
  "gpu-memory-utilization": "inference.vllm.gpu_memory_utilization",
  "enable-prefix-caching": "inference.prefix_cache",
  "kv-cache-memory-bytes": "inference.kv_cache_bytes",
  "enable-return-routed-experts": "trainer.enable_router_replay",
  "enforce-eager": "inference.vllm.enforce_eager",
  seed: "seed",
  "enable-lora": "model.lora",
  "max-lora-rank": "model.lora.rank",
};
/** The run needs their values as they are. */
const NEEDED: ReadonlySet<string> = new Set([
  "enable-scale-out",
  "enable-sleep-mode",
  "logprobs-mode",
  "uds",
  "worker-cls",
  "headless",
  "config",
]);
const SHORT: Readonly<Record<string, string>> = {
  tp: "tensor-parallel-size",
  dp: "data-parallel-size",
  ep: "enable-expert-parallel",
  q: "quantization",
};

/** A vLLM on processors gets these too, because it computes each prompt in one step. */
const ON_PROCESSORS: ReadonlySet<string> = new Set(["enable-chunked-prefill", "max-num-batched-tokens"]);

/** The advice for a user who gives this argument; null for one that may be given. */
export function reservedArgument(argument: string): string | null {
  const name = nameOf(argument);
  if (name === null) return null;
  const key = BY_KEY[name];
  if (key !== undefined) return `the run sets it: use ${key}`;
  return NEEDED.has(name) ? "the run sets it, and works with no other value" : null;
}

/** The same for a vLLM that computes on processors. */
export function reservedOnProcessors(argument: string): string | null {
  const name = nameOf(argument);
  if (name === null || !ON_PROCESSORS.has(name)) return null;
  return "the run sets it for a vLLM on processors, which computes each prompt in one step: leave it out";
}

/** The name of an argument as vLLM has it; null for a value. */
function nameOf(argument: string): string | null {
  if (!argument.startsWith("-") || /^-[\d.]/u.test(argument)) return null;
  const written = argument.replace(/=.*$/su, "").replace(/^-+/u, "").replaceAll("_", "-").replace(/^no-/u, "");
  return SHORT[written] ?? written;
}
