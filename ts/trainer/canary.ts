/** The canary of a weight version: token ids whose log-probabilities every engine has to reproduce (design section 4). */

import { digest, type Canary, type Trainer } from "../native/index.ts";

const CANARY_TOKENS = 48;

/** Fixed ids spread over the vocabulary, at most `longest` of them; the same for every version of a run. */
export function canaryTokenIds(vocabSize: number, longest: number): Uint32Array {
  const ids = Array.from({ length: Math.min(CANARY_TOKENS, longest) }, (_, t) =>
    Number(BigInt(`0x${digest(`canary ${t}`)}`) % BigInt(vocabSize)),
  );
  return Uint32Array.from(ids);
}

/** Scores the canary with the trainer's current weights at temperature 1. */
export async function scoreCanary(trainer: Trainer, tokenIds: Uint32Array): Promise<Canary> {
  const logprobs = await trainer.logprobs(tokenIds, Uint32Array.of(0, tokenIds.length));
  return { tokenIds: [...tokenIds], logprobs: [...logprobs], isa: trainer.isa, dtype: "float32" };
}
