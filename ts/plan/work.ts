/**
 * The operations of a step, and the times that they take on a device.
 *
 * | of a token of a batch         | operations, a product and a sum being two                                                     |
 * | ----------------------------- | --------------------------------------------------------------------------------------------- |
 * | matrices of the layers        | 6 N (Kaplan et al., arXiv:2001.08361), 4 N when they are frozen, 2 N more when recomputed      |
 * | attention                     | 12 layers x q x bin; 4 layers x q x bin more when recomputed: with masks, all of a bin counts; |
 * |                               | in bfloat16 on a GPU half of the mean sequence counts in place of the bin                      |
 * | head, in f32                  | 8 E: the logits twice, the gradients of hidden states and of weights; 6 E if it is frozen      |
 * | adapter, in f32               | 6 A, 2 A more when recomputed                                                                  |
 * | a reference model of the loss | 2 N + 4 layers x q x bin, and 2 E in f32                                                       |
 *
 * N counts the parameters of the layers that a token uses. An adapter is computed in float32 without TF32, which is slower by the ratio of the
 * device's two speeds; the head too, but in bfloat16 on a GPU (`prl_torch/head.py`). Decoding reads all weights and the keys and values of all running sequences for each token.
 */
import {
  adapterParameters,
  countParameters,
  countSparseLayers,
  expertsOf,
  type ModelShape,
  sizesOf,
} from "../models/index.ts";
import type { Device } from "../models/index.ts";
import type { TorchWorkload } from "./torch-memory.ts";
import { elementBytes, isHalfOnGpu } from "./torch-memory.ts";
import { kvBytesPerToken, servedWeights, type VllmWorkload } from "./vllm-memory.ts";

/** Operations, by the format in which they are computed. */
export interface Work {
  readonly bf16: number;
  readonly f32: number;
}

/** Tokens of a batch. */
export interface BatchTokens {
  readonly all: number;
  /** Those that train: prompts do not go through the head. */
  readonly trained: number;
  /** Mean tokens of a sequence. */
  readonly sequence: number;
}

/** Operations of the trainer for a batch. */
export function trainingWork(shape: ModelShape, workload: TorchWorkload, tokens: BatchTokens): Work {
  const { adapter, recompute, hasReference, dtype } = workload;
  const { active, outside } = countParameters(shape);
  const { layers, q, embedding } = sizesOf(shape);
  const matrices = active - outside;
  const isHalf = isHalfOnGpu(workload);
  const attention = 4 * layers * q * (isHalf ? tokens.sequence / 2 : workload.tokens * workload.context);
  const again = recompute ? 1 : 0;
  const adapted = adapter === null ? 0 : adapterParameters(shape, adapter) * (6 + 2 * again);
  const body =
    matrices * ((adapter === null ? 6 : 4) + 2 * again) +
    attention * (3 + again) +
    (hasReference ? 2 * matrices + attention : 0);
  const head = tokens.trained * embedding * ((adapter === null ? 8 : 6) + (hasReference ? 2 : 0));
  const single = tokens.all * adapted + (isHalf ? 0 : head);
  const half = tokens.all * body + (isHalf ? head : 0);
  return dtype === "bfloat16" ? { bf16: half, f32: single } : { bf16: 0, f32: half + single };
}

/** Seconds for these operations on `gpus` devices that reach the share `mfu` of their speed. */
export function secondsOf(work: Work, device: Device, { gpus, mfu }: { gpus: number; mfu: number }): number {
  return (work.bf16 / device.bf16 + work.f32 / device.f32) / (gpus * mfu);
}

export interface DecodeLoad {
  /** Sequences that are decoded together on a server. */
  readonly sequences: number;
  /** Mean tokens of a sequence in the KV cache. */
  readonly length: number;
  /** Share of the memory's bandwidth that is reached. */
  readonly bandwidth: number;
  /** Share of the speed that is reached. */
  readonly mfu: number;
}

/** Seconds of one step of a server, which gives each running sequence one token. */
export function decodeSeconds(shape: ModelShape, device: Device, server: VllmWorkload, load: DecodeLoad): number {
  return decoder(shape, device, server, load)(load.sequences, load.sequences * load.length);
}

/** The same as a function of the running sequences and of their tokens in the KV cache together, for a simulation that asks often. */
export function decoder(
  shape: ModelShape,
  device: Device,
  server: VllmWorkload,
  reached: Pick<DecodeLoad, "bandwidth" | "mfu">,
): (sequences: number, tokens: number) => number {
  const { tensorParallel, dtype } = server;
  const perToken = kvBytesPerToken(shape, tensorParallel, dtype);
  const speed = (dtype === "bfloat16" ? device.bf16 : device.f32) * reached.mfu;
  const bandwidth = device.bandwidth * reached.bandwidth;
  const flops = (2 * decodedParameters(shape)) / tensorParallel;
  const weights: number[] = [];
  return (sequences, tokens) => {
    const read = (weights[sequences] ??= readWeights(shape, server, sequences) / tensorParallel);
    return Math.max((read + tokens * perToken) / bandwidth, (flops * sequences) / speed);
  };
}

/** Seconds for a prompt of so many tokens on a server. */
export function prefillSeconds(
  shape: ModelShape,
  device: Device,
  server: VllmWorkload,
  load: { tokens: number; mfu: number },
): number {
  const { layers, q } = sizesOf(shape);
  // Attention without masks sees half of the prompt on average.
  const attention = 2 * layers * q * load.tokens;
  const flops = load.tokens * (2 * decodedParameters(shape) + attention);
  const speed = server.dtype === "bfloat16" ? device.bf16 : device.f32;
  return flops / (server.tensorParallel * speed * load.mfu);
}

/** Parameters that a token is multiplied by: a look-up in the embedding is no product. */
function decodedParameters(shape: ModelShape): number {
  const { embedding, isTied } = sizesOf(shape);
  return countParameters(shape).active - (isTied ? 0 : embedding);
}

/** Bytes of the weights that a step of so many tokens reads. Of experts those that one of the tokens uses, when each is as likely. */
function readWeights(shape: ModelShape, server: VllmWorkload, tokens: number): number {
  const { embedding, isTied, hidden } = sizesOf(shape);
  const all = servedWeights(shape, server) - (isTied ? 0 : embedding * elementBytes(server.dtype));
  const experts = expertsOf(shape);
  if (experts === null) return all;
  const { count, used, width } = experts;
  const idle = (1 - used / count) ** tokens;
  const bytes = server.quantization === "fp8" ? 1 : elementBytes(server.dtype);
  return all - idle * countSparseLayers(shape) * 3 * count * hidden * width * bytes;
}
