/** Log-probabilities of a prompt. */
import type { TokenRanking } from "../../native/index.ts";
import type { ServerContext } from "../context.ts";
import { HttpError } from "../errors.ts";

/** Most attempts of a scoring during which the weights were swapped. */
const SCORE_ATTEMPTS = 3;

export interface PromptScores {
  tokenIds: Uint32Array;
  /** At temperature 1, one per token; 0 for the first. */
  logprobs: Float32Array;
  /** Null unless it was asked for. */
  ranking: TokenRanking | null;
  /** Version of the weights that scored. */
  version: number;
}

/**
 * Scores of a prompt, all under one version of the weights; with ranks and the `top` most probable tokens unless that is null. One that waits when the signal
 * is aborted is not scored; one that is being scored keeps its slot until the engine is done.
 */
export async function scorePrompt(
  context: ServerContext,
  tokenIds: Uint32Array,
  top: number | null,
  signal: AbortSignal,
): Promise<PromptScores> {
  const { model } = context;
  const boundaries = Uint32Array.of(0, tokenIds.length);
  for (let attempt = 0; attempt < SCORE_ATTEMPTS; attempt++) {
    const scored = await context.scorings.run(signal, async () => {
      const { version, digest } = model.stats();
      const scores =
        top === null
          ? { logprobs: await model.logprobs(tokenIds, boundaries), ranking: null }
          : await model.rankedLogprobs(tokenIds, boundaries, top);
      const after = model.stats();
      return after.version === version && after.digest === digest ? { tokenIds, ...scores, version } : null;
    });
    if (scored !== null) return scored;
  }
  throw new HttpError(
    503,
    "PRL_INFERENCE_FAILED",
    "the weights changed each time while the prompt was scored: try again",
  );
}
