/** The metrics that the orchestrator logs for a step, under prime-rl's names. */

import { rewardOf } from "../../environments/records.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import { dropMetrics, type DropReport } from "./drops.ts";
import { mean } from "./rollout-statistics.ts";
import type { TrainBatch } from "../batch/train-batch.ts";

export interface StepReport {
  step: number;
  groups: readonly Group[];
  /** Whether a group becomes older with every step. */
  ages: (group: Group) => boolean;
  batch: TrainBatch;
  /** Groups dropped since the last step. */
  dropped: DropReport;
  /** From the first wait until the batch is durable. */
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
  const statistics = dropped.ended;
  await statistics.addShipped(groups, batch.trained);
  const values: Record<string, number> = {
    ...statistics.metrics(environments),
    ...stalenessMetrics(groups.filter(ages), step),
    "time/group/mean": mean(groups.map(({ seconds: own }) => own)),
    ...dropMetrics(dropped),
    "batch/tokens": batch.batches.reduce((sum, rank) => sum + rank.tokens, 0),
    "batch/rollouts": batch.samples,
    "batch/zero_advantage": batch.zeroAdvantage,
    "time/step": seconds,
  };
  for (const [name, found] of batch.filtered) values[`filters/${name}`] = found / Math.max(1, batch.scored);
  if (environments > 1) Object.assign(values, sharesOf(groups, batch));
  for (const name of new Set(traces.flatMap(({ metrics }) => Object.keys(metrics)))) {
    // Times that the framework measures belong to no environment.
    if (name.startsWith("timing/")) values[name] = mean(traces.flatMap(({ metrics }) => metrics[name] ?? []));
  }
  return values;
}

/**
 * How many versions behind its batch's the rollouts are that did not fail: in all, how many came while they were
 * sampled (`in_flight`), and how many since (`in_queue`). Empty where no group ages.
 */
function stalenessMetrics(groups: readonly Group[], step: number): Record<string, number> {
  const behind: { all: number[]; flight: number[]; queue: number[] } = { all: [], flight: [], queue: [] };
  for (const { oldestVersion, rollouts } of groups) {
    for (const { episode } of rollouts) {
      if (!episode.ok) continue;
      const all = Math.max(0, step - 1 - oldestVersion);
      const newest = episode.traces.reduce((most, { policy }) => Math.max(most, policy?.end ?? 0), oldestVersion);
      const flight = Math.min(all, newest - oldestVersion);
      behind.all.push(all);
      behind.flight.push(flight);
      behind.queue.push(all - flight);
    }
  }
  if (behind.all.length === 0) return {};
  const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0);
  return {
    "off_policy/mean": mean(behind.all),
    "off_policy/max": most(behind.all),
    "off_policy/in_flight/mean": mean(behind.flight),
    "off_policy/in_flight/max": most(behind.flight),
    "off_policy/in_queue/mean": mean(behind.queue),
    "off_policy/in_queue/max": most(behind.queue),
  };
}

/** The share of each source in the traces of the batch. */
function sharesOf(groups: readonly Group[], { trained, envNames }: TrainBatch): Record<string, number> {
  const counts = new Map(envNames.map((name) => [name, 0]));
  for (const { task, rollouts } of groups) {
    const own = rollouts.reduce((sum, { episode }) => sum + episode.traces.filter((one) => trained.has(one)).length, 0);
    counts.set(task.source, (counts.get(task.source) ?? 0) + own);
  }
  return Object.fromEntries([...counts].map(([name, own]) => [`batch/${name}`, own / Math.max(1, trained.size)]));
}

/** The mean over the rollouts that have a reward. */
export function meanReward({ rollouts }: Pick<Group, "rollouts">): number {
  const rewards = rollouts.map(({ episode }) => rewardOf(episode)).filter((reward) => !Number.isNaN(reward));
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}
