/**
 * How many rollouts may be under way at once: the limit rises slowly and falls quickly, by the engines' own metrics.
 *
 * Each look at the engines changes the limit at most once:
 *
 * | what is seen                                                      | the limit becomes                                   |
 * | ----------------------------------------------------------------- | --------------------------------------------------- |
 * | sequences were pushed out of a cache since the last look          | the share of them that run, 0.5 to 0.8, of what is  |
 * |                                                                   | under way                                           |
 * | a cache is fuller than `target`                                   | what would fill it to `target`                      |
 * | more than half as many wait as run, at `QUEUED_LOOKS` in a row    | 0.9 of what is under way                            |
 * | no queue, caches below 0.75 of `target`, the limit is used up     | half as much again, after the first decrease 1/16   |
 * |                                                                   | more                                                |
 *
 * After a decrease there is no other one for `COOLDOWN_LOOKS` looks, so that it can take effect: rollouts end, none is cancelled. The limit stays
 * between `least` and `most`. This class knows no clock and no engine.
 */
import type { EngineLoad } from "../../inference-client/index.ts";

export interface ConcurrencyOptions {
  initial: number;
  least: number;
  most: number;
  /** Share of a KV cache, 0 to 1. */
  target: number;
}

const PREEMPTED = 0.8;
/** Share of what is under way that stays, however few of them run. */
const LEAST_LEFT = 0.5;
const QUEUED = 0.9;
const QUEUE_SHARE = 0.5;
const QUEUED_LOOKS = 3;
const COOLDOWN_LOOKS = 3;
/** Share of the target; below it there is room for more. */
const ROOMY = 0.75;
/** Share of the limit; above it a higher limit would be used. */
const USED_UP = 0.9;
const FIRST_GROWTH = 1.5;
const LATER_GROWTH = 17 / 16;

export class ConcurrencyController {
  readonly #options: ConcurrencyOptions;
  #limit: number;
  #preemptions: number | null = null;
  #queuedLooks = 0;
  #cooldown = 0;
  #hasDecreased = false;

  constructor(options: ConcurrencyOptions) {
    this.#options = options;
    this.#limit = this.#bounded(options.initial);
  }

  get limit(): number {
    return this.#limit;
  }

  /** One look: the loads of the engines in service, and the rollouts under way. Without a load nothing changes. */
  observe(loads: readonly EngineLoad[], inFlight: number): void {
    if (loads.length === 0) return;
    const { target } = this.#options;
    const sum = (of: (load: EngineLoad) => number): number => loads.reduce((total, load) => total + of(load), 0);
    const [running, waiting, preemptions] = [sum((l) => l.running), sum((l) => l.waiting), sum((l) => l.preemptions)];
    const fullest = Math.max(...loads.map(({ kvUsage }) => kvUsage));
    // A counter went down: the engine was started anew.
    const preempted = this.#preemptions === null ? 0 : Math.max(0, preemptions - this.#preemptions);
    this.#preemptions = preemptions;
    this.#queuedLooks = waiting > QUEUE_SHARE * running ? this.#queuedLooks + 1 : 0;
    if (this.#cooldown > 0) this.#cooldown -= 1;
    else if (preempted > 0)
      this.#decrease(inFlight * Math.max(LEAST_LEFT, Math.min(PREEMPTED, running / Math.max(1, running + waiting))));
    else if (fullest > target) this.#decrease((inFlight * target) / fullest);
    else if (this.#queuedLooks >= QUEUED_LOOKS) this.#decrease(QUEUED * inFlight);
    else if (waiting === 0 && fullest < ROOMY * target && inFlight >= USED_UP * this.#limit) {
      const more = this.#limit * (this.#hasDecreased ? LATER_GROWTH : FIRST_GROWTH);
      this.#limit = this.#bounded(Math.ceil(more));
    }
  }

  #decrease(to: number): void {
    this.#limit = this.#bounded(Math.min(this.#limit, Math.floor(to)));
    this.#hasDecreased = true;
    this.#cooldown = COOLDOWN_LOOKS;
    this.#queuedLooks = 0;
  }

  #bounded(limit: number): number {
    return Math.max(this.#options.least, Math.min(this.#options.most, limit));
  }
}
