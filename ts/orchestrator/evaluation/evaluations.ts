/** The evaluations of a training run: which versions are evaluated, one after the other, and how many tasks are not begun. */
import { type EvaluatedWeights, type EvaluationContext, evaluatePolicy } from "./evaluation.ts";
import type { RolloutPermits } from "../scheduling/rollout-permits.ts";

export interface EvaluationsOptions extends Omit<EvaluationContext, "onQueue"> {
  permits: Pick<RolloutPermits, "evaluate" | "evaluating">;
  /** Versions that an earlier process of the attempt has evaluated. */
  done: ReadonlySet<number>;
  onFailure: (error: unknown) => void;
}

export class Evaluations {
  /** Resolves when the evaluations beside the run that were begun have ended; rejects when one failed. */
  ended: Promise<void> = Promise.resolve();
  readonly #options: EvaluationsOptions;
  #queued = 0;
  /** By version: the evaluations beside the run that were begun and may not have ended. */
  readonly #underWay = new Map<number, Promise<void>>();

  constructor(options: EvaluationsOptions) {
    this.#options = options;
  }

  /** Evaluates version 0, when the config says so. */
  async beforeTraining(weights: EvaluatedWeights): Promise<void> {
    if (this.#options.config.orchestrator.eval?.eval_at_start === true) await this.#evaluate(weights);
  }

  /** Evaluates the last version, when there are evaluations. */
  async afterTraining(weights: EvaluatedWeights): Promise<void> {
    if (this.#options.config.orchestrator.eval !== null) await this.#evaluate(weights);
  }

  /**
   * Begins the evaluation of the version beside the run, when its interval says so; with `hold_weights` waits for it. An evaluation that an
   * earlier process had begun may not have ended: it goes on.
   */
  async whenDue(weights: EvaluatedWeights): Promise<void> {
    const { eval: evaluation } = this.#options.config.orchestrator;
    const { version } = weights;
    if (evaluation === null || evaluation.interval === null || version % evaluation.interval !== 0) return;
    this.ended = this.ended.then(async () => {
      await this.#evaluate(weights);
      this.#underWay.delete(version);
    });
    this.#underWay.set(version, this.ended);
    this.ended.catch(this.#options.onFailure);
    if (evaluation.hold_weights) await this.ended;
  }

  /** Resolves when those of earlier versions that were begun have ended; rejects when one failed. */
  async endedBefore(version: number): Promise<void> {
    await Promise.all([...this.#underWay].filter(([begun]) => begun < version).map(([, ended]) => ended));
  }

  metrics(): Record<string, number> {
    return { "dispatcher/inflight/eval": this.#options.permits.evaluating, "dispatcher/queued/eval": this.#queued };
  }

  async #evaluate(weights: EvaluatedWeights): Promise<void> {
    if (this.#options.done.has(weights.version)) return;
    await evaluatePolicy({ ...this.#options, onQueue: (tasks) => (this.#queued = tasks) }, weights);
  }
}
