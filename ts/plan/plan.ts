/**
 * Works out the needs of a run before anything is started: memory of each part by kind, the tokens and times of a step, the traffic
 * between parts, and the number of processes. Only config.json of the model is read.
 *
 * Memory of the embedded engine is that of `ts/models/memory.ts`. Nothing here knows how a plan is printed.
 */
import { totalmem } from "node:os";

import type { RlConfig } from "../config/index.ts";
import { locateEnvironment } from "../environments/run-start.ts";
import type { HubSettings } from "../hub/index.ts";
import { adapterParameters, countParameters, type DescribedModel, describeModel, expertsOf } from "../models/index.ts";
import { assumptionsFor, type PlanOptions } from "./assumptions.ts";
import { assumptionLines } from "./assumption-lines.ts";
import {
  type InferencePlan,
  inferencePlan,
  inferenceProblems,
  longestSequence,
  vllmWorkload,
} from "./inference-plan.ts";
import { type BatchPlan, batchPlan, type TimePlan, timePlan } from "./step-plan.ts";
import { servingProblem, sharingProblem } from "./shared-layers.ts";
import { gib, type TrainerPlan, torchWorkload, trainerPlan, trainerProblems } from "./trainer-plan.ts";
import { type GpuShare, gpuShare, shareProblems, withMemory } from "./gpu-share.ts";
import { type VersionPlan, versionPlan } from "./version-plan.ts";

export interface ModelPlan {
  /** `org/name`, or the folder. */
  readonly name: string;
  readonly architecture: string;
  readonly parameters: number;
  /** Parameters that the trainer changes. */
  readonly trained: number;
  /** Parameters that a token uses: fewer than all in a mixture of experts. */
  readonly active: number;
  readonly dtype: "float32" | "bfloat16";
}

/** Env workers under load: the launcher keeps a spare beside a single one. */
const WITH_SPARE = 2;

export interface ProcessPlan {
  /** GPUs that the run itself uses. */
  readonly gpus: number;
  readonly trainer_gpus: number;
  readonly inference_gpus: number;
  readonly env_workers: number;
  /** Sandboxes that are held at once. */
  readonly sandboxes: number;
}

export interface Plan {
  readonly device: string | null;
  readonly model: ModelPlan;
  readonly trainer: TrainerPlan;
  readonly inference: InferencePlan;
  readonly batch: BatchPlan;
  readonly time: TimePlan;
  readonly versions: VersionPlan;
  readonly processes: ProcessPlan;
  /** Trainer and vLLM take turns on one GPU; null: they do not. */
  readonly share: GpuShare | null;
  /** Bytes that the parts on processors need together, and bytes of this machine. */
  readonly machine: { readonly needed: number; readonly available: number };
  /** Every assumption, in words. */
  readonly assumptions: readonly string[];
  /** The parts that do not fit, in words; empty when everything does. */
  readonly problems: readonly string[];
}

export interface PlanSurroundings {
  readonly settings?: HubSettings;
  readonly signal?: AbortSignal;
  /** Bytes of this machine; default: what it says. */
  readonly machineBytes?: number;
}

/**
 * Errors: PRL_CLI_USAGE for an option that does not fit; PRL_ENVIRONMENT_UNKNOWN and the like for an environment that is not there; those of
 * `describeModel`.
 */
export async function makePlan(
  config: RlConfig,
  options: PlanOptions = {},
  surroundings: PlanSurroundings = {},
): Promise<Plan> {
  const { settings, signal } = surroundings;
  const model = await describeModel(config.model.name, { settings, signal });
  const longest = longestSequence(config, model);
  const assumptions = assumptionsFor(config, options, longest);
  const dtype = config.model.dtype === "auto" ? model.dtype : config.model.dtype;
  const device = assumptions.device === null ? null : withMemory(assumptions.device, config);
  const torch = torchWorkload(config, dtype, device !== null);
  const trainer = trainerPlan(config, model, torch);
  const share = device === null ? null : gpuShare(config, model, { trainer, memory: device.memory, dtype });
  const serving = { dtype, assumptions, share: share?.utilization ?? null };
  const inference = inferencePlan(config, model, { ...serving, device });
  const batch = batchPlan(config, assumptions);
  const versions = versionPlan(config, model, { dtype, assumptions });
  const onGpu = { trainer: trainer.place === "gpu" ? device : null, server: inference.place === "gpu" ? device : null };
  const time = timePlan(config, {
    model,
    assumptions,
    batch,
    inference,
    trainer: { workload: torch, device: onGpu.trainer },
    server: { workload: vllmWorkload(config, model, serving), device: onGpu.server },
    versionBytes: versions.sparse ?? versions.full,
    handover: share?.handover ?? null,
  });
  const processes = await processPlan(config, { trainer, inference, batch, share });
  const needed = machineBytes(trainer, inference) + (share?.host ?? 0);
  const machine = { needed, available: surroundings.machineBytes ?? availableBytes() };
  const parts = { trainer, inference, processes, time, machine, share };
  return {
    device: trainer.place === "gpu" || inference.place === "gpu" ? (device?.id ?? null) : null,
    model: modelPlan(config, model, dtype),
    trainer,
    inference,
    batch,
    time,
    versions,
    processes,
    share,
    machine,
    assumptions: assumptionLines(config, assumptions, { ...parts, longest }),
    problems: [
      ...sharingProblems(config, model),
      ...contextProblems(config, model),
      ...(onGpu.trainer === null ? [] : trainerProblems(trainer, model.shape, torch, onGpu.trainer)),
      ...(onGpu.server === null ? [] : inferenceProblems(inference, onGpu.server)),
      ...(share === null ? [] : shareProblems(share, inference.total)),
      ...placeProblems(config, parts),
      ...(model.isRun
        ? []
        : [`${model.model} is planned, but prl does not train and sample ${model.architecture} yet`]),
    ],
  };
}

function modelPlan(
  { model: { lora } }: RlConfig,
  { model, shape, architecture }: DescribedModel,
  dtype: "float32" | "bfloat16",
): ModelPlan {
  const { total, active } = countParameters(shape);
  const trained = lora === null ? total : adapterParameters(shape, { rank: lora.rank, targets: lora.target_modules });
  return {
    name: model,
    architecture,
    parameters: total,
    trained,
    active: expertsOf(shape) === null ? total : active,
    dtype,
  };
}

async function processPlan(
  { orchestrator, sandbox }: RlConfig,
  parts: { trainer: TrainerPlan; inference: InferencePlan; batch: BatchPlan; share: GpuShare | null },
): Promise<ProcessPlan> {
  const { trainer, inference, batch, share } = parts;
  const { train, env_workers: least, max_env_workers: most, rollouts_per_env_worker: each } = orchestrator;
  const all = train.source.reduce((sum, { ratio }) => sum + ratio, 0);
  let inSandboxes = 0;
  for (const { env, ratio } of train.source) {
    const { environment } = await locateEnvironment(env);
    if (environment.requires.sandbox !== undefined) inSandboxes += ratio / all;
  }
  const held = Math.ceil(inSandboxes * batch.in_flight);
  const trainerGpus = trainer.place === "gpu" ? trainer.ranks : 0;
  const inferenceGpus = inference.is_started ? inference.servers * inference.gpus_per_server : 0;
  return {
    gpus: share === null ? trainerGpus + inferenceGpus : 1,
    trainer_gpus: trainerGpus,
    inference_gpus: inferenceGpus,
    env_workers: Math.max(least, Math.min(most ?? Infinity, Math.max(WITH_SPARE, Math.ceil(batch.in_flight / each)))),
    sandboxes: sandbox.max_held === null ? held : Math.min(held, sandbox.max_held),
  };
}

function machineBytes(trainer: TrainerPlan, inference: InferencePlan): number {
  const training = trainer.place === "cpu" ? trainer.ranks * trainer.total : 0;
  const serving = inference.place === "cpu" && inference.is_started ? inference.servers * inference.total : 0;
  return training + serving;
}

/** Memory that the processes of this machine may have. */
function availableBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

function* sharingProblems(
  { trainer, inference, orchestrator }: RlConfig,
  { shape }: DescribedModel,
): Generator<string> {
  const found = sharingProblem(shape, trainer.parallel);
  if (found !== null) yield `trainer.parallel.${found.key}: ${found.problem}`;
  if (inference.backend === "engine" || orchestrator.client.base_url.length > 0) return;
  const served = servingProblem(shape, inference.vllm.tensor_parallel_size);
  if (served !== null) yield `inference.vllm.tensor_parallel_size: ${served}`;
}

function* contextProblems(
  { inference, orchestrator, seq_len: length }: RlConfig,
  { shape }: DescribedModel,
): Generator<string> {
  const { max_position_embeddings: context } = shape;
  if (context === null || context === undefined) return;
  const asked = inference.max_model_len ?? length;
  // It follows from seq_len where it is not set, and a packed bin may be longer than the sequences in it.
  if (asked > context && asked !== length) {
    yield `inference.max_model_len asks for sequences of ${asked} tokens, and the model takes at most ${context} (max_position_embeddings): use at most ${context}`;
  }
  const { max_completion_tokens: most } = orchestrator.train.sampling;
  if (most !== null && most >= context) {
    yield `orchestrator.train.sampling.max_completion_tokens = ${most} leaves no room for a prompt: the model takes at most ${context} tokens (max_position_embeddings)`;
  }
}

function* placeProblems(
  config: RlConfig,
  parts: { processes: ProcessPlan; time: TimePlan; machine: Plan["machine"]; share: GpuShare | null },
): Generator<string> {
  const { processes, time, machine, share } = parts;
  const { gpus_per_node: gpus } = config.deployment;
  if (processes.gpus > gpus) {
    const { trainer_gpus: train, inference_gpus: infer } = processes;
    yield `the run needs ${processes.gpus} GPUs (${train} for trainer.ranks, ${infer} for the inference servers), and the machine has ${gpus} (deployment.gpus_per_node): a run takes the GPUs of one machine`;
  }
  if (machine.needed > machine.available) {
    yield `the processes on processors need ${gib(machine.needed)} together, and this machine has ${gib(machine.available)}: use a smaller inference.max_num_seqs or max_model_len, or a smaller model`;
  }
  const { request_timeout_s: deadline } = config.orchestrator;
  // A rollout of the next batch waits while the trainer has its turn.
  const turn = share === null || config.max_async_level === 0 ? 0 : (time.train ?? 0) + share.handover;
  if (time.rollout !== null && time.rollout + turn > deadline) {
    yield `a rollout lasts ${Math.round(time.rollout + turn)} s, longer than orchestrator.request_timeout_s = ${deadline}: raise it, or use shorter completions`;
  }
}
