/** How much a task weighs in the draw, by the mean reward of its last group (undefined: never tried). */
import type { CurriculumBlock } from "../../config/index.ts";

type Sampler = CurriculumBlock["sampler"];

export type TaskWeight = (meanReward: number | undefined) => number;

/** The largest value of p(1-p): the weight of a task about which nothing is known. */
const UNTRIED_LEARNABILITY = 0.25;

/**
 * - `difficulty_pool`: the weight of the first pool whose `max_reward` is not exceeded; tasks above all of them get the last pool's (prime-rl).
 * - `learnability`: p(1-p), the variance of a task that is solved with probability p (arXiv:2502.12272), at least `floor`. Rewards outside
 *   [0, 1] count as the nearer end.
 */
export function taskWeight({ type, pools, floor }: Sampler): TaskWeight {
  if (type === "learnability") {
    return (mean) => {
      if (mean === undefined) return UNTRIED_LEARNABILITY;
      const p = Math.min(1, Math.max(0, mean));
      return Math.max(floor, p * (1 - p));
    };
  }
  return (mean) => (mean === undefined ? 1 : (pools[poolOf(pools, mean)]?.weight ?? 1));
}

/** Index of the pool of a task with this mean reward. */
export function poolOf(pools: Sampler["pools"], mean: number): number {
  const found = pools.findIndex(({ max_reward: most }) => mean <= most);
  return found === -1 ? pools.length - 1 : found;
}
