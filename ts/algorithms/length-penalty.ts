/**
 * Rewards shaped by length, before any baseline.
 *
 * - `length_penalty` (prime-rl's linear penalty): R <- R - mean_G(R) * sum_q c_q * q / max_G(q) over the quantities q: sampled tokens
 *   (0.25), prompt tokens (0.1), turns (0.1). The mean is the group's pass rate: a group that solves nothing is not punished for length.
 * - `overlong` (DAPO, arXiv:2503.14476, equation 13): R <- R + factor * min((L_max - L_cache - L) / L_cache, 0), nothing up to
 *   L_max - L_cache tokens and -factor at L_max. As verl computes it the penalty goes on falling beyond L_max, where the paper stops at -1.
 *
 * Both read `params.lengths`; a quantity whose weight is 0 need not be given.
 */
import { mean } from "./moments.ts";
import type { ResolvedAdvantageParams } from "./params.ts";
import { requiredColumn } from "./rollout-columns.ts";

/** The rewards that the estimator `name` sees. */
export function shapeRewards(
  name: string,
  groups: readonly number[][],
  params: ResolvedAdvantageParams,
): readonly number[][] {
  const { length_penalty: penalty, overlong } = params;
  let shaped = groups;
  if (overlong !== null) {
    const lengths = requiredColumn(name, "lengths", params.lengths);
    const free = overlong.max_tokens - overlong.cache_tokens;
    const punish = (length: number): number => Math.min((free - length) / overlong.cache_tokens, 0) * overlong.factor;
    shaped = shaped.map((group, g) => group.map((reward, i) => reward + punish(lengths[g]?.[i] ?? 0)));
  }
  if (penalty !== null) {
    const quantities = [
      { key: "lengths", weight: penalty.output, column: params.lengths },
      { key: "input_tokens", weight: penalty.input, column: params.input_tokens },
      { key: "turns", weight: penalty.turns, column: params.turns },
    ].filter(({ weight }) => weight > 0);
    const columns = quantities.map(({ key, weight, column }) => ({
      weight,
      column: requiredColumn(name, key, column),
    }));
    shaped = shaped.map((group, g) => {
      const passRate = mean(group);
      return group.map((reward, i) => {
        const shares = columns.map(({ weight, column }) => weight * shareOfLargest(column[g] ?? [], i));
        return reward - passRate * shares.reduce((sum, share) => sum + share, 0);
      });
    });
  }
  return shaped;
}

/** `values[i]` over the largest of `values`; 0 when that is 0. */
function shareOfLargest(values: readonly number[], i: number): number {
  const largest = values.reduce((most, value) => Math.max(most, value), 0);
  return largest === 0 ? 0 : (values[i] ?? 0) / largest;
}
