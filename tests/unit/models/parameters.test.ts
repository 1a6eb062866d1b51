/** Parameter counts from config.json against those of published models and of classes of transformers. */
import { describe, expect, test } from "vitest";

import { adapterParameters, countParameters, modelShape, type ModelShape } from "../../../ts/models/index.ts";
import { GLM_AIR, QWEN3 } from "../plan/qwen3.ts";

function shapeOf(config: object): ModelShape {
  const shape = modelShape(config);
  if (shape === null) throw new Error("no shape");
  return shape;
}

/** config.json of other models on the hub, the keys that sizes depend on. */
const OTHERS = {
  "Qwen/Qwen2.5-0.5B": {
    model_type: "qwen2",
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
    vocab_size: 151936,
    tie_word_embeddings: true,
  },
  "meta-llama/Llama-3.2-1B": {
    model_type: "llama",
    hidden_size: 2048,
    intermediate_size: 8192,
    num_hidden_layers: 16,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    head_dim: 64,
    vocab_size: 128256,
    tie_word_embeddings: true,
  },
  "meta-llama/Llama-3.1-8B": {
    model_type: "llama",
    hidden_size: 4096,
    intermediate_size: 14336,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    vocab_size: 128256,
    tie_word_embeddings: false,
  },
  "mistralai/Mistral-7B-v0.1": {
    model_type: "mistral",
    hidden_size: 4096,
    intermediate_size: 14336,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    vocab_size: 32000,
    tie_word_embeddings: false,
  },
};

describe("parameters counted from config.json", () => {
  // The hub shows these for the safetensors of each model.
  test.each([
    ["Qwen/Qwen3-0.6B", QWEN3["Qwen/Qwen3-0.6B"], 596_049_920],
    ["Qwen/Qwen3-4B", QWEN3["Qwen/Qwen3-4B"], 4_022_468_096],
    ["Qwen/Qwen3-8B", QWEN3["Qwen/Qwen3-8B"], 8_190_735_360],
    ["Qwen/Qwen3-30B-A3B", QWEN3["Qwen/Qwen3-30B-A3B"], 30_532_122_624],
    ["Qwen/Qwen2.5-0.5B", OTHERS["Qwen/Qwen2.5-0.5B"], 494_032_768],
    ["meta-llama/Llama-3.2-1B", OTHERS["meta-llama/Llama-3.2-1B"], 1_235_814_400],
    ["meta-llama/Llama-3.1-8B", OTHERS["meta-llama/Llama-3.1-8B"], 8_030_261_248],
    ["mistralai/Mistral-7B-v0.1", OTHERS["mistralai/Mistral-7B-v0.1"], 7_241_732_096],
  ])("%s has as many as the hub says", (_name, config, published) => {
    expect(countParameters(shapeOf(config)).total).toBe(published);
  });

  test("a token of Qwen3-30B-A3B uses 3.3 billion, as its name and its model card say", () => {
    const { active, total } = countParameters(shapeOf(QWEN3["Qwen/Qwen3-30B-A3B"]));
    expect(active / 1e9).toBeGreaterThan(3.3);
    expect(active / 1e9).toBeLessThan(3.4);
    expect(total).toBeGreaterThan(active);
  });

  // transformers 5.23, AutoModelForCausalLM.from_config on the meta device, the sum of numel() over parameters().
  const common = {
    hidden_size: 64,
    intermediate_size: 96,
    num_hidden_layers: 3,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    vocab_size: 512,
  };
  const experts = {
    head_dim: 32,
    num_experts: 8,
    num_experts_per_tok: 2,
    moe_intermediate_size: 48,
    tie_word_embeddings: false,
  };
  test.each([
    ["llama with biases", { model_type: "llama", head_dim: 32, attention_bias: true, mlp_bias: true }, 196_736],
    ["tied llama", { model_type: "llama", tie_word_embeddings: true }, 125_376],
    ["mistral", { model_type: "mistral", head_dim: 16 }, 158_144],
    ["tied qwen2", { model_type: "qwen2", tie_word_embeddings: true }, 125_760],
    [
      "qwen3 with biases",
      { model_type: "qwen3", head_dim: 32, attention_bias: true, tie_word_embeddings: true },
      163_392,
    ],
    ["experts but in one layer", { model_type: "qwen3_moe", ...experts, mlp_only_layers: [1] }, 306_816],
    ["experts in every second layer", { model_type: "qwen3_moe", ...experts, decoder_sparse_step: 2 }, 251_008],
    [
      "glm4_moe with shared experts, a dense first layer and head norms",
      {
        model_type: "glm4_moe",
        head_dim: 32,
        n_routed_experts: 8,
        n_shared_experts: 2,
        num_experts_per_tok: 2,
        moe_intermediate_size: 48,
        first_k_dense_replace: 1,
        attention_bias: true,
        use_qk_norm: true,
        tie_word_embeddings: false,
      },
      344_448,
    ],
    ["GLM-4.5-Air", GLM_AIR, 106_852_245_504],
  ])("of %s are those of the class in transformers", (_name, keys, count) => {
    expect(countParameters(shapeOf({ ...common, ...keys })).total).toBe(count);
  });

  test("of an adapter are both matrices of each adapted projection", () => {
    const shape = shapeOf(QWEN3["Qwen/Qwen3-0.6B"]);
    // peft 0.21, rank 16 on all linear layers of Qwen3-0.6B: 10,092,544 trainable parameters.
    expect(adapterParameters(shape, { rank: 16 })).toBe(10_092_544);
    expect(adapterParameters(shape, { rank: 8, targets: ["q_proj", "v_proj"] })).toBe(
      28 * 8 * (1024 + 2048 + 1024 + 1024),
    );
  });
});
