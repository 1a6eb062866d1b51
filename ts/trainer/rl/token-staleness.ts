/** How many versions behind the trained policy the tokens of a batch were sampled. */
import type { TrainBatch } from "../../native/index.ts";

/** The version of tokens that no policy sampled. */
const NOT_SAMPLED = 0xffffffff;

/**
 * Mean and maximum of `step - 1 - version` over the tokens of the batch that train (mask 1) and that a version of the policy sampled.
 * Empty when there are none. A rollout is as old as its first token; a swap in its middle makes the later ones younger.
 */
export function tokenStaleness(
  { lossMask, policyVersionSpans }: Pick<TrainBatch, "lossMask" | "policyVersionSpans">,
  step: number,
): Record<string, number> {
  if (policyVersionSpans === undefined) return {};
  let tokens = 0;
  let sum = 0;
  let most = 0;
  for (let row = 0; row < policyVersionSpans.length; row += 2) {
    const version = policyVersionSpans[row + 1] ?? NOT_SAMPLED;
    if (version === NOT_SAMPLED) continue;
    const end = policyVersionSpans[row + 2] ?? lossMask.length;
    const behind = Math.max(0, step - 1 - version);
    let trained = 0;
    for (let index = policyVersionSpans[row] ?? 0; index < end; index++) trained += lossMask[index] ?? 0;
    if (trained === 0) continue;
    tokens += trained;
    sum += trained * behind;
    most = Math.max(most, behind);
  }
  return tokens === 0 ? {} : { "off_policy/tokens/mean": sum / tokens, "off_policy/tokens/max": most };
}
