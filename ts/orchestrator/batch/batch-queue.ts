/**
 * Completed groups that wait for a batch.
 *
 * Above level 0 a batch is made of the groups that ended first, or, with a window, from those that were opened first: no group is taken while one
 * that was opened `window` or more groups earlier is still under way. So a short group can overtake a long one only so far, and what is trained early
 * leans to short samples by no more than a window. At level 0 a batch is everything that was opened for it, in that order.
 */
import type { SamplingBudget } from "../scheduling/sampling-budget.ts";
import type { Group } from "../scheduling/dispatcher.ts";

export interface BatchQueueOptions {
  level: number;
  /** Size of the window in groups; Infinity: first come, first trained. */
  window: number;
}

interface Waiting {
  readonly group: Group;
  readonly units: number;
}

export class BatchQueue {
  readonly #budget: SamplingBudget;
  readonly #options: BatchQueueOptions;
  #waiting: Waiting[] = [];

  constructor(budget: SamplingBudget, options: BatchQueueOptions) {
    this.#budget = budget;
    this.#options = options;
  }

  get groups(): Group[] {
    return this.#waiting.map(({ group }) => group);
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Size of the waiting groups, in units of a batch. */
  get units(): number {
    return this.#waiting.reduce((sum, { units }) => sum + units, 0);
  }

  push(group: Group, units: number): void {
    this.#waiting.push({ group, units });
  }

  /** Removes and returns the groups that age and have an older version. */
  takeOlderThan(version: number, ages: (group: Group) => boolean = () => true): Group[] {
    return this.#take(({ group }) => group.oldestVersion < version && ages(group));
  }

  /** The next batch in its order, if there is one; `oldestOpen`: lowest index of a group under way, undefined when no group is. */
  takeBatch(oldestOpen: number | undefined): Group[] | undefined {
    if (!this.#budget.mayAssemble()) return undefined;
    if (this.#options.level === 0) {
      // Chance decides which groups end first. No more are opened than the batch needs, so the batch takes all of them.
      if (oldestOpen !== undefined || this.#budget.mayOpen()) return undefined;
      if (this.#budget.batchOf(this.#waiting.map(({ units }) => units)) === undefined) return undefined;
      return this.#take(() => true).sort((a, b) => a.index - b.index);
    }
    const { window } = this.#options;
    const eligible = this.#waiting.filter(({ group }) => group.index < (oldestOpen ?? Infinity) + window);
    if (window !== Infinity) eligible.sort((a, b) => a.group.index - b.group.index);
    const count = this.#budget.batchOf(eligible.map(({ units }) => units));
    if (count === undefined) return undefined;
    const chosen = eligible.slice(0, count);
    const taken = new Set(chosen);
    this.#waiting = this.#waiting.filter((waiting) => !taken.has(waiting));
    return chosen.map(({ group }) => group);
  }

  #take(isTaken: (waiting: Waiting) => boolean): Group[] {
    const taken = this.#waiting.filter(isTaken);
    if (taken.length > 0) this.#waiting = this.#waiting.filter((waiting) => !isTaken(waiting));
    return taken.map(({ group }) => group);
  }
}
