/** The rewards of a strategy over the tasks on which it was tried, as shares of the rewards of their gold replies. */
export interface Tried {
  readonly task: string;
  readonly reply: string;
}

/** Sums of weighted rewards differ in their last digits. */
const EPSILON = 1e-9;

export class Standing {
  readonly name: string;
  #count = 0;
  #earned = 0;
  #full = 0;
  #best = -Infinity;
  #example: Tried = { task: "", reply: "" };

  constructor(name: string) {
    this.name = name;
  }

  add(reward: number, gold: number, tried: Tried): void {
    this.#count += 1;
    this.#earned += reward / gold;
    if (reward >= gold - EPSILON) this.#full += 1;
    if (reward / gold <= this.#best) return;
    this.#best = reward / gold;
    this.#example = tried;
  }

  /** Mean over its tasks. */
  get earned(): number {
    return this.#earned / Math.max(1, this.#count);
  }

  /** Share of its tasks with all that the gold reply earns. */
  get full(): number {
    return this.#full / Math.max(1, this.#count);
  }

  /** The task and the reply that earned most. */
  get example(): Tried {
    return this.#example;
  }

  get text(): string {
    const full = this.#full === 0 ? "" : `, all on ${this.#full} of ${this.#count} tasks`;
    return `${this.earned.toFixed(2)} by ${this.name}${full}`;
  }
}

/** By the name of the strategy. */
export type Standings = Map<string, Standing>;
