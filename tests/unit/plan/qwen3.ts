/** Models of the Qwen3 family, and one of GLM-4.5, as their config.json on the hub describes them (huggingface.co/Qwen), and a cache of the hub that has only these files. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const dense = {
  architectures: ["Qwen3ForCausalLM"],
  model_type: "qwen3",
  head_dim: 128,
  num_key_value_heads: 8,
  vocab_size: 151_936,
  max_position_embeddings: 40_960,
  torch_dtype: "bfloat16",
};

export const QWEN3 = {
  "Qwen/Qwen3-0.6B": {
    ...dense,
    hidden_size: 1024,
    intermediate_size: 3072,
    num_hidden_layers: 28,
    num_attention_heads: 16,
    tie_word_embeddings: true,
  },
  "Qwen/Qwen3-4B": {
    ...dense,
    hidden_size: 2560,
    intermediate_size: 9728,
    num_hidden_layers: 36,
    num_attention_heads: 32,
    tie_word_embeddings: true,
  },
  "Qwen/Qwen3-8B": {
    ...dense,
    hidden_size: 4096,
    intermediate_size: 12_288,
    num_hidden_layers: 36,
    num_attention_heads: 32,
    tie_word_embeddings: false,
  },
  "Qwen/Qwen3-30B-A3B": {
    ...dense,
    architectures: ["Qwen3MoeForCausalLM"],
    model_type: "qwen3_moe",
    hidden_size: 2048,
    intermediate_size: 6144,
    moe_intermediate_size: 768,
    num_hidden_layers: 48,
    num_attention_heads: 32,
    num_key_value_heads: 4,
    num_experts: 128,
    num_experts_per_tok: 8,
    mlp_only_layers: [],
    decoder_sparse_step: 1,
    tie_word_embeddings: false,
  },
};

/** huggingface.co/zai-org/GLM-4.5-Air. */
export const GLM_AIR = {
  architectures: ["Glm4MoeForCausalLM"],
  model_type: "glm4_moe",
  hidden_size: 4096,
  intermediate_size: 10_944,
  moe_intermediate_size: 1408,
  num_hidden_layers: 46,
  num_attention_heads: 96,
  num_key_value_heads: 8,
  head_dim: 128,
  vocab_size: 151_552,
  max_position_embeddings: 131_072,
  n_routed_experts: 128,
  n_shared_experts: 1,
  num_experts_per_tok: 8,
  first_k_dense_replace: 1,
  attention_bias: true,
  use_qk_norm: false,
  tie_word_embeddings: false,
  torch_dtype: "bfloat16",
};

const COMMIT = "c".repeat(40);

/** Environment of a command whose cache of the hub, below `root`, has config.json of these models and no weights. */
export function hubOfQwen3(root: string): Record<string, string> {
  for (const [name, config] of Object.entries({ ...QWEN3, "zai-org/GLM-4.5-Air": GLM_AIR })) {
    const folder = join(root, `models--${name.replace("/", "--")}`);
    mkdirSync(join(folder, "snapshots", COMMIT), { recursive: true });
    mkdirSync(join(folder, "refs"));
    writeFileSync(join(folder, "refs", "main"), COMMIT);
    writeFileSync(join(folder, "snapshots", COMMIT, "config.json"), JSON.stringify(config));
  }
  return { HF_HUB_CACHE: root, HF_HUB_OFFLINE: "1" };
}
