/**
 * Writes what happens on the way to each batch: an event for groups that are dropped and for a batch without samples, and one line of metrics when
 * the batch is with the trainer; the line is made before that, because a snapshot of the run has it.
 *
 * A line counts what was dropped since the batch before it was assembled. This class decides nothing.
 */
import type { Metrics } from "../../monitors/index.ts";
import { firstError } from "../batch/starvation.ts";
import type { TrainBatch } from "../batch/train-batch.ts";
import { type ProgressCounts, progressMetrics } from "../checkpoint/progress.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import type { DropReason } from "../scheduling/lifecycle.ts";
import type { Staleness } from "../scheduling/staleness.ts";
import { type DropReport, Drops } from "./drops.ts";
import { stepMetrics } from "./metrics.ts";

export interface StepLogOptions {
  metrics: Metrics;
  staleness: Staleness;
  /** Sources of the run. */
  environments: number;
  /** Metrics of the run's parts: their state now, and what they counted since the last call. */
  state: () => Record<string, number>;
}

/** A batch that is assembled. */
export interface ShippedBatch {
  step: number;
  groups: readonly Group[];
  batch: TrainBatch;
  /** Groups dropped since the last step. */
  dropped: DropReport;
  /** The progress of this step, and the sum up to it. */
  progress: ProgressCounts;
  total: ProgressCounts;
  /** From the first wait until now. */
  seconds: number;
  packSeconds: number;
  /** Seconds in which nothing but a new version could help. */
  waitedForPolicy: number;
}

export class StepLog {
  readonly #options: StepLogOptions;
  readonly #drops = new Drops();

  constructor(options: StepLogOptions) {
    this.#options = options;
  }

  dropped(reason: DropReason, groups: readonly Group[]): void {
    const { metrics, staleness } = this.#options;
    this.#drops.add(reason, groups);
    const error = firstError(groups);
    const why = error === undefined ? {} : { code: error.code, message: error.message };
    metrics.event("groups_dropped", { reason, groups: groups.length, step: staleness.step, ...why });
  }

  /** Groups that were dropped since the last call. */
  takeDropped(): DropReport {
    return this.#drops.take();
  }

  emptyBatch(groups: readonly Group[]): void {
    const { metrics, staleness } = this.#options;
    metrics.event("empty_batch", { step: staleness.step, groups: groups.length });
  }

  /** The metrics of a batch that is about to be sent. */
  async lineOf(shipped: ShippedBatch): Promise<Record<string, number>> {
    const { staleness, environments, state } = this.#options;
    const { step, groups, batch, dropped, seconds } = shipped;
    const ofStep = await stepMetrics({ step, groups, ages: staleness.ages, batch, dropped, seconds, environments });
    return {
      ...ofStep,
      ...progressMetrics(shipped.progress, shipped.total),
      "time/pack": shipped.packSeconds,
      "time/wait_for_policy": shipped.waitedForPolicy,
      ...state(),
    };
  }

  /** The batch is with the trainer, `seconds` after the first wait for it. */
  shipped(step: number, line: Readonly<Record<string, number>>, seconds: number): void {
    this.#options.metrics.log(step, { ...line, "time/step": seconds });
  }

  /** Logs the line of a batch that an earlier process has sent; null is a number that was not finite. */
  shippedEarlier(step: number, line: Readonly<Record<string, number | null>>): void {
    const values = Object.entries(line).map(([name, value]) => [name, value ?? Number.NaN] as const);
    this.#options.metrics.log(step, Object.fromEntries(values));
  }
}
