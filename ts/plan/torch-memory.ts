/**
 * The memory that one rank of the torch trainer needs (`ts/trainer/torch/python/prl_torch`), counted as PyTorch allocates it.
 *
 * Legend: P parameters, S those that train, R ranks that share the weights, M of them that share each matrix of a layer (`parallel.tensor`), G that share its experts
 * (`parallel.expert`), E = vocabulary x H, T tokens of a bin (`seq_len`) that a rank has, e bytes of `model.dtype`, H, q, k, F as in `ts/models/memory.ts`, h heads, W width of an expert, U experts that a token uses, X experts.
 *
 * | what        | bytes                                                                                                             |
 * | ----------- | ----------------------------------------------------------------------------------------------------------------- |
 * | masters     | 4 P / R; with an adapter e P / R and 4 S M / R; a reference model of the loss 4 P / R more                         |
 * | gathered    | e (embedding, head, and the largest layer; two layers where there are several ranks) and that layer's gradients; of   |
 * |             | several ranks also 4 bytes for each of these gradients, which are added in f32                                      |
 * | gradients   | 4 S / R                                                                                                           |
 * | optimizer   | AdamW 8 S / R, SGD 4 S / R, Muon 4 S / R and 4 more for what it leaves to AdamW; half of it with                   |
 * |             | `optim.state_dtype = "bfloat16"`                                                                                  |
 * | activations | what autograd keeps of each layer (below), or e T H of each when they are recomputed                              |
 * | work        | the largest of three, which are not there at once:                                                                |
 * |  of logits  | three chunks of at most 2^24 logits in f32, on a GPU four of at most 2^28; the head's gradient 4 E where it       |
 * |             | trains; and in bfloat16 on a processor a copy of the head, 4 E                                                    |
 * |  of a layer | its backward pass 2 e T F, and what autograd keeps of it when it is recomputed                                     |
 * |  of a step  | 16 bytes for each number of the largest shard, when gathered weights and activations are gone; AdamW needs none,   |
 * |             | and with moments in bfloat16 40 bytes for each of at most 2^23 numbers                                            |
 * | reserve     | 1 GiB for the CUDA context and NCCL, and 5 % for fragmentation                                                    |
 *
 * Of a layer autograd keeps the norms' inputs in f32 and their outputs, q, k and v (repeated for all heads), the output of attention, a mask of T x T,
 * and four arrays of the feed-forward network. In bfloat16 on a GPU attention needs no mask and repeats nothing (`prl_torch/attention/packed.py`).
 * Of ranks that share matrices each has 1 / M of a layer where it is gathered, of q, k, v, attention, F and W, and of the rows of the head; what is as wide as the hidden states it has whole,
 * also the rows of experts. The norms and the router of a layer, and of an adapter one matrix of two, are on all of them; norms and routers are counted as cut.
 *
 * Of ranks that share experts each has 1 / G of them where a layer is gathered. The rows that it computes are counted as evenly spread: routers that send more to the experts of one
 * rank need more there.
 *
 * `trainer.compile` lowers the work of logits to three chunks, which is not counted.
 *
 * On loading, every rank reads the whole model in f32 (with an adapter in `model.dtype`) and moves it to its GPU before it is cut; of experts it moves its 1 / G.
 * A reference model is read in f32 after that, beside the part of the policy that the rank keeps.
 */
import {
  type AdapterShape,
  adapterParameters,
  countParameters,
  countSparseLayers,
  defaultTargets,
  expertsOf,
  type ModelShape,
  projectionWidths,
  sizesOf,
} from "../models/index.ts";

export interface TorchWorkload {
  readonly ranks: number;
  /** Copies of the weights, each of which so many of the ranks share. */
  readonly replicas: number;
  /** Ranks that share each matrix of a layer; the model's sizes are divisible by them. */
  readonly tensor: number;
  /** Ranks that share the experts of each layer; they divide the model's experts. */
  readonly expert: number;
  /** Ranks that share each bin. */
  readonly context: number;
  /** Tokens of a bin that one rank has: all, unless ranks share bins. */
  readonly tokens: number;
  /** Format of the computation. */
  readonly dtype: "float32" | "bfloat16";
  readonly recompute: boolean;
  readonly optimizer: "adamw" | "sgd" | "muon";
  /** Format of its moments between steps. */
  readonly stateDtype: "float32" | "bfloat16";
  /** Null: all weights train. */
  readonly adapter: AdapterShape | null;
  /** The loss has a reference model. */
  readonly hasReference: boolean;
  /** On a processor there is no context to reserve memory for. */
  readonly onGpu: boolean;
}

/** Bytes of one rank, by what they are for. */
export interface TorchMemory {
  readonly masters: number;
  readonly gathered: number;
  readonly gradients: number;
  readonly optimizer: number;
  readonly activations: number;
  /** The largest of three kinds of temporary arrays. */
  readonly work: number;
  readonly reserve: number;
  readonly total: number;
  /** Which of them it is. */
  readonly work_of: "logits" | "layer" | "optimizer";
  /** Most bytes while the model is loaded, with the CUDA context. */
  readonly loading: number;
  /** Bytes of the machine's memory that all ranks together need while the model is loaded. */
  readonly loading_host: number;
}

const F32 = 4;
/** `CHUNK_LOGITS` and `LEAST_ROWS` of prl_torch/head.py, and the chunks that are there at once. */
const CHUNK_LOGITS = 2 ** 24;
const CHUNK_LOGITS_ON_GPU = 2 ** 28;
const LEAST_ROWS = 16;
const CHUNKS = 3;
const CHUNKS_ON_GPU = 4;
const CONTEXT = 2 ** 30;
/** Projections whose inputs ranks share, where they share matrices. */
const SHARED_INPUTS: ReadonlySet<string> = new Set(["o_proj", "down_proj"]);
const FRAGMENTATION = 0.05;
/** The bytes of an element in a step of SGD and Muon. */
const STEP_BYTES = 16;
/** `CHUNK` of prl_torch/optimizer/moments.py: its elements in f32, and the noise that rounds them. */
const ROUNDED_AT_ONCE = 2 ** 23;
const ROUNDING_BYTES = 40;

export function torchMemory(shape: ModelShape, workload: TorchWorkload): TorchMemory {
  const { adapter, hasReference, dtype, onGpu, tensor: matrices, expert } = workload;
  const ranks = workload.ranks / workload.replicas;
  const isGathered = ranks > matrices;
  const { total: parameters, outside, tensor, experts, ...counted } = countParameters(shape, expert);
  const layer = counted.layer / matrices;
  const { embedding } = sizesOf(shape);
  const width = elementBytes(dtype);
  const trained = adapter === null ? parameters : adapterParameters(shape, adapter);
  const frozen = adapter === null ? 0 : width * parameters;
  const reference = hasReference ? F32 * parameters : 0;
  const trainedHere = (adapter === null ? trained : trained * matrices) / ranks;
  const masters = F32 * trainedHere + (frozen + reference) / ranks;
  // A layer's gradients are gathered as its weights are, but for the frozen ones.
  const inF32 = isGathered && adapter === null ? F32 * layer : 0;
  const layers = (isGathered ? 2 : 1) + (adapter === null ? 1 : 0);
  const gathered = width * (outside + layers * layer) + inF32;
  const gradients = F32 * trainedHere;
  const optimizer = optimizerBytes(shape, workload, trained) * (trainedHere / trained);
  const kept = activationBytes(shape, workload);
  const largest = adapter === null ? Math.max(embedding, tensor) / ranks : 0;
  const rounding = workload.stateDtype === "bfloat16" ? ROUNDING_BYTES * Math.min(largest, ROUNDED_AT_ONCE) : 0;
  const step = Math.max(rounding, workload.optimizer === "adamw" ? 0 : STEP_BYTES * largest);
  const kinds = {
    logits: logitBytes(shape, workload),
    layer: layerWork(shape, workload),
    optimizer: step - gathered - kept,
  };
  const work = Math.max(...Object.values(kinds));
  const [workOf = "logits"] = (["logits", "layer", "optimizer"] as const).filter((kind) => kinds[kind] === work);
  const held = masters + gathered + gradients + optimizer + kept + work;
  const reserve = onGpu ? CONTEXT + FRAGMENTATION * held : 0;
  const read = adapter === null ? F32 : width;
  const moved = parameters - experts + experts / expert;
  const loaded = Math.max(read * moved, hasReference ? F32 * moved + masters - reference / ranks : 0);
  return {
    masters,
    gathered,
    gradients,
    optimizer,
    activations: kept,
    work,
    reserve,
    total: held + reserve,
    work_of: workOf,
    loading: loaded + (onGpu ? CONTEXT : 0),
    loading_host: workload.ranks * (hasReference ? F32 : read) * parameters,
  };
}

export function elementBytes(dtype: "float32" | "bfloat16"): number {
  return dtype === "bfloat16" ? 2 : F32;
}

function optimizerBytes(shape: ModelShape, { optimizer, adapter, stateDtype }: TorchWorkload, trained: number): number {
  const e = elementBytes(stateDtype);
  if (optimizer === "adamw") return 2 * e * trained;
  if (optimizer === "sgd") return e * trained;
  const { embedding, isTied } = sizesOf(shape);
  const leftToAdamw = adapter === null ? embedding * (isTied ? 1 : 2) : 0;
  return e * (trained + leftToAdamw);
}

/** Whether attention and head use what only GPUs have. */
export function isHalfOnGpu({ dtype, onGpu }: Pick<TorchWorkload, "dtype" | "onGpu">): boolean {
  return onGpu && dtype === "bfloat16";
}

/** Bytes that autograd keeps for the backward pass of one bin. */
function activationBytes(shape: ModelShape, workload: TorchWorkload): number {
  const { layers, hidden } = sizesOf(shape);
  const { tokens, recompute, dtype } = workload;
  const e = elementBytes(dtype);
  // The last norm, and the rows that go into the head.
  const end = tokens * hidden * (F32 + 2 * e);
  return end + layers * (recompute ? tokens * hidden * e : layerBytes(shape, workload));
}

/** Bytes that autograd keeps of the layer where they are most. */
function layerBytes(shape: ModelShape, workload: TorchWorkload): number {
  const { hidden, q, k } = sizesOf(shape);
  const { tokens, context, dtype, adapter, tensor } = workload;
  const e = elementBytes(dtype);
  const isFull = adapter === null;
  // A norm keeps its input in f32, and its normalized input where its weight trains.
  const norm = F32 + (isFull ? e : 0);
  const hasHeadNorms = shape.model_type === "qwen3" || shape.model_type === "qwen3_moe";
  const norms = norm * (2 * hidden + (hasHeadNorms ? (q + k) / tensor : 0));
  const isPacked = isHalfOnGpu(workload);
  const attention = (e * (isPacked ? 2 * q + 2 * k : 4 * q) + F32 * shape.num_attention_heads) / tensor;
  // Ranks that share a bin exchange heads for tokens: each has the mask of the whole bin.
  const mask = isPacked ? 0 : e * tokens * context ** 2;
  const inputs = isFull ? e * 2 * hidden : adapterInputs(shape, adapter, workload);
  return tokens * (norms + attention + inputs + feedForwardBytes(shape, workload) + mask);
}

/** Inputs of adapted projections in f32, a copy for each unless they have that format already; and the adapter's own products. */
function adapterInputs(shape: ModelShape, adapter: AdapterShape, { dtype, tensor }: TorchWorkload): number {
  const widths = projectionWidths(shape);
  const targets = adapter.targets ?? defaultTargets(expertsOf(shape));
  const { hidden } = sizesOf(shape);
  const inputs = (name: string) => (widths[name]?.[0] ?? 0) / (SHARED_INPUTS.has(name) ? tensor : 1);
  const copies = targets.reduce((sum, name) => sum + inputs(name), 0);
  const shared = dtype === "float32" ? 2 * hidden : copies;
  return F32 * (shared + targets.length * adapter.rank);
}

/** Bytes for a token that are kept of the feed-forward part of a layer, in the layer where they are most. */
function feedForwardBytes(shape: ModelShape, { dtype, adapter, tensor }: TorchWorkload): number {
  const e = elementBytes(dtype);
  // Gate, its activation, the other half; and the product, where the last projection trains or its adapter takes it as it is.
  const arrays = adapter === null || dtype === "float32" ? 4 : 3;
  const dense = (arrays * e * shape.intermediate_size) / tensor;
  const experts = expertsOf(shape);
  if (experts === null) return dense;
  const { count, used, width } = experts;
  const { hidden } = sizesOf(shape);
  const sparse = e * used * ((arrays * width) / tensor + 3 * hidden) + 2 * F32 * count;
  return Math.max(sparse, countSparseLayers(shape) < shape.num_hidden_layers ? dense : 0);
}

/** Bytes of the head's chunks, of the head in f32, and of its gradient. */
function logitBytes(shape: ModelShape, workload: TorchWorkload): number {
  const { embedding } = sizesOf(shape);
  const { tokens, dtype, adapter, onGpu } = workload;
  // A GPU has larger chunks in every format.
  const most = Math.floor((onGpu ? CHUNK_LOGITS_ON_GPU : CHUNK_LOGITS) / shape.vocab_size);
  const rows = Math.min(Math.ceil(tokens / workload.tensor), Math.max(LEAST_ROWS, most));
  const chunks = F32 * (onGpu ? CHUNKS_ON_GPU : CHUNKS) * rows * shape.vocab_size;
  const gradient = adapter === null ? F32 * embedding : 0;
  return chunks + gradient + (onGpu || dtype === "float32" ? 0 : F32 * embedding);
}

/** Bytes of the gradients of one layer's activations, and of these when they are computed again. */
function layerWork(shape: ModelShape, workload: TorchWorkload): number {
  const experts = expertsOf(shape);
  const used = experts === null ? 0 : experts.used * experts.width;
  const { tokens, dtype, recompute, tensor } = workload;
  const gradients = (2 * elementBytes(dtype) * tokens * Math.max(used, shape.intermediate_size)) / tensor;
  return gradients + (recompute ? layerBytes(shape, workload) : 0);
}
