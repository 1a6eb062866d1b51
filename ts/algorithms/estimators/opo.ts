/**
 * OPO: A_i = R_i - b_G with the length-weighted baseline b_G = sum_j l_j R_j / sum_j l_j, which has the least gradient variance when the
 * squared norm of a rollout's gradient grows with its length l.
 *
 * Source: "On-Policy RL with Optimal Reward Baseline", arXiv:2505.23585, equation 6 (as verl computes it).
 */
import type { AdvantageEstimator } from "../advantages.ts";
import { singletonAdvantage } from "../moments.ts";
import { requiredColumn } from "../rollout-columns.ts";

/** Reads `lengths` (required) and `singleton`. A group in which nothing was sampled has the plain mean as its baseline. */
export const opo: AdvantageEstimator = (groups, { lengths, singleton }) => {
  const columns = requiredColumn("opo", "lengths", lengths);
  return groups.map((group, g) => {
    if (group.length === 1) return group.map((reward) => singletonAdvantage(reward, singleton));
    const given = columns[g] ?? [];
    const weights = given.some((length) => length > 0) ? given : group.map(() => 1);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const first = group[0] ?? 0;
    const offset = group.reduce((sum, reward, i) => sum + (weights[i] ?? 0) * (reward - first), 0) / total;
    return group.map((reward) => reward - first - offset);
  });
};
