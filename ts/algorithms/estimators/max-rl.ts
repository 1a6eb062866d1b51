/**
 * MaxRL: A_i = (R_i - mean_G) / mean_G, so that a question weighs more when right answers to it are rarer; the expectation is that of
 * the maximum-likelihood objective cut off at order n.
 *
 * Source: arXiv:2602.02710. A group whose mean is 0 or less gets zeros (as prime-rl): the paper has rewards of 0 and 1 only.
 */
import type { AdvantageEstimator } from "../advantages.ts";
import { centred, mean, singletonAdvantage } from "../moments.ts";

/** Reads `singleton`. */
export const maxRl: AdvantageEstimator = (groups, { singleton }) =>
  groups.map((group) => {
    if (group.length === 1) return group.map((reward) => singletonAdvantage(reward, singleton));
    const middle = mean(group);
    return middle > 0 ? centred(group).map((deviation) => deviation / middle) : group.map(() => 0);
  });
