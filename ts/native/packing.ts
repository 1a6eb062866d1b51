/**
 * Packing samples into bins and bins into the columnar batch of design section 6. Public as `prl/packing`.
 * Synchronous.
 */

import { addon } from "./addon.ts";
import { whole, wholes } from "./checks.ts";
import { native, nativeAsync } from "./errors.ts";

/** One training sample: a root-to-leaf branch of a trace. All arrays have one entry per token. */
export interface Sample {
  tokenIds: Uint32Array;
  /** 1 where the token was sampled and trains. The first token's is 0. */
  mask: Uint8Array;
  /** Of the sampler; 0 where nothing was sampled. */
  logprobs: Float32Array;
  advantages: Float32Array;
  temperature: number;
  envId: number;
  /** Pairs (token index, policy version), flat; version 0xFFFFFFFF where nothing was sampled; the first index is 0. */
  policyVersionSpans: Uint32Array;
  rlWeights?: Float32Array;
  ceWeights?: Float32Array;
  refKlWeights?: Float32Array;
  referenceLogprobs?: Float32Array;
}

/** One rank's batch: the columns of design section 6 (T tokens, S sequences, B bins, K version spans). */
export interface Batch {
  inputIds: Uint32Array;
  inferenceLogprobs: Float32Array;
  advantages: Float32Array;
  temperatures: Float32Array;
  lossMask: Uint8Array;
  /** S + 1 offsets over the whole rank, padding included. */
  cuSeqlens: Uint32Array;
  envIds: Uint16Array;
  /** B + 1 offsets into the sequences. */
  binSeqOffsets: Uint32Array;
  /** 2 K numbers: (token index, version). */
  policyVersionSpans: Uint32Array;
  rlWeights?: Float32Array;
  ceWeights?: Float32Array;
  refKlWeights?: Float32Array;
  referenceLogprobs?: Float32Array;
  /** Members of the three loss streams over all ranks of the step: the denominators. */
  counts: { rl: number; ce: number; refKl: number };
}

const INPUT = "PRL_PACKING_INPUT";
const MAX_ENV_ID = 0xffff;

/**
 * First-fit-decreasing packing of `lengths` into bins of `seqLen` tokens. Bin `i` belongs to rank `i % ranks`; the number of bins is a
 * multiple of `ranks`; longer samples count as `seqLen`. `cost` (default: tokens) is what the ranks are balanced by.
 */
export function packSequences(
  lengths: ArrayLike<number>,
  { seqLen, ranks = 1, cost }: { seqLen: number; ranks?: number; cost?: ArrayLike<number> },
): Uint32Array[] {
  const tokens = wholes(INPUT, "lengths", lengths);
  const size = whole(INPUT, "seqLen", seqLen);
  const count = whole(INPUT, "ranks", ranks);
  const costs = cost === undefined ? null : Float64Array.from(cost);
  return native(() => addon().packSequences(tokens, size, count, costs));
}

/** Builds one batch per rank from a plan of `packSequences`. Samples longer than `seqLen` are cut at their end. */
export function buildBatch(
  samples: readonly Sample[],
  plan: readonly Uint32Array[],
  {
    seqLen = 0xffffffff,
    ranks = 1,
    padToMultipleOf = 1,
    padTokenId = 0,
  }: { seqLen?: number; ranks?: number; padToMultipleOf?: number; padTokenId?: number } = {},
): Batch[] {
  const nativeSamples = samples.map((sample, i) => ({
    ...sample,
    envId: whole(INPUT, `samples[${i}].envId`, sample.envId, { max: MAX_ENV_ID }),
    rlWeights: sample.rlWeights ?? null,
    ceWeights: sample.ceWeights ?? null,
    refKlWeights: sample.refKlWeights ?? null,
    referenceLogprobs: sample.referenceLogprobs ?? null,
  }));
  const options = {
    seqLen: whole(INPUT, "seqLen", seqLen),
    ranks: whole(INPUT, "ranks", ranks),
    padToMultipleOf: whole(INPUT, "padToMultipleOf", padToMultipleOf),
    padTokenId: whole(INPUT, "padTokenId", padTokenId),
  };
  return native(() => addon().buildBatch(nativeSamples, [...plan], options)).map(fromNative);
}

/** What a batch file says of itself (design section 6). */
export interface BatchKey {
  runId: string;
  attempt: number;
  step: number;
  rank: number;
  /** Names that the batch's `envIds` stand for. */
  envNames: string[];
}

/** Writes a rank's batch atomically (temp file, fsync, rename). Returns the digest of its data. */
export async function writeBatch(path: string, batch: Batch, key: BatchKey): Promise<string> {
  const numbers = {
    attempt: whole(INPUT, "attempt", key.attempt),
    step: whole(INPUT, "step", key.step),
    rank: whole(INPUT, "rank", key.rank),
  };
  return nativeAsync(() => addon().writeBatch(path, toNative(batch), { ...key, ...numbers }));
}

/** Reads and checks a batch file, its digest and its path included: PRL_WEIGHTS_FORMAT, PRL_BATCH_INVALID. */
export async function readBatch(path: string): Promise<{ batch: Batch; key: BatchKey }> {
  const { batch, key } = await nativeAsync(() => addon().readBatch(path));
  return { batch: fromNative(batch), key };
}

type NativeBatch = ReturnType<ReturnType<typeof addon>["buildBatch"]>[number];

function fromNative({
  rlWeights,
  ceWeights,
  refKlWeights,
  referenceLogprobs,
  nRl,
  nCe,
  nRefKl,
  ...columns
}: NativeBatch): Batch {
  return {
    ...columns,
    ...(rlWeights === null ? {} : { rlWeights }),
    ...(ceWeights === null ? {} : { ceWeights }),
    ...(refKlWeights === null ? {} : { refKlWeights }),
    ...(referenceLogprobs === null ? {} : { referenceLogprobs }),
    counts: { rl: nRl, ce: nCe, refKl: nRefKl },
  };
}

function toNative(batch: Batch): NativeBatch {
  const { counts, ...columns } = batch;
  return {
    ...columns,
    rlWeights: batch.rlWeights ?? null,
    ceWeights: batch.ceWeights ?? null,
    refKlWeights: batch.refKlWeights ?? null,
    referenceLogprobs: batch.referenceLogprobs ?? null,
    nRl: counts.rl,
    nCe: counts.ce,
    nRefKl: counts.refKl,
  };
}
