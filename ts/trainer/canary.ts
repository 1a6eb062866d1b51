/** The canary of a weight version: token ids whose log-probabilities every engine has to reproduce (ARCHITECTURE.md, "The life of a weight version"). */

import { PrlError } from "../errors.ts";
import { digest, type Canary, type Trainer } from "../native/index.ts";

const CANARY_TOKENS = 48;

/** Fixed ids spread over the vocabulary, at most `longest` of them; the same for every version of a run. */
export function canaryTokenIds(vocabSize: number, longest: number): Uint32Array {
  const ids = Array.from({ length: Math.min(CANARY_TOKENS, longest) }, (_, t) =>
    Number(BigInt(`0x${digest(`canary ${t}`)}`) % BigInt(vocabSize)),
  );
  return Uint32Array.from(ids);
}

/** Scores the canary with the trainer's current weights at temperature 1. Errors: PRL_TRAIN_NON_FINITE when a score is not finite. */
export async function scoreCanary(
  trainer: Pick<Trainer, "logprobs" | "isa" | "dtype">,
  tokenIds: Uint32Array,
): Promise<Canary> {
  const logprobs = await trainer.logprobs(tokenIds, Uint32Array.of(0, tokenIds.length));
  const bad = logprobs.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) {
    const what = `the policy's log-probability of token ${bad} of the canary is ${logprobs[bad]}`;
    throw new PrlError("PRL_TRAIN_NON_FINITE", `${what}: its weights hold NaN or infinities; start from others`);
  }
  return { tokenIds: [...tokenIds], logprobs: [...logprobs], isa: trainer.isa, dtype: trainer.dtype };
}
