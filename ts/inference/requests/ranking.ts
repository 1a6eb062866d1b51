/** Ranks and most probable tokens beside the sampled or scored ones, in vLLM's order. */
import type { TokenRanking } from "../../native/index.ts";

/** A token of a place, with its log-probability. */
export interface RankedToken {
  id: number;
  logprob: number;
  rank: number;
}

/** The ranking of the first `count` tokens. */
export function sliceRanking({ ranks, topTokenIds, topLogprobs }: TokenRanking, count: number): TokenRanking {
  const width = widthOf({ ranks, topTokenIds });
  return {
    ranks: ranks.slice(0, count),
    topTokenIds: topTokenIds.slice(0, count * width),
    topLogprobs: topLogprobs.slice(0, count * width),
  };
}

/** Rankings of consecutive tokens as one. */
export function joinRankings(rankings: readonly TokenRanking[]): TokenRanking {
  const sum = (part: keyof TokenRanking) => rankings.reduce((all, ranking) => all + ranking[part].length, 0);
  const joined: TokenRanking = {
    ranks: new Uint32Array(sum("ranks")),
    topTokenIds: new Uint32Array(sum("topTokenIds")),
    topLogprobs: new Float32Array(sum("topLogprobs")),
  };
  let [tokens, tops] = [0, 0];
  for (const { ranks, topTokenIds, topLogprobs } of rankings) {
    joined.ranks.set(ranks, tokens);
    joined.topTokenIds.set(topTokenIds, tops);
    joined.topLogprobs.set(topLogprobs, tops);
    tokens += ranks.length;
    tops += topTokenIds.length;
  }
  return joined;
}

export interface RankedTokens {
  tokenIds: Uint32Array;
  logprobs: Float32Array;
  ranking: TokenRanking;
}

/**
 * The tokens of place `index`: its own first, then the other ones of its `top` most probable tokens by falling probability. As in vLLM a
 * token among the most probable ones has its place there as rank.
 */
export function rankedAt({ tokenIds, logprobs, ranking }: RankedTokens, index: number, top: number): RankedToken[] {
  const width = widthOf(ranking);
  const own: RankedToken = {
    id: tokenIds[index] ?? 0,
    logprob: logprobs[index] ?? Number.NaN,
    rank: ranking.ranks[index] ?? 0,
  };
  const tokens = [own];
  for (let place = 0; place < Math.min(top, width); place++) {
    const at = index * width + place;
    const id = ranking.topTokenIds[at] ?? 0;
    if (id === own.id) own.rank = place + 1;
    else tokens.push({ id, logprob: ranking.topLogprobs[at] ?? Number.NaN, rank: place + 1 });
  }
  return tokens;
}

function widthOf({ ranks, topTokenIds }: Pick<TokenRanking, "ranks" | "topTokenIds">): number {
  return ranks.length === 0 ? 0 : topTokenIds.length / ranks.length;
}
