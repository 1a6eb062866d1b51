/** PyTorch as the trainer of a run: `[trainer] backend = "torch"`. The mathematics is in `python/prl_torch`; here are its calls. */
import { availableParallelism } from "node:os";
import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { z } from "zod";

import { batchRanks, binRanks, lossOptions, optimOptions } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { syncFolder } from "../../files/atomic-write.ts";
import { weightDtype, writeBatch } from "../../native/index.ts";
import { cachedInterpreter } from "../../python/index.ts";
import { adapterOptions } from "../adapter-options.ts";
import { acceleratorsOf } from "../utilization.ts";
import type { BackendJob, RankBatch, StepBatch, TrainerBackend } from "../backend/backend.ts";
import { readCompanions } from "./companions.ts";
import { savedAdapter, savedWeights } from "./saved-weights.ts";
import { WorkerGroup } from "./worker-group.ts";

/** JSON has no NaN; it travels as null. */
const number = z
  .number()
  .nullable()
  .transform((value) => value ?? Number.NaN);
/** `device_name`: as CUDA has it; null on a processor. */
const infoSchema = z.object({ device: z.string(), device_name: z.string().nullable(), vocab_size: z.int().positive() });
const stepSchema = z.object({ loss: number, metrics: z.record(z.string(), number) });
const normSchema = z.object({ grad_norm: number, metrics: z.record(z.string(), number) });
const logprobsSchema = z.object({ logprobs: z.array(number) });
const filesSchema = z.object({ files: z.array(z.string()) });

/**
 * Starts the workers with `interpreter`. Errors: PRL_TORCH_WORKER, PRL_ENGINE_ARCHITECTURE_UNSUPPORTED for a model that it cannot train,
 * PRL_WEIGHTS_IO for a model without a tokenizer.
 */
export async function openTorchBackend(job: BackendJob, interpreter: string): Promise<TrainerBackend> {
  const { model, settings } = job;
  const { ranks, rank_timeout_s: silence, call_timeout_s: longest } = settings;
  const batches = batchRanks(settings);
  const writeCompanions = await readCompanions(model.baseDir);
  if (job.baseDtype !== null) {
    throw new PrlError("PRL_CONFIG_INVALID", 'model.base_dtype is not read by backend = "torch": leave it out');
  }
  const dtype = await weightDtype(job.dtype, model.baseDir);
  const threads = Math.max(1, Math.floor((settings.threads ?? availableParallelism()) / ranks));
  const group = await WorkerGroup.start({
    interpreter,
    modules: await modulesOf(interpreter),
    ranks,
    threads,
    silenceMs: silence * 1000,
    callMs: longest * 1000,
  });
  const save = async (call: "save" | "save_checkpoint", dir: string) => {
    const { files } = filesSchema.parse(await group.call(call, () => ({ folder: dir })));
    await writeCompanions(dir);
    // The ranks have synced the weights alone; who gives the folder its place takes all of it for whole.
    await syncFolder(dir);
    const isWhole = model.lora === null || (call === "save" && job.mergesAdapter === true);
    return isWhole ? savedWeights(dir, files) : savedAdapter(dir);
  };
  try {
    const info = infoSchema.parse(await group.call("open", () => openArguments(job, dtype)));
    const { device_name: name } = info;
    return {
      accelerators:
        name === null ? null : await acceleratorsOf({ name, count: ranks }, await configOf(model.baseDir), model.lora),
      isa: `torch-${info.device}`,
      dtype,
      vocabSize: info.vocab_size,
      ranks: batches,
      async forwardBackward({ batches: given, onPolicyVersion, traceDir = null }) {
        const paths = await batchFiles(given, batches, group.folder);
        const ask = (rank: number) => {
          const path = paths[Math.floor(rank / binRanks(settings))];
          return { path, on_policy_version: onPolicyVersion, trace_dir: traceDir };
        };
        return stepSchema.parse(await group.call("forward_backward", ask));
      },
      async step({ lr = settings.optim.lr } = {}) {
        const { grad_norm: gradNorm, metrics } = normSchema.parse(await group.call("step", () => ({ lr })));
        return { gradNorm, metrics };
      },
      async logprobs(inputIds, cuSeqlens, { temperature = 1 } = {}) {
        const tokens = { input_ids: [...inputIds], cu_seqlens: [...cuSeqlens], temperature };
        return Float32Array.from(logprobsSchema.parse(await group.call("logprobs", () => tokens)).logprobs);
      },
      save: (dir) => save("save", dir),
      async saveCheckpoint(dir) {
        await save("save_checkpoint", dir);
      },
      async offload() {
        await group.call("offload", () => ({ everything: settings.offload !== "cache" }));
      },
      close: () => group.close(),
    };
  } catch (error) {
    await group.close();
    throw error;
  }
}

/**
 * The user's PYTHONPATH for an interpreter of the user, which may find PyTorch there alone, as with a cluster's modules. An environment of prl has all
 * that it needs, and nothing may take its place.
 */
async function modulesOf(interpreter: string): Promise<string[]> {
  if (interpreter === (await cachedInterpreter("torch"))) return [];
  return (process.env["PYTHONPATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
}

async function configOf(dir: string): Promise<unknown> {
  return JSON.parse(await readFile(join(dir, "config.json"), "utf8"));
}

function openArguments(job: BackendJob, dtype: string): Record<string, unknown> {
  const { model, settings, loss, referenceDir } = job;
  const { dir, lora = null } = adapterOptions(model);
  return {
    model_dir: dir,
    base_dir: model.baseDir,
    reference_dir: referenceDir,
    dtype,
    lora,
    loss: loss === null ? { type: "default" } : lossOptions(loss),
    optim: optimOptions(settings.optim),
    recompute: settings.activations === "recompute",
    compile: settings.compile,
    ...settings.parallel,
    router: { aux_loss_coef: settings.router_aux_loss_coef ?? 0, frozen: settings.freeze_moe_router ?? false },
    merged: job.mergesAdapter === true && model.lora !== null,
    resume: model.isResumed ? model.modelDir : null,
  };
}

/** The files of `ranks` batches. A batch that is in memory only is written into `folder`, in the place of the one of the step before. */
async function batchFiles(batches: StepBatch["batches"], ranks: number, folder: string): Promise<string[]> {
  const fileOf = async (batch: RankBatch | undefined, rank: number): Promise<string> => {
    if (batch === undefined) throw new PrlError("PRL_BATCH_INVALID", `there is no batch for rank ${rank}`);
    const { path, envNames = ["data"], ...columns } = batch;
    if (path !== undefined) return path;
    const file = join(folder, `rank_${rank}.safetensors`);
    await writeBatch(file, columns, { runId: "memory", attempt: 1, step: 1, rank, envNames: [...envNames] });
    return file;
  };
  return Promise.all(Array.from({ length: ranks }, (_, rank) => fileOf(batches[rank], rank)));
}
