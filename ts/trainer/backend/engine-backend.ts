/** The embedded engine as a trainer: one rank in this process. */
import { join, resolve } from "node:path";

import { optimOptions } from "../../config/index.ts";
import { openTrainer, type Trainer, type TrainerOptions, weightDtype } from "../../native/index.ts";
import { adapterOptions } from "../adapter-options.ts";
import { type ConfiguredLoss, configuredLoss } from "../rl/configured-loss.ts";
import { openReference, type ReferencePolicy } from "../rl/reference.ts";
import type { BackendJob, TrainerBackend } from "./backend.ts";
import { watchCalls } from "./call-watch.ts";

/** File of the optimizer in a checkpoint's trainer half; the weights are beside it as a model folder. */
const OPTIMIZER_FILE = "optimizer.safetensors";

/** Errors: those of `openTrainer` and of a custom loss; for a resumed run those of `loadOptimizer`. */
export async function openEngineBackend(job: BackendJob): Promise<TrainerBackend> {
  const { model, settings, referenceDir } = job;
  const loss = job.loss === null ? null : await configuredLoss(job.loss);
  const threads = settings.threads ?? 0;
  const dtype = await weightDtype(job.dtype, model.baseDir);
  const baseDtype = job.baseDtype === null ? {} : { baseDtype: job.baseDtype };
  const open: { close(): Promise<void> }[] = loss === null ? [] : [loss];
  try {
    const { dir, lora } = adapterOptions(model);
    const trainer = await openTrainer(dir, {
      ...trainerOptions(job, loss, dtype),
      ...baseDtype,
      ...(lora !== undefined && { lora }),
    });
    open.push(trainer);
    // The weights under an adapter are the reference's own where both are of one model.
    const isShared = lora !== undefined && referenceDir !== null && resolve(referenceDir) === resolve(dir);
    const weights = isShared ? { weightsOf: trainer } : { dtype, ...baseDtype };
    const reference = referenceDir === null ? null : await openReference(referenceDir, { threads, ...weights });
    if (reference !== null) open.push(reference);
    if (model.isResumed) await trainer.loadOptimizer(join(model.modelDir, OPTIMIZER_FILE));
    return watchCalls(
      backendOf(trainer, reference, () => closeAll(open)),
      settings.call_timeout_s,
    );
  } catch (error) {
    await closeAll(open);
    throw error;
  }
}

function trainerOptions(
  { settings, model }: BackendJob,
  loss: ConfiguredLoss | null,
  dtype: Trainer["dtype"],
): TrainerOptions {
  return {
    dtype,
    threads: settings.threads ?? 0,
    ...(loss !== null && { loss: loss.loss }),
    optim: optimOptions(settings.optim),
    activations: settings.activations,
    routerAuxLossCoef: settings.router_aux_loss_coef ?? 0,
    freezeMoeRouter: settings.freeze_moe_router ?? false,
    companions: model.baseDir,
  };
}

function backendOf(trainer: Trainer, reference: ReferencePolicy | null, close: () => Promise<void>): TrainerBackend {
  return {
    accelerators: null,
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
      const version = onPolicyVersion === null ? {} : { onPolicyVersion };
      const { loss, metrics } = await trainer.forwardBackward({ ...scored, ...version });
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
