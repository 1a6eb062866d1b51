/** PyTorch as the trainer of a run: `[trainer] backend = "torch"`. The mathematics is in `python/prl_torch`; here are its calls. */
import { z } from "zod";

import { lossOptions, optimOptions } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { weightDtype } from "../../native/index.ts";
import type { StepBatch, TrainerBackend } from "../rl/backend.ts";
import type { TrainerJob } from "../rl/run-trainer.ts";
import { readCompanions } from "./companions.ts";
import { savedWeights } from "./saved-weights.ts";
import { WorkerGroup } from "./worker-group.ts";

type TorchJob = Pick<TrainerJob, "modelDir" | "baseDir" | "referenceDir" | "config" | "startStep">;

/** JSON has no NaN; it travels as null. */
const number = z
  .number()
  .nullable()
  .transform((value) => value ?? Number.NaN);
const infoSchema = z.object({ device: z.string(), vocab_size: z.int().positive() });
const stepSchema = z.object({ loss: number, metrics: z.record(z.string(), number) });
const normSchema = z.object({ grad_norm: number });
const logprobsSchema = z.object({ logprobs: z.array(number) });
const filesSchema = z.object({ files: z.array(z.string()) });

/**
 * Starts the workers with `interpreter`. Errors: PRL_TORCH_WORKER, PRL_ENGINE_ARCHITECTURE_UNSUPPORTED for a model that it cannot train,
 * PRL_WEIGHTS_IO for a model without a tokenizer.
 */
export async function openTorchBackend(job: TorchJob, interpreter: string): Promise<TrainerBackend> {
  const { config } = job;
  const { ranks } = config;
  const writeCompanions = await readCompanions(job.baseDir);
  const dtype = await weightDtype(config.model?.dtype ?? "auto", job.baseDir);
  const threads = Math.max(1, Math.floor((config.threads ?? 1) / ranks));
  const group = await WorkerGroup.start({ interpreter, ranks, threads });
  const save = async (call: "save" | "save_checkpoint", dir: string) => {
    const { files } = filesSchema.parse(await group.call(call, () => ({ folder: dir })));
    await writeCompanions(dir);
    return savedWeights(dir, files);
  };
  try {
    const info = infoSchema.parse(await group.call("open", () => openArguments(job, dtype)));
    return {
      isa: `torch-${info.device}`,
      dtype,
      vocabSize: info.vocab_size,
      ranks,
      async forwardBackward(batch) {
        const answer = await group.call("forward_backward", (rank) => rankArguments(batch, rank));
        return stepSchema.parse(answer);
      },
      async step({ lr = config.optim.lr } = {}) {
        return { gradNorm: normSchema.parse(await group.call("step", () => ({ lr }))).grad_norm };
      },
      async logprobs(inputIds, cuSeqlens, { temperature = 1 } = {}) {
        const tokens = { input_ids: [...inputIds], cu_seqlens: [...cuSeqlens], temperature };
        return Float32Array.from(logprobsSchema.parse(await group.call("logprobs", () => tokens)).logprobs);
      },
      save: (dir) => save("save", dir),
      async saveCheckpoint(dir) {
        await save("save_checkpoint", dir);
      },
      close: () => group.close(),
    };
  } catch (error) {
    await group.close();
    throw error;
  }
}

function openArguments(job: TorchJob, dtype: string): Record<string, unknown> {
  const { config } = job;
  return {
    model_dir: job.modelDir,
    base_dir: job.baseDir,
    reference_dir: job.referenceDir ?? null,
    dtype,
    loss: lossOptions(config.loss),
    optim: optimOptions(config.optim),
    recompute: config.activations === "recompute",
    resume: job.startStep > 0,
  };
}

function rankArguments({ batches, onPolicyVersion }: StepBatch, rank: number): Record<string, unknown> {
  const path = batches[rank]?.path;
  if (path === undefined) throw new PrlError("PRL_BATCH_INVALID", `the batch for rank ${rank} is in no file`);
  return { path, on_policy_version: onPolicyVersion };
}
