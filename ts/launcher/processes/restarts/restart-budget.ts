/**
 * How often the processes that hold the run's state may be lost: so many times for each kind within a window of time.
 *
 * The pause before a restart doubles with each loss that comes soon after the one before. The budget knows nothing of processes and their ends.
 */
export interface BudgetLimits {
  /** Restarts of one kind within the window; 0: none at all. */
  most: number;
  windowMs: number;
}

/** A loss that may be made good. */
export interface Allowance {
  /** Pause before the restart. */
  pauseMs: number;
  /** Losses of this kind within the window, this one included. */
  losses: number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** A loss this long after the one before has another cause, most likely. */
const LONG_LIFE_MS = 30_000;

interface Kind {
  /** Times of the losses within the window. */
  times: number[];
  /** Losses in a row, each soon after the one before. */
  early: number;
}

export class RestartBudget {
  readonly limits: BudgetLimits;
  readonly #clock: () => number;
  readonly #kinds = new Map<string, Kind>();
  readonly #spent = new Set<string>();

  constructor(limits: BudgetLimits, clock: () => number = () => performance.now()) {
    this.limits = limits;
    this.#clock = clock;
  }

  /** Counts a loss; null when the budget of its kind is spent. */
  take(kind: string): Allowance | null {
    const now = this.#clock();
    const { times: all, early } = this.#kinds.get(kind) ?? { times: [], early: 0 };
    const isEarly = now - (all.at(-1) ?? -Infinity) < LONG_LIFE_MS;
    const times = all.filter((time) => now - time < this.limits.windowMs);
    if (times.length >= this.limits.most) {
      this.#spent.add(kind);
      return null;
    }
    const found = { times: [...times, now], early: isEarly ? early + 1 : 1 };
    this.#kinds.set(kind, found);
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (found.early - 1));
    return { pauseMs, losses: found.times.length };
  }

  /** Whether a loss of this kind was refused. */
  isSpent(kind: string): boolean {
    return this.#spent.has(kind);
  }
}
