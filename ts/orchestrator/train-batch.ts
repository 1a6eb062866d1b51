/** From completed groups to a trainer's batch: rewards to advantages, rollouts to samples, samples to bins. */

import type { RlConfig } from "../config/index.ts";
import { SampleSet, type PackedBatch } from "../native/index.ts";
import { advantages as estimateAdvantages } from "./algorithms/index.ts";
import type { Episode } from "../environments/index.ts";
import type { Group } from "./dispatcher.ts";

export interface TrainBatch {
  /** One per rank, in native memory; none when there are no samples. */
  batches: PackedBatch[];
  envNames: string[];
  /** By group and sample; NaN where the rollout ended in an error. */
  rewards: number[][];
  advantages: number[][];
  /** Samples in the batch. */
  samples: number;
  /** Rollouts left out because their advantage is 0. */
  zeroAdvantage: number;
}

/**
 * Builds the batch of a step from `groups`, in the order given. Rollouts that ended in an error neither train nor count in their group's
 * statistics. With `filter_zero_advantages` samples without a signal are left out, and the batch is so much smaller.
 */
export async function buildTrainBatch(groups: readonly Group[], config: RlConfig): Promise<TrainBatch> {
  const { algo, train, filter_zero_advantages: filterZero } = config.orchestrator;
  const { temperature } = train.sampling;
  const { type, ...params } = algo;
  const rewards = groups.map((group) => group.rollouts.map(({ episode }) => rewardOf(episode)));
  const values = estimateAdvantages(type, rewards, params);
  const envNames = [...new Set(groups.map((group) => group.task.source))].toSorted();
  const chosen = new SampleSet();
  let zeroAdvantage = 0;
  for (const [g, group] of groups.entries()) {
    const envId = envNames.indexOf(group.task.source);
    for (const [i, { episode, samples }] of group.rollouts.entries()) {
      const advantage = values[g]?.[i] ?? 0;
      if (Number.isNaN(rewardOf(episode)) || samples === null) continue;
      if (filterZero && advantage === 0) {
        zeroAdvantage++;
        continue;
      }
      chosen.add(samples, { advantage, temperature, envId });
    }
  }
  const samples = chosen.size;
  const batches = await chosen.pack({ seqLen: config.seq_len });
  return { batches, envNames, rewards, advantages: values, samples, zeroAdvantage };
}

/** Reward of an episode: that of its traces, summed. NaN when it has none: it ended in an error, or nothing was sampled. */
export function rewardOf({ ok, traces }: Episode): number {
  if (!ok || traces.length === 0) return Number.NaN;
  return traces.reduce((sum, { reward }) => sum + (reward ?? Number.NaN), 0);
}
