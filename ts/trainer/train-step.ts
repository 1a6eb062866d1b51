/**
 * Optimizer steps that survive non-finite values: a non-finite loss or gradient changes nothing, is logged and counted; too many in a row
 * end the training.
 */
import { PrlError } from "../errors.ts";
import type { Metrics } from "../monitors/index.ts";
import type { StepMetrics } from "../native/index.ts";

/** This many non-finite steps in a row are no accident. */
const MAX_SKIPPED_STEPS = 10;

export interface StepOutcome {
  /** Loss of the batch; NaN when it could not be computed. */
  loss: number;
  /** The loss's own metrics, the gradient's norm, and `optim/skipped`: 1 when nothing was changed. */
  metrics: Record<string, number>;
}

/** Computes a step from a batch. */
interface StepTrainer<Batch> {
  forwardBackward(batch: Batch): Promise<StepMetrics>;
  step(options: { lr: number }): Promise<{ gradNorm: number; metrics?: Record<string, number> }>;
}

export class TrainSteps<Batch> {
  readonly #trainer: StepTrainer<Batch>;
  readonly #metrics: Metrics;
  #skipped = 0;

  constructor(trainer: StepTrainer<Batch>, metrics: Metrics) {
    this.#trainer = trainer;
    this.#metrics = metrics;
  }

  /**
   * One step; the weights change only when `saved`, which writes the ones before, has ended.
   *
   * @throws PrlError PRL_TRAIN_NON_FINITE for the last of too many in a row, and other errors of the trainer
   */
  async take(step: number, batch: Batch, lr: number, saved: Promise<void>): Promise<StepOutcome> {
    let [loss, metrics]: [number, Record<string, number>] = [Number.NaN, {}];
    try {
      ({ loss, metrics } = await this.#trainer.forwardBackward(batch));
      await saved;
      const { gradNorm, metrics: later = {} } = await this.#trainer.step({ lr });
      this.#skipped = 0;
      return { loss, metrics: { ...metrics, ...later, "optim/grad_norm": gradNorm, "optim/skipped": 0 } };
    } catch (error) {
      if (!(error instanceof PrlError) || error.code !== "PRL_TRAIN_NON_FINITE") throw error;
      this.#metrics.event("step_skipped", { step, code: error.code, message: error.message });
      if (++this.#skipped === MAX_SKIPPED_STEPS) throw error;
      return { loss, metrics: { ...metrics, "optim/skipped": 1 } };
    }
  }
}
