/**
 * The groups of a run between their opening and their one end, and how much of them counts.
 *
 * Lifecycle, budget and report of a group change together, because nothing else ends a group: it is shipped, or it is dropped with a reason. Each change
 * that may let another group be opened ends in a `fill` of the dispatcher. The pool knows nothing of rewards, gates, weights, or of
 * how a batch is made.
 */
import type { RlConfig } from "../../config/index.ts";
import { Changes } from "../../async/changes.ts";
import type { BatchQueue } from "../batch/batch-queue.ts";
import type { Group, GroupDispatcher } from "./dispatcher.ts";
import type { DropReason, Lifecycle } from "./lifecycle.ts";
import type { Recycling } from "./recycling.ts";
import type { SamplingBudget } from "./sampling-budget.ts";
import type { Staleness } from "./staleness.ts";
import type { TrainTask } from "./tasks.ts";

export interface GroupPoolOptions {
  budget: SamplingBudget;
  dispatcher: GroupDispatcher;
  lifecycle: Lifecycle;
  queue: BatchQueue;
  recycling: Recycling;
  recycle: RlConfig["orchestrator"]["recycle"];
  staleness: Staleness;
  /** Called when groups were dropped, before others are opened in their place. */
  onDropped: (reason: DropReason, groups: readonly Group[]) => void;
}

export class GroupPool {
  readonly #options: GroupPoolOptions;
  /** Changes when a group completed, or a version is in place. */
  readonly #changes = new Changes();
  /** Groups that the run did not need at its end. */
  #surplus: Group[] = [];

  constructor(options: GroupPoolOptions) {
    this.#options = options;
  }

  /** The version is in place: groups are opened under it from now on. */
  set version(version: number) {
    const { budget, dispatcher } = this.#options;
    budget.version = dispatcher.version = version;
    this.announce();
  }

  /** Only a new version helps: nothing is under way and nothing may be begun, or a batch is ready and must not be assembled yet. */
  get needsVersion(): boolean {
    const { budget, dispatcher, queue } = this.#options;
    if (dispatcher.oldestOpen === undefined && !budget.mayOpen()) return true;
    return !budget.mayAssemble() && queue.units >= budget.batchSize;
  }

  /** Resolves at the next change that may make a batch complete, after `ms`, or when the signal is aborted. */
  async nextChange(ms: number, signal: AbortSignal): Promise<void> {
    await this.#changes.next(ms, signal);
  }

  /** Opens what may be opened, and wakes who waits for a change. */
  announce(): void {
    this.#options.dispatcher.fill();
    this.#changes.announce();
  }

  /** All rollouts of the group have come back. Returns its units, which count from now on. */
  ended({ index, task, rollouts }: Group): number {
    const { budget, recycling } = this.#options;
    recycling.completed(rollouts);
    const tokens = rollouts.flatMap(({ samples }) => samples?.tokens ?? []);
    const units = budget.sizeOf(
      task.groupSize,
      tokens.reduce((sum, count) => sum + count, 0),
    );
    budget.ended(index, units, tokens.length);
    return units;
  }

  /** The group waits for a batch. */
  enqueue(group: Group, units: number): void {
    this.#options.queue.push(group, units);
  }

  /** The groups of the next batch, to which they belong from now on; undefined when there is none yet. Drops what is too old for it. */
  takeBatch(): Group[] | undefined {
    const { dispatcher, lifecycle, queue } = this.#options;
    this.dropStale();
    const groups = queue.takeBatch(dispatcher.oldestOpen);
    for (const { index } of groups ?? []) lifecycle.move(index, "assembled");
    return groups;
  }

  /**
   * The batch of these groups becomes visible to the trainer next. The budget counts it as shipped from here on, because its version, and what is opened
   * under that, may come before this process knows that the trainer has the batch.
   */
  ships(groups: readonly Group[]): void {
    this.#options.budget.shipped(groups.map(({ index }) => index));
  }

  /** The batch of these groups is with the trainer. */
  shipped(groups: readonly Group[]): void {
    const { dispatcher, lifecycle, recycle } = this.#options;
    for (const { index } of groups) lifecycle.move(index, "shipped");
    if (recycle === "tails") this.#cancelTails();
    dispatcher.fill();
  }

  drop(reason: DropReason, groups: readonly Group[]): void {
    if (groups.length === 0) return;
    const { budget, dispatcher, lifecycle, onDropped } = this.#options;
    for (const { index } of groups) {
      const state = lifecycle.stateOf(index);
      lifecycle.drop(index, reason);
      budget.dropped(index, state === "sampling" || state === "scoring");
    }
    onDropped(reason, groups);
    dispatcher.fill();
  }

  /** Drops groups that are too old for the batch being collected: those under way are cancelled, those that wait are removed. */
  dropStale(): void {
    const { dispatcher, queue, recycle, recycling, staleness } = this.#options;
    const { oldestVersion, ages } = staleness;
    const cancelled = dispatcher.cancelOlderThan(oldestVersion, ages);
    if (recycle !== "off") for (const group of cancelled) recycling.cancelled(group);
    this.drop("stale", [...cancelled, ...queue.takeOlderThan(oldestVersion, ages)]);
  }

  /** Opens nothing more, and drops what was sampled for tails and for batches after the last one. */
  dropSurplus(): void {
    const { dispatcher, queue } = this.#options;
    this.#surplus = [...dispatcher.stop(), ...queue.takeOlderThan(Infinity)];
    this.drop("surplus", this.#surplus);
  }

  /**
   * The state for a run that samples again what was not trained on: the groups in the pool, and those of batches that are `ahead` of the
   * checkpoint.
   */
  snapshot(ahead: readonly Pick<Group, "index" | "task">[]): { opened: number; pending: TrainTask[] } {
    const { dispatcher, queue, recycling } = this.#options;
    return dispatcher.snapshot([...ahead, ...queue.groups, ...this.#surplus, ...recycling.pending]);
  }

  /** Cancels what is sampled beyond the next batch's units; the tasks come back with the next version. */
  #cancelTails(): void {
    const { budget, dispatcher, recycling } = this.#options;
    const isTail = ({ index }: Group): boolean => budget.isExcess(index);
    for (let group = dispatcher.cancelYoungest(isTail); group !== undefined;) {
      recycling.cancelled(group);
      this.drop("tail", [group]);
      group = dispatcher.cancelYoungest(isTail);
    }
  }
}
