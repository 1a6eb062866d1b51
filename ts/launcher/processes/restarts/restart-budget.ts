/**
 * How often the processes that hold the run's state may be lost: so many times for each kind within a window of time.
 *
 * A process that was of use before it was lost, or was there for long, is started again at once; the others wait (`BackOff`). The window counts all
 * losses. The budget knows nothing of processes and their ends.
 */
import { BackOff } from "./back-off.ts";

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

/** A loss this long after the one before has another cause, most likely. */
const LONG_LIFE_MS = 30_000;

interface Kind {
  /** Times of the losses within the window. */
  times: number[];
  readonly backOff: BackOff;
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

  /** Counts a loss; null when the budget of its kind is spent. `wasUseful`: the process had brought the run further since its start. */
  take(kind: string, wasUseful: boolean): Allowance | null {
    const now = this.#clock();
    const { times: all, backOff } = this.#kinds.get(kind) ?? { times: [], backOff: new BackOff() };
    const wasLong = now - (all.at(-1) ?? -Infinity) >= LONG_LIFE_MS;
    const times = all.filter((time) => now - time < this.limits.windowMs);
    if (times.length >= this.limits.most) {
      this.#spent.add(kind);
      return null;
    }
    times.push(now);
    this.#kinds.set(kind, { times, backOff });
    return { pauseMs: backOff.lost(wasUseful || wasLong), losses: times.length };
  }

  /** Whether a loss of this kind was refused. */
  isSpent(kind: string): boolean {
    return this.#spent.has(kind);
  }
}
