/** Which completed groups are worth a place in the batch. */
import type { CurriculumBlock } from "../../config/index.ts";
import { compareTraces } from "../comparisons.ts";
import type { Group } from "../dispatcher.ts";

/**
 * Whether the gates keep the group out: all its advantages, as rewards minus the mean of what they are compared with, lie in
 * `advantage_range`. With 0 and 0 that is DAPO's dynamic sampling: groups without a signal under any baseline of the group. A group without
 * a reward passes: it is dropped as errored, not as useless.
 */
export function isRejected(group: Group, { advantage_range: range }: CurriculumBlock["gates"]): boolean {
  if (range === null) return false;
  const deviations = compareTraces([group]).flatMap(({ rewards }) => {
    const valid = rewards.filter((reward) => !Number.isNaN(reward));
    // Distances to the first reward: equal rewards are exactly 0 apart.
    const first = valid[0] ?? 0;
    const offset = valid.reduce((sum, reward) => sum + (reward - first), 0) / valid.length;
    return valid.map((reward) => reward - first - offset);
  });
  const isInside = (deviation: number) => deviation >= range.reject_min && deviation <= range.reject_max;
  return deviations.length > 0 && deviations.every(isInside);
}
