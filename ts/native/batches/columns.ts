/**
 * The columns of samples, batches, traces and losses: one declaration for all of TypeScript, taken from the types that the build of the
 * addon generates. What is null there is absent here.
 *
 * Lengths: T tokens, S sequences, B bins, K version spans (ARCHITECTURE.md, "Batch format"). Every column has T entries where its comment
 * names no other length. Version 0xFFFFFFFF marks tokens that no policy sampled.
 */
import { z } from "zod";

import type {
  NativeBatch,
  NativeLossCall,
  NativeRoutedExperts,
  NativeSample,
  NativeTraceColumns,
  NativeTraceStreams,
} from "#native";
import { float32, number, only, type Shape, uint16, uint32, uint8 } from "../../options.ts";

type OrAbsent<Native> = { [Key in keyof Native as null extends Native[Key] ? never : Key]: Native[Key] } & {
  [Key in keyof Native as null extends Native[Key] ? Key : never]?: Exclude<Native[Key], null>;
};
type StreamName = "rlWeights" | "ceWeights" | "refKlWeights" | "referenceLogprobs";
type Streams = Pick<NativeBatch, StreamName>;

/**
 * Weights of each token in the three losses. Absent: 1 for `rl` on the mask, 0 for the others. `referenceLogprobs` are log-probabilities of a
 * reference policy, where `refKlWeights` or the loss needs them.
 */
export interface LossStreams extends OrAbsent<Streams> {}

/**
 * The experts that each token went to when it was sampled (router replay): `[T, layers, topK]`, row-major. 255 or 65535, the type's
 * greatest, stands where none is recorded. Samples of a step agree in layers, topK and type.
 */
export interface RoutedExperts extends Pick<NativeRoutedExperts, "layers" | "topK"> {
  ids: Uint8Array | Uint16Array;
}

/**
 * One training sample: a root-to-leaf branch of a trace.
 *
 * `mask` is 1 where the token was sampled and trains; the first token's is 0. `logprobs` are the sampler's, 0 where nothing was sampled. The
 * first index in `policyVersionSpans` is 0.
 */
export interface Sample extends OrAbsent<Omit<NativeSample, "routedExperts">> {
  routedExperts?: RoutedExperts;
}

type Columns = OrAbsent<Omit<NativeBatch, "routedExperts" | "counts">>;
/** A batch to train on may lack them; one that is packed and stored has them. */
type Layout = "envIds" | "binSeqOffsets" | "policyVersionSpans";

/** One rank's batch. `cuSeqlens` are offsets over the whole rank, padding included; `binSeqOffsets` are offsets into the sequences. */
export interface Batch extends Omit<Columns, Layout>, Required<Pick<Columns, Layout>> {
  /** Present when a sample of the step records them; padding and the other samples have none. */
  routedExperts?: RoutedExperts;
  /** Members of the three loss streams over all ranks of the step: the denominators. */
  counts: { rl: number; ce: number; refKl: number };
  /** Sequences with a member of the rl stream over all ranks; absent when a file does not say. */
  rlSequences?: number;
}

/** A batch to train on. Without `counts` they are counted in this batch. */
export type TrainBatch = Partial<Batch> &
  Pick<Batch, "inputIds" | "inferenceLogprobs" | "advantages" | "temperatures" | "lossMask" | "cuSeqlens"> & {
    /** Tokens of sequences that this version sampled completely are counted in the `mismatch_on_policy/*` metrics. */
    onPolicyVersion?: number;
  };

/**
 * The tokens of a trace: all branches, one after the other, T tokens in total. `mask` and `logprobs` are those of a sample. `versionSpans`
 * ascend, are cut at every branch start, and the first is at 0; branch b is the tokens from `branchOffsets[b]` to `branchOffsets[b + 1]`.
 */
export interface TraceColumns extends NativeTraceColumns {
  /** Where the sampler recorded them; copies of a rollout's columns are without. */
  routedExperts?: RoutedExperts;
}

/**
 * The values that an algorithm gives each token of a trace, over all its branches. Absent streams have the defaults of a sample; `advantages` stand in place
 * of one advantage for all sampled tokens.
 */
export interface TraceStreams extends OrAbsent<NativeTraceStreams> {}

/**
 * The columns of one micro-batch: T tokens in packed sequences. `logprobs` are those of the policy being trained, 0 where nothing trains.
 * `mask` is 1 where the token was sampled and trains.
 */
export interface CustomLossInputs extends OrAbsent<Omit<NativeLossCall, "counts">> {
  /** Counts of the whole batch, over all micro-batches and ranks. */
  counts: Batch["counts"] & { sequences: number };
}

// ---- checks ----

const streams: Shape<LossStreams> = {
  rlWeights: float32.optional(),
  ceWeights: float32.optional(),
  refKlWeights: float32.optional(),
  referenceLogprobs: float32.optional(),
};

const routedExperts = only<RoutedExperts>({
  layers: z.number(),
  topK: z.number(),
  ids: z.union([uint8, uint16]),
});

export const sampleSchema = only<Sample>({
  tokenIds: uint32,
  mask: uint8,
  logprobs: float32,
  advantages: float32,
  temperature: z.number(),
  envId: number,
  policyVersionSpans: uint32,
  ...streams,
  routedExperts: routedExperts.optional(),
});

export const trainBatchSchema = only<TrainBatch>({
  inputIds: uint32,
  inferenceLogprobs: float32,
  advantages: float32,
  temperatures: float32,
  lossMask: uint8,
  cuSeqlens: uint32,
  envIds: uint16.optional(),
  binSeqOffsets: uint32.optional(),
  policyVersionSpans: uint32.optional(),
  ...streams,
  routedExperts: routedExperts.optional(),
  counts: only<Batch["counts"]>({ rl: z.number(), ce: z.number(), refKl: z.number() }).optional(),
  rlSequences: z.number().optional(),
  onPolicyVersion: number.nullish(),
});

// ---- absent here, null in the addon ----

export function streamsToNative({
  rlWeights = null,
  ceWeights = null,
  refKlWeights = null,
  referenceLogprobs = null,
}: Partial<Streams>): Streams {
  return { rlWeights, ceWeights, refKlWeights, referenceLogprobs };
}

export function withoutNulls<Native extends object>(record: Native): OrAbsent<Native> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)) as OrAbsent<Native>;
}
