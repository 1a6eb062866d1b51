/** From completed groups to a trainer's batch: rewards to advantages, traces to samples, samples to bins. */

import type { RlConfig } from "../config/index.ts";
import { buildBatch, packSequences, type Batch, type Sample } from "../native/index.ts";
import { advantages as estimateAdvantages } from "./algorithms/index.ts";
import type { Episode, TraceColumns } from "../environments/index.ts";
import type { Group } from "./dispatcher.ts";

export interface TrainBatch {
  /** One per rank; none when there are no samples. */
  batches: Batch[];
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
export function buildTrainBatch(groups: readonly Group[], config: RlConfig): TrainBatch {
  const { algo, train, filter_zero_advantages: filterZero } = config.orchestrator;
  const { type, ...params } = algo;
  const rewards = groups.map((group) => group.rollouts.map(({ episode }) => rewardOf(episode)));
  const values = estimateAdvantages(type, rewards, params);
  const envNames = [...new Set(groups.map((group) => group.task.source))].toSorted();
  const samples: Sample[] = [];
  let zeroAdvantage = 0;
  for (const [g, group] of groups.entries()) {
    const envId = envNames.indexOf(group.task.source);
    for (const [i, { episode, columns }] of group.rollouts.entries()) {
      const advantage = values[g]?.[i] ?? 0;
      if (Number.isNaN(rewardOf(episode))) continue;
      if (filterZero && advantage === 0) {
        zeroAdvantage++;
        continue;
      }
      for (const branch of columns.flatMap(branchesOf)) {
        const advantages = Float32Array.from(branch.mask, (sampled) => (sampled === 1 ? advantage : 0));
        samples.push({ ...branch, advantages, temperature: train.sampling.temperature, envId });
      }
    }
  }
  const { seq_len: seqLen } = config;
  const lengths = samples.map((sample) => sample.tokenIds.length);
  const plan = packSequences(lengths, { seqLen });
  return {
    batches: samples.length === 0 ? [] : buildBatch(samples, plan, { seqLen }),
    envNames,
    rewards,
    advantages: values,
    samples: samples.length,
    zeroAdvantage,
  };
}

/** Reward of an episode: that of its traces, summed. NaN when it has none: it ended in an error, or nothing was sampled. */
export function rewardOf({ ok, traces }: Episode): number {
  if (!ok || traces.length === 0) return Number.NaN;
  return traces.reduce((sum, { reward }) => sum + (reward ?? Number.NaN), 0);
}

type Branch = Pick<Sample, "tokenIds" | "mask" | "logprobs" | "policyVersionSpans">;

/** Each root-to-leaf branch of a trace: one training sample. */
export function branchesOf({ tokenIds, mask, logprobs, versionSpans, branchOffsets }: TraceColumns): Branch[] {
  return Array.from({ length: branchOffsets.length - 1 }, (_, b) => {
    const [from, to] = [branchOffsets[b] ?? 0, branchOffsets[b + 1] ?? 0];
    return {
      tokenIds: tokenIds.subarray(from, to),
      mask: mask.subarray(from, to),
      logprobs: logprobs.subarray(from, to),
      policyVersionSpans: spansWithin(versionSpans, from, to),
    };
  });
}

/** The version spans of tokens `from` to `to`, counted from `from`. Spans are cut at branch starts, so none begins before `from`. */
function spansWithin(spans: Uint32Array, from: number, to: number): Uint32Array {
  const within: number[] = [];
  for (let k = 0; k + 1 < spans.length; k += 2) {
    const start = spans[k] ?? 0;
    if (start >= from && start < to) within.push(start - from, spans[k + 1] ?? 0);
  }
  return Uint32Array.from(within);
}
