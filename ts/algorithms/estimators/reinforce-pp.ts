/**
 * REINFORCE++: whitening over the whole batch, A_i = (X_i - mean_B(X)) / sqrt(var_B(X) + eps).
 *
 * - `reinforce_pp`: X = R. There is no group baseline, so groups of one are ordinary.
 * - `reinforce_pp_baseline`: X_i = R_i - mean_G (also called ScaleRL's or Magistral's form), a singleton by `singleton`.
 *
 * Source: arXiv:2501.03262. The paper whitens tokens: with an outcome reward and discount 1 every sampled token of rollout i has the
 * return R_i, hence moments weighted by `lengths` (sampled tokens; without them every rollout weighs 1). eps is 1e-8 under the root and
 * the variance is over N - 1 tokens, as in verl's masked_whiten; OpenRLHF adds its eps likewise. KL rewards belong to the loss here.
 */
import type { AdvantageEstimator } from "../advantages.ts";
import { centred, singletonAdvantage } from "../moments.ts";
import type { ResolvedAdvantageParams } from "../params.ts";

/** Reads `lengths`, `eps`, `unbiased`. */
export const reinforcePp: AdvantageEstimator = (groups, params) => whiten(groups, params);

/** Reads `lengths`, `eps`, `unbiased`, `singleton`. */
export const reinforcePpBaseline: AdvantageEstimator = (groups, params) => {
  const baselined = groups.map((group) =>
    group.length === 1 ? group.map((reward) => singletonAdvantage(reward, params.singleton)) : centred(group),
  );
  return whiten(baselined, params);
};

function whiten(groups: readonly number[][], { lengths, eps = 1e-8, unbiased }: ResolvedAdvantageParams): number[][] {
  const values = groups.flat();
  const weights = lengths?.flat() ?? values.map(() => 1);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const weighted = (value: (i: number) => number): number =>
    weights.reduce((sum, weight, i) => sum + weight * value(i), 0);
  const first = values[0] ?? 0;
  const middle = total > 0 ? first + weighted((i) => (values[i] ?? 0) - first) / total : first;
  const squares = weighted((i) => ((values[i] ?? 0) - middle) ** 2);
  const divisor = unbiased ? total - 1 : total;
  const variance = divisor > 0 ? squares / divisor : 0;
  const scale = Math.sqrt(variance + eps);
  return groups.map((group) => group.map((value) => (value === middle ? 0 : (value - middle) / scale)));
}
