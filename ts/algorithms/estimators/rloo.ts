/**
 * RLOO, REINFORCE leave-one-out: A_i = R_i - mean of the other rewards of the group = n / (n - 1) * (R_i - mean_G).
 *
 * Source: "Back to Basics", arXiv:2402.14740, equation 5, in the second form (as verl computes it). n counts valid
 * rewards only. The paper needs n > 1; a group of one valid reward has no others and follows `singleton`.
 */
import type { AdvantageEstimator } from "../advantages.ts";
import { centred, singletonAdvantage } from "../moments.ts";

/** Reads `singleton`. */
export const rloo: AdvantageEstimator = (groups, { singleton }) =>
  groups.map((group) => {
    if (group.length === 1) return group.map((reward) => singletonAdvantage(reward, singleton));
    const factor = group.length / (group.length - 1);
    return centred(group).map((deviation) => deviation * factor);
  });
