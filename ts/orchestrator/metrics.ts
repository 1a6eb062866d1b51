/** What the orchestrator logs of a step, under prime-rl's names. */

import { type EpisodeTrace, rewardOf } from "../environments/index.ts";
import type { Group } from "./dispatcher.ts";
import { dropMetrics, type DropReport } from "./drops.ts";
import { mean } from "./mean.ts";
import type { TrainBatch } from "./train-batch.ts";

export interface StepReport {
  step: number;
  groups: readonly Group[];
  /** Whether a group becomes older with every step. */
  ages: (group: Group) => boolean;
  batch: TrainBatch;
  /** Since the last step. */
  dropped: DropReport;
  /** From the first wait to the batch being durable. */
  seconds: number;
  /** Sources of the run. */
  environments: number;
}

export async function stepMetrics({
  step,
  groups,
  ages,
  batch,
  dropped,
  seconds,
  environments,
}: StepReport): Promise<Record<string, number>> {
  const episodes = groups.flatMap((group) => group.rollouts.map(({ episode }) => episode));
  const traces = episodes.filter(({ ok }) => ok).flatMap((episode) => episode.traces);
  const staleness = groups.filter(ages).map((group) => step - 1 - group.oldestVersion);
  const total = (count: (trace: EpisodeTrace) => number) => traces.reduce((sum, trace) => sum + count(trace), 0);
  const statistics = dropped.ended;
  await statistics.addShipped(groups, batch.trained);
  const values: Record<string, number> = {
    ...statistics.metrics(environments),
    ...(staleness.length > 0 && { "off_policy/mean": mean(staleness), "off_policy/max": Math.max(...staleness) }),
    "time/group/mean": mean(groups.map(({ seconds: own }) => own)),
    ...dropMetrics(dropped),
    "curriculum/admission_rate": groups.length / (groups.length + dropped.groups.rejected),
    "progress/tokens": batch.batches.reduce((sum, rank) => sum + rank.tokens, 0),
    "progress/input_tokens": total(({ usage }) => usage.prompt_tokens),
    "progress/output_tokens": total(({ usage }) => usage.completion_tokens),
    "progress/rollouts": episodes.length,
    "progress/tasks": new Set(groups.map(({ task }) => `${task.source} ${task.task.key}`)).size,
    "batch/rollouts": batch.samples,
    "batch/zero_advantage": batch.zeroAdvantage,
    "time/step": seconds,
  };
  for (const [name, found] of batch.filtered) values[`filters/${name}`] = found / Math.max(1, batch.scored);
  if (environments > 1) {
    for (const name of batch.envNames) {
      const own = groups.filter(({ task }) => task.source === name).flatMap(({ rollouts }) => rollouts);
      const trained = own.flatMap(({ episode }) => episode.traces.filter((trace) => batch.trained.has(trace)));
      values[`batch/${name}`] = trained.length / Math.max(1, batch.trained.size);
    }
  }
  for (const name of new Set(traces.flatMap(({ metrics }) => Object.keys(metrics)))) {
    // Times that the framework takes itself are no environment's.
    if (name.startsWith("timing/")) values[name] = mean(traces.flatMap(({ metrics }) => metrics[name] ?? []));
  }
  return values;
}

/** Over the rollouts that have a reward. */
export function meanReward({ rollouts }: Pick<Group, "rollouts">): number {
  const rewards = rollouts.map(({ episode }) => rewardOf(episode)).filter((reward) => !Number.isNaN(reward));
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}
