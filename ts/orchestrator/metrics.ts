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
}

export function stepMetrics({ step, groups, ages, batch, dropped, seconds }: StepReport): Record<string, number> {
  const episodes = groups.flatMap((group) => group.rollouts.map(({ episode }) => episode));
  const good = episodes.filter((episode) => !Number.isNaN(rewardOf(episode)));
  const traces = good.flatMap((episode) => episode.traces);
  const staleness = groups.filter(ages).map((group) => step - 1 - group.oldestVersion);
  const tokens = batch.batches.reduce((sum, rank) => sum + rank.tokens, 0);
  const spread = batch.rewards.map((rewards) => new Set(rewards.filter((reward) => !Number.isNaN(reward))));
  const values: Record<string, number> = {
    "train/agg/all/agent/reward/mean": mean(good.map(rewardOf)),
    "train/agg/all/num_output_tokens/mean": mean(traces.map(({ usage }) => usage.completion_tokens)),
    "train/agg/all/is_truncated/mean": mean(traces.map((trace) => (trace.is_truncated ? 1 : 0))),
    "train/agg/all/has_error/mean": 1 - good.length / Math.max(1, episodes.length),
    "train/agg/all/zero_variance_groups/mean": mean(spread.map((rewards) => (rewards.size <= 1 ? 1 : 0))),
    ...(staleness.length > 0 && { "off_policy/mean": mean(staleness), "off_policy/max": Math.max(...staleness) }),
    "time/group/mean": mean(groups.map(({ seconds: own }) => own)),
    ...dropMetrics(dropped),
    "curriculum/admission_rate": groups.length / (groups.length + dropped.groups.rejected),
    "progress/tokens": tokens,
    "progress/rollouts": episodes.length,
    "batch/rollouts": batch.samples,
    "batch/zero_advantage": batch.zeroAdvantage,
    "time/step": seconds,
  };
  for (const [name, found] of batch.filtered) values[`filters/${name}`] = found / Math.max(1, batch.scored);
  for (const [agent, own] of byAgent(traces)) {
    values[`train/agg/all/${agent}/reward/mean`] = mean(own.flatMap(({ reward }) => reward ?? []));
  }
  for (const name of new Set(traces.flatMap(({ metrics }) => Object.keys(metrics)))) {
    // Times that the framework takes itself are no environment's.
    const key = name.startsWith("timing/") ? name : `train/agg/all/metrics/${name}/mean`;
    values[key] = mean(traces.flatMap(({ metrics }) => metrics[name] ?? []));
  }
  return values;
}

/** Traces of each agent where there are several; of a sole one the reward is that of the episodes. */
export function byAgent(traces: readonly EpisodeTrace[]): [string, EpisodeTrace[]][] {
  const agents = [...new Set(traces.map(({ agent }) => agent))].toSorted();
  return agents.length < 2 ? [] : agents.map((agent) => [agent, traces.filter((trace) => trace.agent === agent)]);
}

/** Over the rollouts that have a reward. */
export function meanReward({ rollouts }: Pick<Group, "rollouts">): number {
  const rewards = rollouts.map(({ episode }) => rewardOf(episode)).filter((reward) => !Number.isNaN(reward));
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}
