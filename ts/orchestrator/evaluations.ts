/** The evaluations of a training run: of which versions, one after the other, and what of the one under way is not begun. */
import { type EvaluationContext, evaluatePolicy } from "./evaluation.ts";
import type { SharedRoom } from "./shared-room.ts";

export interface EvaluationsOptions extends Omit<EvaluationContext, "onQueue"> {
  room: Pick<SharedRoom, "evaluate" | "evaluating">;
  onFailure: (error: unknown) => void;
}

export class Evaluations {
  /** Those beside the run that are begun; rejects when one failed. */
  ended: Promise<void> = Promise.resolve();
  readonly #options: EvaluationsOptions;
  #queued = 0;

  constructor(options: EvaluationsOptions) {
    this.#options = options;
  }

  async evaluate(version: number): Promise<void> {
    await evaluatePolicy({ ...this.#options, onQueue: (tasks) => (this.#queued = tasks) }, version);
  }

  /**
   * Begins that of the version beside the run, when its interval says so; with `hold_weights` waits for it. One that an interrupted attempt had
   * begun may not have ended: it is repeated.
   */
  async whenDue(version: number): Promise<void> {
    const { eval: evaluation } = this.#options.config.orchestrator;
    if (evaluation === null || evaluation.interval === null || version % evaluation.interval !== 0) return;
    this.ended = this.ended.then(() => this.evaluate(version));
    this.ended.catch(this.#options.onFailure);
    if (evaluation.hold_weights) await this.ended;
  }

  metrics(): Record<string, number> {
    return { "dispatcher/inflight/eval": this.#options.room.evaluating, "dispatcher/queued/eval": this.#queued };
  }
}
