/** Samples completions with the engine, in chunks, cut at stop strings. */
import type { GenerateRequest } from "../../native/index.ts";
import type { DecodeStream } from "../../renderers/index.ts";
import { badWordTokens } from "./bad-words.ts";
import type { ActiveRequest } from "./active-request.ts";
import { CompletionCursor, endWithStopString, joinCompletions } from "./completion.ts";
import type { ServerContext } from "../context.ts";
import type { FinishReason } from "../request-metrics.ts";
import type { ParsedRequest } from "./request.ts";
import type { Completion, Usage } from "./response.ts";

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

/** Samples a completion in the chunks that the engine gives, cut at the first stop string, and counts it. */
export async function* sample(context: ServerContext, sampling: Sampling): AsyncGenerator<Completion> {
  const { parsed } = sampling;
  const watch = context.requestMetrics.begin({
    promptTokens: parsed.promptTokenIds.length,
    maxTokens: parsed.maxTokens,
    adapter: parsed.adapter,
    choices: parsed.choices,
    isGradual: isGradual(parsed),
  });
  let end: FinishReason = "abort";
  try {
    for await (const chunk of drawn(context, sampling)) {
      watch.tokens(chunk.tokenIds.length);
      end = chunk.finishReason ?? end;
      yield chunk;
    }
  } catch (error) {
    if (!sampling.signal.aborted) end = "error";
    throw error;
  } finally {
    watch.end(end, sampling.cursor.times);
  }
}

/** Whether tokens come as they are sampled: for streams, and where each may complete a stop string. */
function isGradual({ stream, stop }: ParsedRequest): boolean {
  return stream || stop.length > 0;
}

async function* drawn(
  context: ServerContext,
  { parsed, id, cursor, signal, cut }: Sampling,
): AsyncGenerator<Completion> {
  const text = parsed.stop.length === 0 ? null : await stopStream(context, parsed);
  const request = await toEngine(context, { parsed, id, finalOnly: !isGradual(parsed) });
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
      const given = stopped ?? chunk;
      const sampled = cursor.tokens - chunk.tokenIds.length + given.tokenIds.length;
      const computed = parsed.promptTokenIds.length + sampled - 1 - (parsed.routedExpertsFrom ?? 0);
      yield hasEnded ? cursor.withExperts(given, computed) : given;
      if (stopped !== null) return;
    }
  } catch (error) {
    if (cut?.aborted !== true || signal.aborted) throw error;
    if (!hasEnded) yield NOTHING_SAMPLED;
  }
}

/** The engine's request; the log-probabilities of other tokens cost time, so they are asked for only when they are wanted. */
async function toEngine(
  context: ServerContext,
  { parsed, id, finalOnly }: { parsed: ParsedRequest; id: string; finalOnly: boolean },
): Promise<GenerateRequest> {
  const { adapter, allowedTokenIds, badWords, cacheSalt, logprobs, routedExpertsFrom, structuredOutput } = parsed;
  return {
    id,
    promptTokenIds: parsed.promptTokenIds,
    maxTokens: parsed.maxTokens,
    minTokens: parsed.minTokens,
    temperature: parsed.temperature,
    topP: parsed.topP,
    topK: parsed.topK,
    minP: parsed.minP,
    repetitionPenalty: parsed.repetitionPenalty,
    frequencyPenalty: parsed.frequencyPenalty,
    presencePenalty: parsed.presencePenalty,
    logitBias: parsed.logitBias,
    seed: parsed.seed ?? context.nextSeed(),
    stopTokenIds: parsed.stopTokenIds,
    ignoreEos: parsed.ignoreEos,
    priority: parsed.priority,
    finalOnly,
    ...(allowedTokenIds === null ? {} : { allowedTokenIds }),
    ...(structuredOutput === null ? {} : { structuredOutput }),
    ...(badWords.length === 0 ? {} : { badWords: await badWordTokens(await context.tokenizer(), badWords) }),
    ...(logprobs === null || logprobs === 0 ? {} : { topLogprobs: logprobs }),
    ...(routedExpertsFrom === null ? {} : { routedExpertsFrom }),
    ...(cacheSalt === null ? {} : { cacheSalt }),
    ...(adapter === null ? {} : { adapter }),
  };
}

const NOTHING_SAMPLED: Completion = {
  tokenIds: new Uint32Array(0),
  logprobs: new Float32Array(0),
  ranking: null,
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

async function stopStream(context: ServerContext, parsed: ParsedRequest): Promise<DecodeStream> {
  const { stop, skipSpecialTokens, minTokens } = parsed;
  const tokenizer = await context.tokenizer();
  return tokenizer.decodeStream({ skipSpecialTokens, stop, stopAfter: minTokens });
}

export interface Sampled {
  completion: Completion;
  usage: Usage;
}

/** Choices, each sampled to its end. The failure of one ends all. */
export async function wholeChoices(
  context: ServerContext,
  requests: readonly ParsedRequest[],
  { active, cut }: { active: ActiveRequest; cut?: AbortSignal },
): Promise<Sampled[]> {
  const ending = new AbortController();
  const signal = requests.length === 1 ? active.signal : AbortSignal.any([active.signal, ending.signal]);
  const work = requests.map(async (parsed) => {
    const cursor = new CompletionCursor();
    const chunks: Completion[] = [];
    const sampling = { parsed, id: context.nextId(), cursor, signal, ...(cut !== undefined && { cut }) };
    for await (const chunk of sample(context, sampling)) chunks.push(chunk);
    return sampledOf(parsed, joinCompletions(chunks), cursor);
  });
  try {
    return await active.race(Promise.all(work));
  } finally {
    ending.abort();
  }
}

/** A completion with what it cost. */
export function sampledOf(
  { promptTokenIds }: ParsedRequest,
  completion: Completion,
  { cachedTokens }: CompletionCursor,
): Sampled {
  const usage = { promptTokens: promptTokenIds.length, completionTokens: completion.tokenIds.length, cachedTokens };
  return { completion, usage };
}
