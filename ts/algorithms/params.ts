/**
 * Parameters of the advantage estimators: the keys of the config block `orchestrator.algo`, and what an estimator may need to know about
 * each rollout besides its reward.
 */
import { z } from "zod";

import { PrlError } from "../errors.ts";

const counts = z.array(z.array(z.number().nonnegative()));

const schema = z.strictObject({
  /** The estimator's name in the config block; the caller has used it already to choose the estimator. */
  type: z.string().optional(),
  std: z.enum(["none", "group", "batch"]).default("none"),
  eps: z.number().nonnegative().optional(),
  unbiased: z.boolean().default(true),
  singleton: z.union([z.literal(0), z.literal("raw")]).default(0),
  decay: z.number().min(0).lt(1).default(0.95),
  baseline: z.union([z.number(), z.record(z.string(), z.number())]).default(0),
  length_penalty: z
    .strictObject({
      output: z.number().nonnegative().default(0.25),
      input: z.number().nonnegative().default(0.1),
      turns: z.number().nonnegative().default(0.1),
    })
    .nullable()
    .default(null),
  overlong: z
    .strictObject({
      max_tokens: z.number().positive(),
      cache_tokens: z.number().positive(),
      factor: z.number().nonnegative().default(1),
    })
    .nullable()
    .default(null),
  lengths: counts.optional(),
  input_tokens: counts.optional(),
  turns: counts.optional(),
  agents: z.array(z.array(z.string())).optional(),
  subgroups: z.array(z.array(z.union([z.string(), z.null()]))).optional(),
  components: z.record(z.string(), z.array(z.array(z.union([z.number(), z.nan()])))).optional(),
  component_weights: z.record(z.string(), z.number()).optional(),
});

/** All parameters with their defaults filled. An estimator documents which of them it reads. */
export type ResolvedAdvantageParams = z.output<typeof schema>;

/**
 * | key | read by |
 * |---|---|
 * | `std`, `unbiased` | `grpo`; `unbiased` also by `reinforce_pp`, `reinforce_pp_baseline`, `gdpo` |
 * | `eps` | every estimator that divides by a standard deviation; each file says its default |
 * | `singleton` | every estimator with a baseline from the group |
 * | `length_penalty`, `overlong` | all: they shape the rewards first |
 * | `decay`, `baseline` (number, or by agent), `agents` (name of each rollout's agent) | `rae` |
 * | `lengths` (sampled tokens of each rollout) | `opo`, `reinforce_pp`, `reinforce_pp_baseline`, `length_penalty`, `overlong` |
 * | `input_tokens`, `turns` (of each rollout) | `length_penalty` |
 * | `subgroups` (what each rollout is compared within; null: its group) | `hierarchical_grpo` |
 * | `components` (rewards by name), `component_weights` (default 1) | `gdpo` |
 *
 * Columns have the shape of the rewards.
 */
export type AdvantageParams = z.input<typeof schema>;

/** Fills the defaults. Throws PRL_ADVANTAGE_INPUT naming the key that is unknown or out of range. */
export function resolveParams(name: string, params: AdvantageParams): ResolvedAdvantageParams {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new PrlError("PRL_ADVANTAGE_INPUT", `advantages "${name}": ${z.prettifyError(parsed.error)}`);
}
