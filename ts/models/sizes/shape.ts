/** The shape of a decoder, from config.json: the keys that sizes and times depend on, and the widths that follow from them. */
import { z } from "zod";

const shapeSchema = z.object({
  hidden_size: z.int().positive(),
  intermediate_size: z.int().positive(),
  num_hidden_layers: z.int().positive(),
  num_attention_heads: z.int().positive(),
  num_key_value_heads: z.int().positive().nullish(),
  head_dim: z.int().positive().nullish(),
  vocab_size: z.int().positive(),
  tie_word_embeddings: z.boolean().nullish(),
  max_position_embeddings: z.int().positive().nullish(),
  num_experts: z.int().positive().nullish(),
  num_experts_per_tok: z.int().positive().nullish(),
  /** `num_experts` of GLM-4.5, the experts that every token uses, and its first layers without experts. */
  n_routed_experts: z.int().positive().nullish(),
  n_shared_experts: z.int().nonnegative().nullish(),
  first_k_dense_replace: z.int().nonnegative().nullish(),
  use_qk_norm: z.boolean().nullish(),
  moe_intermediate_size: z.int().positive().nullish(),
  mlp_only_layers: z.array(z.int().nonnegative()).nullish(),
  decoder_sparse_step: z.int().positive().nullish(),
  model_type: z.string().nullish(),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
});

export type ModelShape = z.infer<typeof shapeSchema>;

/** The shape in a config.json; null when it is no decoder whose sizes are known. */
export function modelShape(config: unknown): ModelShape | null {
  return shapeSchema.safeParse(config).data ?? null;
}

/** The networks of a layer that has several. */
export interface Experts {
  /** Networks of a layer. */
  readonly count: number;
  /** Networks that a token uses. */
  readonly used: number;
  /** Their width. */
  readonly width: number;
  /** Further networks of a layer, of the same width, that every token uses. */
  readonly shared: number;
}

/** Widths and counts, in numbers. */
export interface Sizes {
  readonly hidden: number;
  readonly layers: number;
  /** Vocabulary x hidden. */
  readonly embedding: number;
  readonly isTied: boolean;
  /** Heads of keys and values. */
  readonly heads: number;
  readonly headDim: number;
  /** Width of queries. */
  readonly q: number;
  /** Width of keys, and of values. */
  readonly k: number;
  readonly qkv: number;
}

export function sizesOf(shape: ModelShape): Sizes {
  const headDim = shape.head_dim ?? Math.floor(shape.hidden_size / shape.num_attention_heads);
  const heads = shape.num_key_value_heads ?? shape.num_attention_heads;
  const [q, k] = [shape.num_attention_heads * headDim, heads * headDim];
  return {
    hidden: shape.hidden_size,
    layers: shape.num_hidden_layers,
    embedding: shape.vocab_size * shape.hidden_size,
    isTied: shape.tie_word_embeddings ?? false,
    heads,
    headDim,
    q,
    k,
    qkv: q + 2 * k,
  };
}

/** Null for a dense model. */
export function expertsOf(shape: ModelShape): Experts | null {
  const { num_experts_per_tok: used, moe_intermediate_size: width, n_shared_experts: shared } = shape;
  const count = shape.num_experts ?? shape.n_routed_experts;
  return !count || !used || !width ? null : { count, used, width, shared: shared ?? 0 };
}
