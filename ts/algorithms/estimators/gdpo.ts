/**
 * GDPO, several rewards: each is normalised within its group on its own, Z_c = (R_c - mean_G) / (std_G + eps); their weighted sum is
 * normalised over the batch, A = (S - mean_B) / (std_B + eps), S = sum_c w_c Z_c. A reward of large spread then does not drown one
 * of small spread, as it does when only the sum is normalised.
 *
 * Source: arXiv:2601.05242. eps is 1e-4 in both places, as in TRL (`multi_objective_aggregation="normalize_then_sum"`). Without
 * `components` the reward itself is the only one. A group of one has Z_c by `singleton`.
 */
import { PrlError } from "../../errors.ts";
import type { AdvantageEstimator } from "../advantages.ts";
import { centred, singletonAdvantage, standardDeviation } from "../moments.ts";
import type { ResolvedAdvantageParams } from "../params.ts";

const EPS = 1e-4;

/** Reads `components`, `component_weights`, `eps`, `unbiased`, `singleton`. */
export const gdpo: AdvantageEstimator = (groups, params) => {
  const components = Object.entries(params.components ?? { reward: groups });
  const sums = groups.map((group) => group.map(() => 0));
  for (const [key, column] of components) {
    const weight = params.component_weights?.[key] ?? 1;
    for (const [g, group] of column.entries()) {
      if (group.some((value) => !Number.isFinite(value))) {
        const message = `advantages "gdpo": component "${key}" of group ${g} is not finite where the reward is`;
        throw new PrlError("PRL_ADVANTAGE_INPUT", message);
      }
      const normalised = group.length === 1 ? singletons(group, params) : normalise(group, params);
      const row = sums[g] ?? [];
      normalised.forEach((value, i) => (row[i] = (row[i] ?? 0) + weight * value));
    }
  }
  const flat = normalise(sums.flat(), params);
  let next = 0;
  return sums.map((group) => group.map(() => flat[next++] ?? 0));
};

function singletons(group: readonly number[], { singleton }: ResolvedAdvantageParams): number[] {
  return group.map((value) => singletonAdvantage(value, singleton));
}

function normalise(values: readonly number[], { eps = EPS, unbiased }: ResolvedAdvantageParams): number[] {
  const scale = standardDeviation(values, unbiased) + eps;
  return centred(values).map((deviation) => (deviation === 0 ? 0 : deviation / scale));
}
