/**
 * The interface of the backends that compute the steps of a trainer: the embedded engine or PyTorch. The loops of a run and of the supervised stage receive batches,
 * publish weights and log in the same way whichever works for them.
 */
import { join } from "node:path";

import type { RlConfig } from "../../config/index.ts";
import type { BaseDtype, Batch, SavedWeights, StepMetrics, Trainer } from "../../native/index.ts";
import type { TrainedModel } from "../adapter-options.ts";
import type { Accelerators } from "../utilization.ts";

/** The batch of one rank. */
export interface RankBatch extends Batch {
  /** Names that its `envIds` index; absent: one environment without a name. */
  envNames?: readonly string[];
  /** The file that holds it; absent: it is in memory only. */
  path?: string;
}

/** The batch of a step. */
export interface StepBatch {
  /** One for each rank, in their order. */
  batches: readonly RankBatch[];
  /** The version that is trained; null where no policy sampled. */
  onPolicyVersion: number | null;
  /** Folder that gets a trace of the step by the profiler of the backend; null or absent: none. */
  traceDir?: string | null;
}

/** A model, and how its steps are computed. */
export interface BackendJob {
  model: TrainedModel;
  dtype: "auto" | "float32" | "bfloat16";
  /** Format of the frozen projections under an adapter; null: that of `dtype`. */
  baseDtype: BaseDtype | null;
  /** The model that a KL term pulls towards; null: none. */
  referenceDir: string | null;
  /** Versions of an adapter are whole models with the adapter merged into them; PyTorch only. Default: they are adapters. */
  mergesAdapter?: boolean;
  /** Null: cross-entropy alone, by the weights of the batch. */
  loss: RlConfig["trainer"]["loss"] | null;
  settings: Pick<
    RlConfig["trainer"],
    | "backend"
    | "ranks"
    | "parallel"
    | "python"
    | "threads"
    | "compile"
    | "activations"
    | "optim"
    | "rank_timeout_s"
    | "call_timeout_s"
  > &
    Partial<Pick<RlConfig["trainer"], "offload" | "router_aux_loss_coef" | "freeze_moe_router">>;
}

export interface TrainerBackend extends Pick<Trainer, "isa" | "dtype" | "vocabSize" | "logprobs" | "close"> {
  /** Batches of a step, each for a process or for several that share its bins. */
  readonly ranks: number;
  /** Null: it trains on processors. */
  readonly accelerators: Accelerators | null;
  /** One optimizer step. `metrics`: those of the step that are known only now. */
  step(options?: { lr?: number }): Promise<{ gradNorm: number; metrics?: Record<string, number> }>;
  /**
   * Adds the gradients of a step. `time/reference_logprobs` among the metrics: the seconds that the reference model took. Errors:
   * PRL_TRAIN_NON_FINITE when the loss or its gradient is not finite; all gradients are dropped then.
   */
  forwardBackward(batch: StepBatch): Promise<StepMetrics>;
  /** Writes a complete Hugging Face folder, the weights in the published format, or the folder of the adapter that is trained. */
  save(dir: string): Promise<SavedWeights>;
  /** Writes the f32 weights, or the adapter, as such a folder, and the optimizer's state: all that training continues from. */
  saveCheckpoint(dir: string): Promise<void>;
  /** Leaves the GPU as far as `trainer.offload` says; the next call takes it again. Absent: it has none. */
  offload?(): Promise<void>;
}

/** Folder of traces in a run directory. */
export const PROFILE_FOLDER = "profile";

/** Folder of the trace of a step; null for every step but the chosen one. */
export function traceDirOf(step: number, chosen: number | null, profileDir: string): string | null {
  return step === chosen ? join(profileDir, `step_${step}`) : null;
}
