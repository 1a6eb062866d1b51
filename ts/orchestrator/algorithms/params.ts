/** Parameters of the advantage estimators: the keys of the config block `orchestrator.algo`. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";

const schema = z.strictObject({
  /** The config block's own name of the estimator; the caller has chosen by it already. */
  type: z.string().optional(),
  std: z.enum(["none", "group", "batch"]).default("none"),
  eps: z.number().nonnegative().default(1e-6),
  unbiased: z.boolean().default(true),
  singleton: z.union([z.literal(0), z.literal("raw")]).default(0),
});

/** All parameters with their defaults filled. An estimator documents which of them it reads. */
export type ResolvedAdvantageParams = z.output<typeof schema>;

/** `std`, `eps` and `unbiased` are read by `grpo` alone, `singleton` by all. */
export type AdvantageParams = z.input<typeof schema>;

/** Fills the defaults. Throws PRL_ADVANTAGE_INPUT naming the key that is unknown or out of range. */
export function resolveParams(name: string, params: AdvantageParams): ResolvedAdvantageParams {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new PrlError("PRL_ADVANTAGE_INPUT", `advantages "${name}": ${z.prettifyError(parsed.error)}`);
}
