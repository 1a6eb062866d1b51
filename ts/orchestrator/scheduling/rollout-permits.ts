/**
 * The one limit of rollouts at once, shared by training and evaluations so that neither starves.
 *
 * With limit L, T training rollouts and E of evaluations under way: an evaluation may always have `share` = half of L, less where the largest
 * training group would not fit beside it, and at least 1; above that only what training does not ask for. Training may have L less what
 * evaluations have or wait for within their share. Nothing under way is cancelled for either, so each waits at most until the other's rollouts
 * have come back. T + E stays within L, except for a single group that is as large as L. This class knows no tasks and no engines.
 */
import { PrlError } from "../../errors.ts";
import { Changes } from "../../async/changes.ts";

export interface RolloutPermitsOptions {
  /** Most rollouts at once; may change. */
  limit: () => number;
  /** Training rollouts under way. */
  training: () => number;
  /** Rollouts of the largest training group; 0: nothing trains. */
  largestGroup: number;
  /** Called when there may be room for training. */
  onFreed: () => void;
  /** A wait fails when no rollout comes back for this long. */
  patienceMs: number;
}

/** Between two checks of changes that have no event: the limit rose, or training does not wait any more. */
const LOOK_MS = 1_000;

export class RolloutPermits {
  readonly #options: RolloutPermitsOptions;
  readonly #changes = new Changes();
  #evaluating = 0;
  #waiting = 0;
  #trainingWaits = false;
  #lastReturn = 0;

  constructor(options: RolloutPermitsOptions) {
    this.#options = options;
  }

  /** Evaluation rollouts under way. */
  get evaluating(): number {
    return this.#evaluating;
  }

  /** Most training rollouts at once, as things stand. */
  get forTraining(): number {
    return Math.max(0, this.#options.limit() - Math.max(this.#evaluating, this.#reserved));
  }

  /** Whether a group as large as the limit may begin while no other training is under way: only while evaluations have at most their share. */
  mayBeAlone(groupSize: number): boolean {
    return groupSize >= this.#options.limit() && this.#evaluating === this.#reserved;
  }

  /** Training found no room, or has found it. */
  set trainingWaits(waits: boolean) {
    this.#trainingWaits = waits;
  }

  /** A training rollout has come back. */
  trainingReturned(): void {
    this.#returned();
  }

  /** Runs an evaluation's rollout when there is a place for it. Rejects as `work` does, with the signal's reason, or with PRL_DEADLINE. */
  async evaluate<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const begun = performance.now();
    this.#waiting += 1;
    try {
      while (!this.#mayEvaluate()) {
        const left = Math.max(begun, this.#lastReturn) + this.#options.patienceMs - performance.now();
        if (left <= 0) throw new PrlError("PRL_DEADLINE", "no rollout ended that an evaluation could follow");
        await this.#changes.next(Math.min(left, LOOK_MS), signal);
        signal.throwIfAborted();
      }
      this.#evaluating += 1;
    } finally {
      this.#waiting -= 1;
    }
    try {
      return await work();
    } finally {
      this.#evaluating -= 1;
      this.#returned();
      this.#options.onFreed();
    }
  }

  #returned(): void {
    this.#lastReturn = performance.now();
    this.#changes.announce();
  }

  /** Places that evaluations hold or wait for within their share. */
  get #reserved(): number {
    return Math.min(this.#evaluating + this.#waiting, this.#share);
  }

  get #share(): number {
    const limit = this.#options.limit();
    return Math.max(1, Math.min(Math.floor(limit / 2), limit - this.#options.largestGroup));
  }

  #mayEvaluate(): boolean {
    const { limit, training } = this.#options;
    const isBelowShare = this.#evaluating < this.#share;
    if (!isBelowShare && this.#trainingWaits) return false;
    return training() + this.#evaluating < limit() || (this.#evaluating === 0 && training() === 0);
  }
}
