/**
 * How many parameters a model has, counted from its config.json alone. The layers are those of Llama, Mistral, Qwen2, Qwen3, Qwen3-MoE and GLM-4.5 as
 * transformers builds them; the names of the classes' parameters are the rows of the table.
 *
 * | of each layer                    | numbers                                                                         |
 * | -------------------------------- | ------------------------------------------------------------------------------- |
 * | q, k, v and o of attention       | H (q + 2 k) + q H; with biases q + 2 k (qwen2, glm4_moe), and H more (`attention_bias`) |
 * | norms                            | 2 H; qwen3, qwen3_moe: and 2 head widths                                        |
 * | feed-forward                     | 3 H F; with `mlp_bias` 2 F + H more; of experts (X + shared) (3 H W) + X H for the router |
 *
 * Outside of the layers: the embedding V H, the head V H unless it is tied, and a norm of H.
 */
import { type ModelShape, type Experts, expertsOf, sizesOf } from "./shape.ts";

/** Numbers of a model. */
export interface ParameterCount {
  readonly total: number;
  /** Those that one token is multiplied by, or looked up in: of experts only the used ones. */
  readonly active: number;
  /** The largest layer, as a rank has it of those that share its experts. */
  readonly layer: number;
  /** The largest tensor of a layer, the experts of one projection being one tensor. */
  readonly tensor: number;
  /** The experts of all layers, without those that every token uses. */
  readonly experts: number;
  /** Embedding, head and last norm. */
  readonly outside: number;
}

/** An adapter as `[model.lora]` describes it. */
export interface AdapterShape {
  readonly rank: number;
  /** Projections that are adapted in every layer; null: all, of a mixture of experts those of attention. */
  readonly targets?: readonly string[] | null;
}

const HEAD_NORMS = new Set(["qwen3", "qwen3_moe"]);
const WITHOUT_OUTPUT_BIAS = new Set(["qwen2", "glm4_moe"]);

/** @param share ranks that share the experts of a layer */
export function countParameters(shape: ModelShape, share = 1): ParameterCount {
  const { hidden, layers, embedding, isTied, q, qkv, headDim } = sizesOf(shape);
  const qkvBias = shape.model_type === "qwen2" || shape.attention_bias === true ? qkv : 0;
  const outputBias = !WITHOUT_OUTPUT_BIAS.has(shape.model_type ?? "") && shape.attention_bias === true ? hidden : 0;
  const hasHeadNorms = HEAD_NORMS.has(shape.model_type ?? "") || shape.use_qk_norm === true;
  const norms = 2 * hidden + (hasHeadNorms ? 2 * headDim : 0);
  const attention = hidden * qkv + q * hidden + qkvBias + outputBias + norms;
  const bias = shape.mlp_bias === true ? 2 * shape.intermediate_size + hidden : 0;
  const dense = attention + 3 * hidden * shape.intermediate_size + bias;
  const outside = embedding * (isTied ? 1 : 2) + hidden;
  const experts = expertsOf(shape);
  const tensor = hidden * Math.max(q, shape.intermediate_size);
  if (experts === null) {
    const total = layers * dense + outside;
    return { total, active: total, layer: dense, tensor, experts: 0, outside };
  }
  const sparseLayers = countSparseLayers(shape);
  const sparse = (networks: number): number =>
    attention + hidden * (experts.count + 3 * (networks + experts.shared) * experts.width);
  const sum = (networks: number): number => (layers - sparseLayers) * dense + sparseLayers * sparse(networks) + outside;
  return {
    total: sum(experts.count),
    active: sum(experts.used),
    layer: Math.max(sparseLayers > 0 ? sparse(experts.count / share) : 0, sparseLayers < layers ? dense : 0),
    tensor: Math.max(tensor, 2 * experts.count * hidden * experts.width),
    experts: sparseLayers * 3 * experts.count * hidden * experts.width,
    outside,
  };
}

/** Layers with several networks (crates/engine/src/config/moe.rs). */
export function countSparseLayers(shape: ModelShape): number {
  const { num_hidden_layers: layers, decoder_sparse_step: step, mlp_only_layers: dense } = shape;
  if (expertsOf(shape) === null) return 0;
  const indices = Array.from({ length: layers }, (_, layer) => layer).slice(shape.first_k_dense_replace ?? 0);
  return indices.filter((layer) => dense?.includes(layer) !== true && (layer + 1) % (step ?? 1) === 0).length;
}

/** Numbers of an adapter: both matrices of every adapted projection. */
export function adapterParameters(shape: ModelShape, { rank, targets = null }: AdapterShape): number {
  const widths = projectionWidths(shape);
  const names = targets ?? defaultTargets(expertsOf(shape));
  const sum = names.reduce((all, name) => all + (widths[name] ?? [0, 0]).reduce((a, b) => a + b, 0), 0);
  return shape.num_hidden_layers * rank * sum;
}

/** Projections that an adapter has unless its block says otherwise. */
export function defaultTargets(experts: Experts | null): readonly string[] {
  const attention = ["q_proj", "k_proj", "v_proj", "o_proj"];
  return experts === null ? [...attention, "gate_proj", "up_proj", "down_proj"] : attention;
}

/** Widths of what goes into each projection of a layer, and of what comes out. */
export function projectionWidths(shape: ModelShape): Readonly<Record<string, readonly [number, number]>> {
  const { hidden, q, k } = sizesOf(shape);
  const wide = shape.intermediate_size;
  return {
    q_proj: [hidden, q],
    k_proj: [hidden, k],
    v_proj: [hidden, k],
    o_proj: [q, hidden],
    gate_proj: [hidden, wide],
    up_proj: [hidden, wide],
    down_proj: [wide, hidden],
  };
}
