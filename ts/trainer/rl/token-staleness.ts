/** How many versions behind the trained policy the tokens of a batch were sampled. */
import type { TrainBatch } from "../../native/index.ts";

/** The version of tokens that no policy sampled. */
const NOT_SAMPLED = 0xffffffff;

type Spans = Pick<TrainBatch, "lossMask" | "policyVersionSpans">;

/**
 * Mean and maximum of `step - 1 - version` over the tokens of a step's batches that train (mask 1) and that a version of the policy
 * sampled. Empty when there are none. A rollout is as old as its first token; a swap in its middle makes the later ones younger.
 */
export function tokenStaleness(batches: readonly Spans[], step: number): Record<string, number> {
  const total = { tokens: 0, sum: 0, most: 0 };
  for (const { lossMask, policyVersionSpans: spans = new Uint32Array() } of batches) {
    for (let row = 0; row < spans.length; row += 2) {
      const version = spans[row + 1] ?? NOT_SAMPLED;
      if (version === NOT_SAMPLED) continue;
      const end = spans[row + 2] ?? lossMask.length;
      const behind = Math.max(0, step - 1 - version);
      let trained = 0;
      for (let index = spans[row] ?? 0; index < end; index++) trained += lossMask[index] ?? 0;
      if (trained === 0) continue;
      total.tokens += trained;
      total.sum += trained * behind;
      total.most = Math.max(total.most, behind);
    }
  }
  const { tokens, sum, most } = total;
  return tokens === 0 ? {} : { "off_policy/tokens/mean": sum / tokens, "off_policy/tokens/max": most };
}
