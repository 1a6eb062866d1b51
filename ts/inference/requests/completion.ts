/** Joins the engine's increments of one request and cuts chunks and stop strings out of them. */
import { firstExperts, type GenerateIncrement, type RequestTimes, type RoutedExperts } from "../../native/index.ts";
import { joinRankings, sliceRanking } from "./ranking.ts";
import type { Completion } from "./response.ts";

/**
 * Tracks the place of each increment in the completion. The engine counts policy versions over the whole completion; a chunk counts within
 * its own tokens and always says which version its first token has.
 */
export class CompletionCursor {
  /** Tokens before the next increment. */
  tokens = 0;
  cachedTokens = 0;
  /** The times of its parts, as the engine has given them last. */
  times: RequestTimes | null = null;
  readonly #experts: RoutedExperts[] = [];
  #version: number | null = null;

  next(increment: GenerateIncrement): Completion {
    const start = this.tokens;
    const versions: [number, number][] = [];
    for (const [first, version] of increment.policyVersions) {
      const at = Math.max(first - start, 0);
      if (at > 0 && versions.length === 0 && this.#version !== null) versions.push([0, this.#version]);
      if (versions.at(-1)?.[1] !== version) versions.push([at, version]);
      this.#version = version;
    }
    if (versions.length === 0 && increment.tokenIds.length > 0 && this.#version !== null)
      versions.push([0, this.#version]);
    this.tokens += increment.tokenIds.length;
    if (increment.routedExperts !== undefined) this.#experts.push(increment.routedExperts);
    this.times = increment.times ?? this.times;
    this.cachedTokens = Math.max(this.cachedTokens, increment.cachedTokens);
    const { tokenIds, logprobs, ranking = null, finishReason, stopReason } = increment;
    return { tokenIds, logprobs, ranking, policyVersions: versions, finishReason, stopReason };
  }

  /** The last chunk with the experts of `tokens` tokens in all, when there are any. */
  withExperts(last: Completion, tokens: number): Completion {
    const [first] = this.#experts;
    if (first === undefined) return last;
    const all = joinExperts(first, this.#experts);
    return { ...last, routedExperts: firstExperts(all, tokens) };
  }
}

/** The chunks of one request in order, as one completion. */
export function joinCompletions(chunks: readonly Completion[]): Completion {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const length = chunks.reduce((sum, chunk) => sum + chunk.tokenIds.length, 0);
  const tokenIds = new Uint32Array(length);
  const logprobs = new Float32Array(length);
  const policyVersions: [number, number][] = [];
  let offset = 0;
  for (const chunk of chunks) {
    tokenIds.set(chunk.tokenIds, offset);
    logprobs.set(chunk.logprobs, offset);
    for (const [first, version] of chunk.policyVersions) {
      if (policyVersions.at(-1)?.[1] !== version) policyVersions.push([offset + first, version]);
    }
    offset += chunk.tokenIds.length;
  }
  const last = chunks.at(-1);
  const rankings = chunks.flatMap(({ ranking }) => ranking ?? []);
  return {
    tokenIds,
    logprobs,
    ranking: rankings.length === 0 ? null : joinRankings(rankings),
    policyVersions,
    finishReason: last?.finishReason ?? null,
    stopReason: last?.stopReason ?? null,
    ...(last?.routedExperts !== undefined && { routedExperts: last.routedExperts }),
  };
}

function joinExperts({ layers, topK, ids }: RoutedExperts, parts: readonly RoutedExperts[]): RoutedExperts {
  const length = parts.reduce((sum, part) => sum + part.ids.length, 0);
  const all = new (ids instanceof Uint8Array ? Uint8Array : Uint16Array)(length);
  let offset = 0;
  for (const part of parts) {
    all.set(part.ids, offset);
    offset += part.ids.length;
  }
  return { layers, topK, ids: all };
}

/** The first `count` tokens of a chunk, ended by a stop string. */
export function endWithStopString(chunk: Completion, count: number, stop: string): Completion {
  return {
    tokenIds: chunk.tokenIds.slice(0, count),
    logprobs: chunk.logprobs.slice(0, count),
    ranking: chunk.ranking === null ? null : sliceRanking(chunk.ranking, count),
    policyVersions: chunk.policyVersions.filter(([first]) => first < count),
    finishReason: "stop",
    stopReason: stop,
  };
}
