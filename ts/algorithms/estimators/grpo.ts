/**
 * GRPO: A_i = (R_i - mean_G) / (s + eps), one value for all tokens of rollout i.
 *
 * Source: DeepSeekMath, arXiv:2402.03300, section 4.1. `std` says what s is:
 * - `group`: standard deviation of the group's rewards, the paper's form. `unbiased` divides by n - 1 as torch.std,
 *   verl and TRL do.
 * - `batch`: standard deviation of all rewards of the batch, not centred by group (LitePPO, arXiv:2508.08221; TRL
 *   `scale_rewards="batch"`).
 * - `none`: no division (s + eps is 1), what prime-rl calls grpo; the same numbers as `dr_grpo`.
 *
 * Departures: eps is 1e-6 (TRL has 1e-4); a group of one valid reward gets 0 where verl takes mean 0 and std 1
 * (`singleton: "raw"`).
 */
import type { AdvantageEstimator } from "../advantages.ts";
import { centred, singletonAdvantage, standardDeviation } from "../moments.ts";

/** Reads `std`, `eps`, `unbiased` and `singleton`. */
export const grpo: AdvantageEstimator = (groups, { std, eps = 1e-6, unbiased, singleton }) => {
  const batchScale = std === "batch" ? standardDeviation(groups.flat(), unbiased) + eps : 1;
  return groups.map((group) => {
    if (group.length === 1) return group.map((reward) => singletonAdvantage(reward, singleton));
    const scale = std === "group" ? standardDeviation(group, unbiased) + eps : batchScale;
    return centred(group).map((deviation) => (deviation === 0 ? 0 : deviation / scale));
  });
};
