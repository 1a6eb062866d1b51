/** The KV cache of a plan against the numbers that vLLM prints. */
import { expect, test } from "vitest";

import { DEVICES } from "../../../ts/plan/index.ts";
import { vllmMemory } from "../../../ts/plan/vllm-memory.ts";

const SHAPE = {
  model_type: "qwen3",
  hidden_size: 256,
  intermediate_size: 768,
  num_hidden_layers: 4,
  num_attention_heads: 8,
  num_key_value_heads: 2,
  head_dim: 64,
  vocab_size: 512,
};

// vLLM 0.32 on a processor with this model, kv_cache_memory_bytes = 2 ** 26 and max_model_len = 1024 printed: "KV cache size: 16,384 tokens,
// Maximum concurrency for 1,024 tokens per request: 16.00x" in float32, 32,768 and 32.00x in bfloat16.
test.each([
  ["float32", 16_384, 16],
  ["bfloat16", 32_768, 32],
] as const)("in %s holds the tokens and the sequences that vLLM counts", (dtype, tokens, sequences) => {
  const [device] = DEVICES;
  if (device === undefined) throw new Error("no device");
  const common = { tensorParallel: 1, quantization: null, share: null, longest: 1024, sequences: 16 };
  const memory = vllmMemory(SHAPE, device, { ...common, dtype, kvBytes: 2 ** 26 });
  expect(memory).toMatchObject({ kv_tokens: tokens, sequences });
});
