/**
 * The reference policy of a run: a frozen model that scores the trained tokens, for losses with a KL term towards it.
 *
 * It costs one forward pass per batch and, beside the trainer's seven copies of the parameters, one more (packed for the kernels, with the
 * embedding for look-up), which a trainer of an adapter of the same model has already. It scores each token at the temperature at which it was sampled, as the policy is scored. Tokens of the
 * reference-KL stream keep the log-probabilities of the batch, because their reference is a teacher.
 */
import { loadModel, type LoadModelOptions, type TrainBatch } from "../../native/index.ts";

export interface ReferencePolicy {
  /** The batch with `referenceLogprobs` for every token. */
  score<B extends TrainBatch>(batch: B): Promise<B & { referenceLogprobs: Float32Array }>;
  close(): Promise<void>;
}

/** Errors: as `loadModel`; PRL_ENGINE_INPUT when a token is not in the reference's vocabulary. */
export async function openReference(
  dir: string,
  options: Pick<LoadModelOptions, "threads" | "dtype" | "baseDtype" | "weightsOf">,
): Promise<ReferencePolicy> {
  // The model only scores, so it needs no room for generation.
  const model = await loadModel(dir, { ...options, maxNumSeqs: 1, maxModelLen: 1, prefixCache: false });
  return {
    async score(batch) {
      const { inputIds, cuSeqlens, temperatures, refKlWeights, referenceLogprobs: given } = batch;
      const scored = new Float32Array(inputIds.length);
      for (const { first, last } of binsOf(batch)) {
        const start = cuSeqlens[first] ?? 0;
        const end = cuSeqlens[last] ?? 0;
        const boundaries = cuSeqlens.slice(first, last + 1).map((at) => at - start);
        const temperature = temperatures.slice(start, end);
        scored.set(await model.logprobs(inputIds.slice(start, end), boundaries, { temperature }), start);
      }
      if (refKlWeights !== undefined && given !== undefined) {
        refKlWeights.forEach((weight, t) => (weight === 0 ? undefined : (scored[t] = given[t] ?? 0)));
      }
      return { ...batch, referenceLogprobs: scored };
    },
    close: () => model.close(),
  };
}

/** Sequences of each bin. */
function binsOf({ cuSeqlens, binSeqOffsets }: TrainBatch): { first: number; last: number }[] {
  const offsets = binSeqOffsets ?? Uint32Array.of(0, cuSeqlens.length - 1);
  return Array.from(offsets.subarray(1), (last, bin) => ({ first: offsets[bin] ?? 0, last }));
}
