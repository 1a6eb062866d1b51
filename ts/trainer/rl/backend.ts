/**
 * What computes the steps of a run's trainer. The loop (`run-trainer.ts`) receives batches, publishes weights and logs in the same way
 * whichever implementation works for it.
 */
import type { SavedWeights, StepMetrics, Trainer } from "../../native/index.ts";
import type { ReceivedBatch } from "../../transports/index.ts";

/** The batch of a step. */
export interface StepBatch {
  /** One for each rank, in their order. */
  batches: readonly ReceivedBatch[];
  /** The version that is trained. */
  onPolicyVersion: number;
}

export interface TrainerBackend extends Pick<Trainer, "isa" | "dtype" | "vocabSize" | "logprobs" | "step" | "close"> {
  /** Processes that train together; each has its own batch of a step. */
  readonly ranks: number;
  /**
   * Adds the gradients of a step. `time/reference_logprobs` among the metrics: the seconds that the reference model took. Errors:
   * PRL_TRAIN_NON_FINITE when the loss or its gradient is not finite; all gradients are dropped then.
   */
  forwardBackward(batch: StepBatch): Promise<StepMetrics>;
  /** Writes a complete Hugging Face folder, the weights in the published format. */
  save(dir: string): Promise<SavedWeights>;
  /** Writes the f32 weights as a Hugging Face folder, and the optimizer's state: all that training continues from. */
  saveCheckpoint(dir: string): Promise<void>;
}
