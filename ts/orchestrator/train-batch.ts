/** From completed groups to a trainer's batch: rewards to advantages, rollouts to samples, samples to bins. */

import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import {
  type FlopModel,
  type PackedBatch,
  type RolloutSamples,
  SampleSet,
  type TraceColumns,
} from "../native/index.ts";
import { compareTraces } from "./comparisons.ts";
import type { Group } from "./dispatcher.ts";
import { rejectingFilter, type TraceFilter } from "./filters/index.ts";
import { TraceWorth } from "./worth.ts";

export interface TrainBatch {
  /** One per rank, in native memory; none when there are no samples. */
  batches: PackedBatch[];
  envNames: string[];
  /** By comparison (`comparisons.ts`: the rollouts of a group where there is one agent); NaN where the rollout ended in an error. */
  rewards: number[][];
  advantages: number[][];
  /** By group, rollout and trace; undefined where a trace does not train. */
  traceAdvantages: (number | undefined)[][][];
  /** Samples in the batch. */
  samples: number;
  /** Traces left out because their advantage is 0. */
  zeroAdvantage: number;
  /** Traces that filters looked at, and how many each of them found. */
  scored: number;
  filtered: ReadonlyMap<string, number>;
}

/** For whom a step is packed. */
export interface TrainRanks {
  /** Data-parallel ranks of the trainer; each gets a batch of as many bins. */
  ranks: number;
  /** What the ranks are balanced by: the model's operations; unset: tokens. */
  cost?: FlopModel;
}

/**
 * Builds the batch of a step from `groups`, in the order given; `worth` outlives the batch. Rollouts that ended in an error neither train nor count in their group's
 * statistics. With `filter_zero_advantages` samples without a signal are left out, and the batch is so much smaller.
 */
export async function buildTrainBatch(
  groups: readonly Group[],
  config: RlConfig,
  worth = new TraceWorth(config.orchestrator.train.source),
  filters: readonly TraceFilter[] = [],
  { ranks, cost }: TrainRanks = { ranks: 1 },
): Promise<TrainBatch> {
  const { train, filter_zero_advantages: filterZero } = config.orchestrator;
  const { temperature } = train.sampling;
  const comparisons = compareTraces(groups);
  const rewards = comparisons.map((comparison) => comparison.rewards);
  const values = worth.advantages(comparisons, groups);
  const traceAdvantages: (number | undefined)[][][] = groups.map(({ rollouts }) => rollouts.map(() => []));
  const envNames = [...new Set(groups.map((group) => group.task.source))].toSorted();
  const chosen = new SampleSet();
  let zeroAdvantage = 0;
  let scored = 0;
  const filtered = new Map(filters.map(({ name }) => [name, 0]));
  for (const [c, { members }] of comparisons.entries()) {
    for (const [m, { group: g, rollout, trace }] of members.entries()) {
      const group = groups[g];
      const { samples = null, episode } = group?.rollouts[rollout] ?? {};
      const advantage = values[c]?.[m] ?? 0;
      if (group === undefined || episode === undefined) continue;
      if (Number.isNaN(rewards[c]?.[m])) continue;
      (traceAdvantages[g]?.[rollout] ?? [])[trace] = advantage;
      const traced = episode.traces[trace];
      if (samples === null || traced === undefined) continue;
      scored++;
      const columns = () => columnsOf(samples, trace);
      const count = (name: string) => filtered.set(name, (filtered.get(name) ?? 0) + 1);
      if (rejectingFilter(filters, { trace: traced, advantage, columns }, count) !== undefined) continue;
      if (filterZero && advantage === 0) {
        zeroAdvantage++;
        continue;
      }
      chosen.add(samples, { advantage, temperature, envId: envNames.indexOf(group.task.source) }, trace);
    }
  }
  const samples = chosen.size;
  const batches = await chosen.pack({ seqLen: config.seq_len, ranks, ...(cost === undefined ? {} : { cost }) });
  return { batches, envNames, rewards, advantages: values, traceAdvantages, samples, zeroAdvantage, scored, filtered };
}

function columnsOf(samples: RolloutSamples, trace: number): TraceColumns {
  const columns = samples.columns()[trace];
  if (columns === undefined) throw new PrlError("PRL_PACKING_INPUT", `the rollout has no columns of trace ${trace}`);
  return columns;
}
