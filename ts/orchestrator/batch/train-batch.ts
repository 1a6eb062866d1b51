/** Makes a trainer's batch of completed groups: rewards become advantages, rollouts samples, and samples bins. */

import type { RlConfig } from "../../config/index.ts";
import type { EpisodeTrace } from "../../environments/index.ts";
import { type FlopModel, type PackedBatch, SampleSet, type TraceColumns } from "../../native/index.ts";
import { meanAdvantage, type Advantage, lossStreamsOf } from "../../algorithms/internal.ts";
import { compareTraces } from "./comparisons.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import { rejectingFilter, type TraceFilter } from "../filters/index.ts";
import type { ReferenceScores } from "./reference-scores.ts";
import { Pauses } from "../../async/yield.ts";
import { AdvantageEstimation } from "./advantage-estimation.ts";

export interface TrainBatch {
  /** One batch per rank, in native memory; empty when there are no samples. */
  batches: PackedBatch[];
  /** Names of the run's sources, in the same order for every batch: `envIds` index them. */
  envNames: string[];
  /** Rewards by comparison (`comparisons.ts`: the rollouts of a group where there is one agent); NaN where the rollout ended in an error. */
  rewards: number[][];
  advantages: number[][];
  /** Advantages by group, rollout and trace; undefined where a trace does not train. */
  traceAdvantages: (number | undefined)[][][];
  /** Samples in the batch. */
  samples: number;
  /** Traces that the samples were made of. */
  trained: ReadonlySet<EpisodeTrace>;
  /** Traces left out because they teach nothing: their advantage is 0, or their reward is too low to be learnt. */
  zeroAdvantage: number;
  /** Traces that filters looked at. */
  scored: number;
  filtered: ReadonlyMap<string, number>;
}

const NO_COLUMNS: TraceColumns = {
  tokenIds: new Uint32Array(0),
  mask: new Uint8Array(0),
  logprobs: new Float32Array(0),
  versionSpans: new Uint32Array(0),
  branchOffsets: Uint32Array.of(0),
};

/** The ranks that a step is packed for. */
export interface TrainRanks {
  /** Data-parallel ranks of the trainer; each gets a batch of as many bins. */
  ranks: number;
  /** Balances the ranks by the model's operations; unset: by tokens. */
  cost?: FlopModel;
}

export interface TrainBatchOptions {
  config: RlConfig;
  /** Kept from batch to batch. Default: one that has seen no batch. */
  estimation?: AdvantageEstimation;
  /** Default: none. */
  filters?: readonly TraceFilter[];
  /** Default: one rank. */
  trainRanks?: TrainRanks | undefined;
  /** Default: no trace was scored. */
  references?: Pick<ReferenceScores, "of">;
}

/**
 * Builds the batch of a step from `groups`, in the order given. Rollouts that ended in an error neither train nor count in their group's
 * statistics. With `filter_zero_advantages` samples without a signal are left out, which makes the batch smaller.
 */
export async function buildTrainBatch(
  groups: readonly Group[],
  { config, trainRanks = { ranks: 1 }, filters = [], references, estimation: kept }: TrainBatchOptions,
): Promise<TrainBatch> {
  const estimation = kept ?? new AdvantageEstimation(config.orchestrator.train.source);
  const { ranks, cost } = trainRanks;
  const { train, filter_zero_advantages: filterZero } = config.orchestrator;
  const { temperature } = train.sampling;
  const pauses = new Pauses();
  const comparisons = compareTraces(groups);
  const rewards = comparisons.map((comparison) => comparison.rewards);
  if (pauses.isDue) await pauses.next();
  const estimates = await estimation.advantages(comparisons, groups);
  const algos = new Map(train.source.map(({ name, algo }) => [name, algo]));
  const traceAdvantages: (number | undefined)[][][] = groups.map(({ rollouts }) => rollouts.map(() => []));
  const envNames = train.source.map(({ name }) => name).toSorted();
  const values = rewards.map((group) => group.map(() => 0));
  const chosen = new SampleSet();
  const trained = new Set<EpisodeTrace>();
  let zeroAdvantage = 0;
  let scored = 0;
  const filtered = new Map(filters.map(({ name }) => [name, 0]));
  for (const [c, { members }] of comparisons.entries()) {
    for (const [m, { group: g, rollout, trace }] of members.entries()) {
      if (pauses.isDue) await pauses.next();
      const group = groups[g];
      const { samples = null, episode } = group?.rollouts[rollout] ?? {};
      const estimated: Advantage = estimates[c]?.[m] ?? 0;
      if (group === undefined || episode === undefined) continue;
      if (Number.isNaN(rewards[c]?.[m])) continue;
      const columns = (): TraceColumns => (copy ??= samples === null ? NO_COLUMNS : samples.columnsOf(trace));
      let copy: TraceColumns | undefined;
      const advantage = meanAdvantage(estimated, columns);
      (values[c] ?? [])[m] = advantage;
      (traceAdvantages[g]?.[rollout] ?? [])[trace] = advantage;
      const traced = episode.traces[trace];
      const algo = algos.get(group.task.source);
      if (samples === null || traced === undefined || algo === undefined) continue;
      scored++;
      const count = (name: string) => filtered.set(name, (filtered.get(name) ?? 0) + 1);
      if (rejectingFilter(filters, { trace: traced, advantage, columns }, count) !== undefined) continue;
      const reference = references?.of(samples, trace) ?? null;
      const taught = lossStreamsOf(algo, { trace: traced, advantage: estimated, columns, reference }, filterZero);
      if (taught === null) {
        zeroAdvantage++;
        continue;
      }
      const envId = envNames.indexOf(group.task.source);
      trained.add(traced);
      chosen.add(samples, { advantage, temperature, envId }, trace, taught.streams);
    }
  }
  const samples = chosen.size;
  const batches = await chosen.pack({ seqLen: config.seq_len, ranks, ...(cost === undefined ? {} : { cost }) });
  return {
    batches,
    envNames,
    rewards,
    advantages: values,
    traceAdvantages,
    samples,
    trained,
    zeroAdvantage,
    scored,
    filtered,
  };
}
