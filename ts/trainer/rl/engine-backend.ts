/** The embedded engine as the trainer of a run: one rank in this process. */
import { join } from "node:path";

import { optimOptions } from "../../config/index.ts";
import { openTrainer, type Trainer, type TrainerOptions, weightDtype } from "../../native/index.ts";
import { adapterOptions, type TrainedModel } from "../adapter-options.ts";
import type { TrainerBackend } from "./backend.ts";
import { type ConfiguredLoss, configuredLoss } from "./configured-loss.ts";
import { openReference, type ReferencePolicy } from "./reference.ts";
import type { TrainerJob } from "./run-trainer.ts";

/** File of the optimizer in a checkpoint's trainer half; the weights are beside it as a model folder. */
const OPTIMIZER_FILE = "optimizer.safetensors";

type EngineJob = Pick<TrainerJob, "modelDir" | "baseDir" | "referenceDir" | "config" | "startStep">;

/** Errors: those of `openTrainer` and of a custom loss; for a resumed run those of `loadOptimizer`. */
export async function openEngineBackend(job: EngineJob): Promise<TrainerBackend> {
  const { config, referenceDir = null } = job;
  const loss = await configuredLoss(config.loss);
  const threads = config.threads ?? 0;
  const dtype = await weightDtype(config.model?.dtype ?? "auto", job.baseDir);
  const open: { close(): Promise<void> }[] = [loss];
  try {
    const { dir, lora } = adapterOptions(trainedModel(job));
    const trainer = await openTrainer(dir, {
      ...trainerOptions(job, loss, dtype),
      ...(lora !== undefined && { lora }),
    });
    open.push(trainer);
    const reference = referenceDir === null ? null : await openReference(referenceDir, { threads, dtype });
    if (reference !== null) open.push(reference);
    if (job.startStep > 0) await trainer.loadOptimizer(join(job.modelDir, OPTIMIZER_FILE));
    return backendOf(trainer, reference, () => closeAll(open));
  } catch (error) {
    await closeAll(open);
    throw error;
  }
}

function trainedModel({ config, baseDir, modelDir, startStep }: EngineJob): TrainedModel {
  const { model, seed } = config;
  const { lora, name } = { lora: model?.lora ?? null, name: model?.name ?? baseDir };
  return { lora, name, baseDir, modelDir, seed, isResumed: startStep > 0 };
}

function trainerOptions(
  { config, baseDir }: EngineJob,
  { loss }: ConfiguredLoss,
  dtype: Trainer["dtype"],
): TrainerOptions {
  return {
    dtype,
    threads: config.threads ?? 0,
    loss,
    optim: optimOptions(config.optim),
    activations: config.activations,
    companions: baseDir,
  };
}

function backendOf(trainer: Trainer, reference: ReferencePolicy | null, close: () => Promise<void>): TrainerBackend {
  return {
    isa: trainer.isa,
    dtype: trainer.dtype,
    vocabSize: trainer.vocabSize,
    ranks: 1,
    async forwardBackward({ batches: [batch], onPolicyVersion }) {
      if (batch === undefined) throw new RangeError("a step without a batch");
      const { envNames: _names, path: _path, ...columns } = batch;
      const startedAt = performance.now();
      const scored = reference === null ? columns : await reference.score(columns);
      const seconds = (performance.now() - startedAt) / 1000;
      const { loss, metrics } = await trainer.forwardBackward({ ...scored, onPolicyVersion });
      return { loss, metrics: reference === null ? metrics : { ...metrics, "time/reference_logprobs": seconds } };
    },
    step: (options) => trainer.step(options),
    logprobs: (...tokens) => trainer.logprobs(...tokens),
    save: (dir) => trainer.save(dir),
    async saveCheckpoint(dir) {
      await trainer.saveMasters(dir);
      await trainer.saveOptimizer(join(dir, OPTIMIZER_FILE));
    },
    close,
  };
}

async function closeAll(open: readonly { close(): Promise<void> }[]): Promise<void> {
  await Promise.all(open.map((one) => one.close()));
}
