/** The trainer of a plan: the bytes of one process by kind, on a GPU or on the processor, and what would make them fit. */
import { referenceOf, type RlConfig, START_REFERENCE } from "../config/index.ts";
import {
  adapterMemory,
  countParameters,
  type DescribedModel,
  expertsOf,
  servingMemory,
  trainingMemory,
  type Workload,
} from "../models/index.ts";
import type { Device } from "../models/index.ts";
import { torchMemory, type TorchWorkload } from "./torch-memory.ts";

export interface TrainerPlan {
  readonly backend: "engine" | "torch";
  readonly ranks: number;
  /** Where the bytes are: of one GPU each, or in the machine's memory. */
  readonly place: "gpu" | "cpu";
  /** Bytes of one process, by what they are for. */
  readonly bytes: Readonly<Record<string, number>>;
  readonly total: number;
  /** The use of the bytes of `work`; null where none are named so. */
  readonly work_of: "logits" | "layer" | "optimizer" | null;
  /** Most bytes of one process while it loads the model; null where that is never more than the total. */
  readonly loading: number | null;
  /** Bytes of the machine's memory that all ranks together need while they load; null where the total counts them. */
  readonly loading_host: number | null;
}

/** The computation of the torch trainer of a config. */
export function torchWorkload(
  { trainer, model, seq_len: bin }: RlConfig,
  dtype: "float32" | "bfloat16",
  onGpu: boolean,
): TorchWorkload {
  const { lora } = model;
  return {
    ranks: trainer.ranks,
    replicas: trainer.parallel.replicas,
    tensor: trainer.parallel.tensor,
    expert: trainer.parallel.expert,
    context: trainer.parallel.context,
    tokens: Math.ceil(bin / trainer.parallel.context),
    dtype,
    recompute: trainer.activations === "recompute",
    optimizer: trainer.optim.type,
    stateDtype: trainer.optim.state_dtype,
    adapter: lora === null ? null : { rank: lora.rank, targets: lora.target_modules },
    hasReference: referenceOf(trainer.loss) !== null,
    onGpu,
  };
}

export function trainerPlan(config: RlConfig, { shape }: DescribedModel, workload: TorchWorkload): TrainerPlan {
  const { backend } = config.trainer;
  if (backend === "engine") {
    const formats = { ...baseDtypeOf(config), stateDtype: config.trainer.optim.state_dtype };
    // An adapter is trained on the weights that the run starts with.
    const isShared = workload.adapter !== null && referenceOf(config.trainer.loss) === START_REFERENCE;
    return enginePlan(shape, { ...workload, hasReference: workload.hasReference && !isShared }, formats);
  }
  const { total, loading, loading_host, work_of: workOf, ...bytes } = torchMemory(shape, workload);
  const place = workload.onGpu ? "gpu" : "cpu";
  return { backend, ranks: workload.ranks, place, bytes, total, work_of: workOf, loading, loading_host };
}

/** `model.base_dtype` as the formulas of memory have it. */
export function baseDtypeOf({ model: { base_dtype: baseDtype } }: RlConfig): Pick<Workload, "baseDtype"> {
  return baseDtype === null ? {} : { baseDtype };
}

function enginePlan(
  shape: DescribedModel["shape"],
  { adapter, dtype, hasReference, tokens }: TorchWorkload,
  formats: Pick<Workload, "baseDtype" | "stateDtype">,
): TrainerPlan {
  const { total: parameters } = countParameters(shape);
  const rows = { batch: 1, seqLen: tokens, dtype, ...formats };
  const memory =
    adapter === null
      ? trainingMemory(shape, parameters, rows)
      : adapterMemory(shape, parameters, { ...rows, ...adapter });
  const { total, ...bytes } = memory;
  const reference = hasReference ? servingMemory(shape, parameters, rows).weights : 0;
  return {
    backend: "engine",
    ranks: 1,
    place: "cpu",
    bytes: { ...bytes, ...(hasReference && { reference }) },
    total: total + reference,
    work_of: null,
    loading: null,
    loading_host: null,
  };
}

/** Names a trainer that needs more than its GPUs have; empty when it fits. */
export function trainerProblems(
  { total, loading, backend, ranks }: TrainerPlan,
  shape: DescribedModel["shape"],
  workload: TorchWorkload,
  device: Device,
): string[] {
  if (backend === "engine") return [];
  const found: string[] = [];
  if (total > device.memory) {
    const need = `the trainer needs ${gib(total)} on ${ranks === 1 ? "its GPU" : `each of ${ranks} GPUs`}`;
    found.push(`${need}, and ${device.name} has ${gib(device.memory)}: ${adviceOf(shape, workload, device)}`);
  }
  if (loading !== null && loading > device.memory) {
    const what = workload.expert === 1 ? "the whole model" : `the model with 1/${workload.expert} of its experts`;
    const need = `each rank of the trainer puts ${what} on its GPU before it is cut, ${gib(loading)}`;
    const expert = expertsThatFit(shape, workload, device);
    const advice =
      expert === null
        ? "more ranks do not help; take a smaller model or an adapter ([model.lora])"
        : `set trainer.parallel.expert = ${expert}`;
    found.push(`${need}, and ${device.name} has ${gib(device.memory)}: ${advice}`);
  }
  return found;
}

const MOST_RANKS = 64;
const LORA_RANK = 16;

/** The changes of the config, one or two of them, with which the trainer fits. */
function adviceOf(shape: DescribedModel["shape"], workload: TorchWorkload, device: Device): string {
  const fits = (change: Partial<TorchWorkload>): boolean =>
    torchMemory(shape, { ...workload, ...change }).total <= device.memory;
  const recomputed = workload.recompute
    ? []
    : [{ text: 'trainer.activations = "recompute"', change: { recompute: true } }];
  const adapted =
    workload.adapter === null
      ? [{ text: `an adapter ([model.lora] rank = ${LORA_RANK})`, change: { adapter: { rank: LORA_RANK } } }]
      : [];
  const single = [...recomputed, ...adapted].filter(({ change }) => fits(change)).map(({ text }) => text);
  const more = [{}, ...recomputed.map(({ change }) => change)].flatMap((change, index) => {
    const ranks = ranksThatFit(workload.ranks, (count) => fits({ ...change, ranks: count }));
    return ranks === null ? [] : [`trainer.ranks = ${ranks}${index === 0 ? "" : ` with ${recomputed[0]?.text ?? ""}`}`];
  });
  const both = [...recomputed, ...adapted];
  const together =
    single.length === 0 &&
    both.length === 2 &&
    fits(Object.assign({}, ...both.map(({ change }) => change)) as Partial<TorchWorkload>)
      ? [both.map(({ text }) => text).join(" and ")]
      : [];
  const found = [...single, ...together, ...more];
  return found.length === 0 ? "take a smaller model or a shorter seq_len" : `use ${found.join(", or ")}`;
}

/** The fewest ranks that have to share experts, so that a GPU holds what is read; null when no number does it. */
function expertsThatFit(shape: DescribedModel["shape"], workload: TorchWorkload, { memory }: Device): number | null {
  const experts = expertsOf(shape);
  if (experts === null || workload.tensor > 1) return null;
  const ranks = workload.ranks / workload.replicas;
  for (let expert = workload.expert + 1; expert <= Math.min(ranks, experts.count); expert++) {
    if (ranks % expert !== 0 || experts.count % expert !== 0) continue;
    if (torchMemory(shape, { ...workload, expert }).loading <= memory) return expert;
  }
  return null;
}

function ranksThatFit(now: number, fits: (ranks: number) => boolean): number | null {
  for (let ranks = 2 * now; ranks <= MOST_RANKS; ranks *= 2) if (fits(ranks)) return ranks;
  return null;
}

export function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
