/** A completed group of training rollouts, made up. */
import type { ReceivedEpisode } from "../../../ts/environments/internal.ts";
import type { Group } from "../../../ts/orchestrator/scheduling/dispatcher.ts";

/** Task `k` of the source `b`, begun under version 3 and under way for two seconds, where `given` does not say otherwise. */
export function trainGroup(
  rollouts: ReceivedEpisode[],
  given: { index?: number; source?: string; dispatchVersion?: number; oldestVersion?: number } = {},
): Group {
  const { index = 0, source = "b", dispatchVersion = 3, oldestVersion = dispatchVersion } = given;
  const task = { key: "k", hash: "", data: null };
  return {
    index,
    id: `group-${index}`,
    task: { source, task, epoch: 0, groupSize: rollouts.length, scoresGroups: false },
    dispatchVersion,
    oldestVersion,
    firstIndex: index,
    seconds: 2,
    rollouts,
  };
}
