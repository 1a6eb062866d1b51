/**
 * How trainer and vLLM share the memory of one GPU in turns (`deployment.type = "colocated"`).
 *
 * In its turn the trainer has what a sleeping vLLM leaves, which keeps its CUDA context and its graphs. In theirs vLLM has what the trainer leaves: its CUDA
 * context with the workspaces of its libraries, 1.5 GiB on an H200, and with `trainer.offload = "cache"` weights and optimizer too. vLLM takes a share of
 * the whole memory, in hundredths, and no more than its default.
 */
import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { type DescribedModel, describeModel, type Device } from "../models/index.ts";
import type { HubSettings } from "../hub/index.ts";
import { type TrainerPlan, gib, torchWorkload, trainerPlan } from "./trainer-plan.ts";
import { DEFAULT_SHARE, SERVER_RESERVE, servedWeights } from "./vllm-memory.ts";

export interface GpuShare {
  /** Bytes of the GPU. */
  readonly memory: number;
  /** Most bytes of the trainer in its turn, and those that it keeps in the servers'. */
  readonly trainer_peak: number;
  readonly trainer_rest: number;
  /** Bytes that a sleeping vLLM keeps. */
  readonly server_rest: number;
  /** `--gpu-memory-utilization` of vLLM. */
  readonly utilization: number;
  /** Bytes that wait in the machine's memory: of the trainer in the servers' turn, of vLLM in the trainer's. */
  readonly host: number;
  /** Expected seconds of both changes of the turn in a step, without the version's way. */
  readonly handover: number;
}

/** The bytes that a trainer keeps which has left the GPU, measured on an H200 with PyTorch 2.11: CUDA context, cuBLAS, NCCL. */
const TRAINER_REST = 1.5 * 2 ** 30;
const HUNDREDTHS = 100;
/** Bytes per second from the GPU into the machine's memory, and back; measured there. */
const LEAVING = 1.2e9;
const ENTERING = 5.5e9;

/** Null where trainer and vLLM do not share a GPU. */
export function gpuShare(
  config: RlConfig,
  { shape }: Pick<DescribedModel, "shape">,
  { trainer, memory, dtype }: { trainer: TrainerPlan; memory: number; dtype: "float32" | "bfloat16" },
): GpuShare | null {
  if (!sharesGpu(config) || trainer.place !== "gpu") return null;
  const { masters = 0, optimizer = 0 } = trainer.bytes;
  const isMoved = config.trainer.offload === "all";
  const rest = TRAINER_REST + (isMoved ? 0 : masters + optimizer);
  const { gpu_memory_utilization: asked, quantization } = config.inference.vllm;
  const left = Math.floor((HUNDREDTHS * (memory - rest)) / memory) / HUNDREDTHS;
  const weights = config.deployment.sleep_level === 1 ? servedWeights(shape, { dtype, quantization }) : 0;
  const moved = isMoved ? masters + optimizer : 0;
  return {
    memory,
    trainer_peak: Math.max(trainer.total, trainer.loading ?? 0),
    trainer_rest: rest,
    server_rest: SERVER_RESERVE,
    utilization: asked ?? Math.max(0, Math.min(DEFAULT_SHARE, left)),
    host: moved + weights,
    handover: moved / LEAVING + (moved + 2 * weights) / ENTERING,
  };
}

export function sharesGpu({ deployment, trainer, inference }: RlConfig): boolean {
  return deployment.type === "colocated" && trainer.backend === "torch" && inference.backend === "vllm";
}

/** Names the parts that do not fit, in words. `served`: bytes that a server needs when it is awake. */
export function* shareProblems(share: GpuShare, served: number | null): Generator<string> {
  const { memory, trainer_peak: peak, trainer_rest: kept, server_rest: asleep, utilization } = share;
  if (peak + asleep > memory) {
    yield `in its turn the trainer needs ${gib(peak)}, and a sleeping vLLM leaves ${gib(memory - asleep)} of ${gib(memory)}: use trainer.activations = "recompute", a shorter seq_len, an adapter ([model.lora]), or deployment.type = "single_node" with a GPU for each`;
  }
  if (utilization * memory + kept > memory) {
    yield `inference.vllm.gpu_memory_utilization = ${utilization} takes ${gib(utilization * memory)}, and the trainer leaves ${gib(memory - kept)} of ${gib(memory)} in the servers' turn: leave it out, and the share is worked out`;
  } else if (served !== null && served + kept > memory) {
    yield `in their turn the servers need ${gib(served)}, and the trainer leaves ${gib(memory - kept)} of ${gib(memory)}: use a smaller inference.kv_cache_bytes, or trainer.offload = "all"`;
  }
}

/** Names the processes that share the run's GPU, in one line. */
export function shareText(share: GpuShare): string {
  const { memory, trainer_peak: peak, trainer_rest: kept, server_rest: asleep, utilization, host } = share;
  const trainer = `the trainer needs up to ${gib(peak)} in its turn, where a sleeping vLLM keeps ${gib(asleep)}`;
  const servers = `vLLM gets --gpu-memory-utilization ${utilization} (${gib(utilization * memory)}) in its own, where the trainer keeps ${gib(kept)}`;
  return `One GPU of ${gib(memory)} for both: ${trainer}; ${servers}; ${gib(host)} wait in the machine's memory`;
}

/**
 * The share of a run that is about to start, on a GPU of `memory` bytes.
 *
 * @throws PrlError `PRL_PLAN_UNFIT` when its parts do not fit; those of `describeModel`
 */
export async function startShare(
  config: RlConfig,
  memory: number,
  surroundings: { settings?: HubSettings; signal?: AbortSignal } = {},
): Promise<GpuShare | null> {
  const model = await describeModel(config.model.name, surroundings);
  const dtype = config.model.dtype === "auto" ? model.dtype : config.model.dtype;
  const trainer = trainerPlan(config, model, torchWorkload(config, dtype, true));
  const share = gpuShare(config, model, { trainer, memory, dtype });
  if (share === null) return null;
  const problems = [...shareProblems(share, null)];
  if (problems.length > 0)
    throw new PrlError("PRL_PLAN_UNFIT", `deployment.type = "colocated": ${problems.join("; ")}`);
  return share;
}

/** A device with the memory of the run's GPU, where the config says it. */
export function withMemory(device: Device, { deployment }: RlConfig): Device {
  const { gpu_memory_bytes: memory } = deployment;
  return memory === null ? device : { ...device, memory };
}
