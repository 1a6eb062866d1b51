/**
 * How well a step used its GPUs: `perf/throughput_per_gpu` (tokens/s) and `perf/mfu`, the share of the peak of bfloat16 that the operations of the
 * model reach (`ts/models/sizes/operations.ts`), in the seconds of forward, backward and optimizer. Empty on a processor, whose peak is not
 * known; without `perf/mfu` on a GPU whose speeds are not in the table, and for a model whose sizes are not known.
 */
import type { AdapterShape, ModelShape, StepTokens } from "../models/index.ts";
import type { Batch } from "../native/index.ts";

/** GPUs that train, and what they train. */
export interface Accelerators {
  readonly count: number;
  /** Operations per second of bfloat16 of one of them; null: not known. */
  readonly peak: number | null;
  readonly operations: ((tokens: StepTokens) => number) | null;
}

type Counted = Pick<Batch, "inputIds" | "cuSeqlens" | "lossMask" | "ceWeights" | "refKlWeights">;

export function stepSpeeds(
  accelerators: Accelerators | null,
  batches: readonly Counted[],
  seconds: number,
): Record<string, number> {
  if (accelerators === null) return {};
  const { count, peak, operations } = accelerators;
  const tokens = countTokens(batches);
  const perGpu = { "perf/throughput_per_gpu": tokens.all / seconds / count };
  if (peak === null || operations === null) return perGpu;
  return { ...perGpu, "perf/mfu": operations(tokens) / seconds / (count * peak) };
}

/** The peak and the work of GPUs of this name in CUDA for a model, whose config.json is `config`. `adapter`: null where all weights train. */
export async function acceleratorsOf(
  { name, count }: { readonly name: string; readonly count: number },
  config: unknown,
  adapter: AdapterShape | null,
): Promise<Accelerators> {
  const { modelShape, reportedDevice, trainingOperations } = await import("../models/index.ts");
  const shape: ModelShape | null = modelShape(config);
  const operations = shape === null ? null : (tokens: StepTokens) => trainingOperations(shape, adapter, tokens);
  return { count, peak: reportedDevice(name)?.bf16 ?? null, operations };
}

function countTokens(batches: readonly Counted[]): StepTokens {
  let [all, trained, squares] = [0, 0, 0];
  for (const { inputIds, cuSeqlens, lossMask, ceWeights, refKlWeights } of batches) {
    all += inputIds.length;
    for (let at = 1; at < cuSeqlens.length; at++) squares += ((cuSeqlens[at] ?? 0) - (cuSeqlens[at - 1] ?? 0)) ** 2;
    for (let at = 0; at < inputIds.length; at++)
      if (lossMask[at] === 1 || (ceWeights?.[at] ?? 0) !== 0 || (refKlWeights?.[at] ?? 0) !== 0) trained += 1;
  }
  return { all, trained, squares };
}
