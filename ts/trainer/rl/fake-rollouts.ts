/**
 * Random batches in place of a run's, to measure the speed and memory of a trainer alone.
 *
 * Sequences have equal length, half prompt, half completion; tokens, advantages and log-probabilities depend on the seed and the step.
 * The log-probabilities are those of a policy that knows nothing, so that the loss of a random model is finite and small.
 */
import { createRng } from "../../random/rng.ts";
import type { FakeData } from "../../config/index.ts";
import { buildBatch, type Sample } from "../../native/index.ts";
import type { RolloutReceiver } from "../../transports/index.ts";

const NOT_SAMPLED = 0xffffffff;

export interface FakeRolloutsOptions {
  fake: FakeData;
  /** Tokens of a sequence where `fake` names none. */
  seqLen: number;
  /** Token ids are below this. */
  vocabSize: number;
  seed: number;
  /** Ranks that share the sequences. Default 1. */
  ranks?: number;
}

/** An endless receiver whose batches are ready at once. */
export function fakeRollouts({ fake, seqLen, vocabSize, seed, ranks = 1 }: FakeRolloutsOptions): RolloutReceiver {
  const { batch_size: batchSize, micro_batch_size: microBatchSize } = fake;
  const length = fake.seq_len ?? seqLen;
  const bins = Array.from({ length: Math.ceil(batchSize / microBatchSize) }, (_, bin) => {
    const first = bin * microBatchSize;
    return Uint32Array.from({ length: Math.min(microBatchSize, batchSize - first) }, (_index, i) => first + i);
  });
  return {
    async receive(step, rank) {
      const rng = createRng(seed + step);
      const samples = Array.from({ length: batchSize }, (_, i): Sample => {
        const prompt = Math.floor(length / 2);
        const isSampled = (t: number): boolean => t >= prompt;
        return {
          tokenIds: Uint32Array.from({ length }, () => rng.integer(vocabSize)),
          mask: Uint8Array.from({ length }, (_token, t) => (isSampled(t) ? 1 : 0)),
          logprobs: Float32Array.from({ length }, (_token, t) => (isSampled(t) ? -Math.log(vocabSize) : 0)),
          advantages: Float32Array.from({ length }, (_token, t) => (isSampled(t) ? (i % 2 === 0 ? 1 : -1) : 0)),
          temperature: 1,
          envId: 0,
          policyVersionSpans: Uint32Array.of(0, NOT_SAMPLED, prompt, step - 1),
        };
      });
      const batch = buildBatch(samples, bins, { seqLen: microBatchSize * length, ranks })[rank];
      if (batch === undefined) throw new RangeError(`there is no rank ${rank}`);
      return { ...batch, envNames: ["fake"] };
    },
    close: async () => undefined,
  };
}
