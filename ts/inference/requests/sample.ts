/** Samples one completion with the engine, in chunks, cut at stop strings. */
import type { DecodeStream } from "../../renderers/index.ts";
import { type CompletionCursor, endWithStopString } from "./completion.ts";
import type { ServerContext } from "../context.ts";
import type { ParsedRequest } from "./request.ts";
import type { Completion } from "./response.ts";

export interface Sampling {
  parsed: ParsedRequest;
  id: string;
  /** Counts what is sampled. */
  cursor: CompletionCursor;
  /** An abort rejects. */
  signal: AbortSignal;
  /** An abort ends the completion as `abort`, with the tokens so far. */
  cut?: AbortSignal;
}

/** Samples a completion in the chunks that the engine gives, cut at the first stop string. */
export async function* sample(
  context: ServerContext,
  { parsed, id, cursor, signal, cut }: Sampling,
): AsyncGenerator<Completion> {
  const text = parsed.stop.length === 0 ? null : await stopStream(context, parsed.stop);
  const request = {
    id,
    promptTokenIds: parsed.promptTokenIds,
    maxTokens: parsed.maxTokens,
    minTokens: parsed.minTokens,
    temperature: parsed.temperature,
    topP: parsed.topP,
    topK: parsed.topK,
    seed: parsed.seed ?? context.nextSeed(),
    stopTokenIds: parsed.stopTokenIds,
    ignoreEos: parsed.ignoreEos,
    priority: parsed.priority,
    finalOnly: !parsed.stream && text === null,
    ...(parsed.cacheSalt === null ? {} : { cacheSalt: parsed.cacheSalt }),
  };
  // Both belong to this request and end with it.
  const ending = new AbortController();
  for (const one of [signal, cut]) {
    one?.addEventListener("abort", () => ending.abort(one.reason), { once: true });
    if (one?.aborted === true) ending.abort(one.reason);
  }
  let hasEnded = false;
  try {
    const increments = context.progress.over(context.model.generate([request], { signal: ending.signal }));
    for await (const increment of increments) {
      if (increment.error !== undefined) throw increment.error;
      const chunk = cursor.next(increment);
      const stopped = text === null ? null : cutAtStop(text, chunk);
      hasEnded = chunk.finishReason !== null || stopped !== null;
      yield stopped ?? chunk;
      if (stopped !== null) return;
    }
  } catch (error) {
    if (cut?.aborted !== true || signal.aborted) throw error;
    if (!hasEnded) yield NOTHING_SAMPLED;
  }
}

const NOTHING_SAMPLED: Completion = {
  tokenIds: new Uint32Array(0),
  logprobs: new Float32Array(0),
  policyVersions: [],
  finishReason: "abort",
  stopReason: null,
};

/** The chunk up to the token that completes a stop string, or null when none does. */
function cutAtStop(text: DecodeStream, chunk: Completion): Completion | null {
  for (const [index, id] of chunk.tokenIds.entries()) {
    text.push(id);
    if (text.stopReason !== null) return endWithStopString(chunk, index + 1, text.stopReason);
  }
  if (chunk.finishReason === null) return null;
  // Text that was withheld to the end, such as bytes of a character, may complete a stop string.
  text.flush();
  return text.stopReason === null ? null : endWithStopString(chunk, chunk.tokenIds.length, text.stopReason);
}

async function stopStream(context: ServerContext, stop: readonly string[]): Promise<DecodeStream> {
  const tokenizer = await context.tokenizer();
  return tokenizer.decodeStream({ skipSpecialTokens: true, stop });
}
