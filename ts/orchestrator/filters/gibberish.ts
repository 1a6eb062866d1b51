/**
 * Gibberish: a rare token that the policy itself found almost impossible. Byte-pair vocabularies are ordered by frequency, so a high id is
 * a rare piece of text; sampled far below the uniform log-probability -ln(vocabulary) (-11.9 for 150,000) it is noise of the tail, and one
 * such token often turns what follows into nonsense. prime-rl had this filter before it turned to gates.
 */
import type { TraceColumns } from "../../native/index.ts";

export interface GibberishLimits {
  tokenIdThreshold: number;
  maxLogprob: number;
}

/** Whether any token that trains is gibberish. */
export function isGibberish({ tokenIds, mask, logprobs }: TraceColumns, limits: GibberishLimits): boolean {
  return tokenIds.some(
    (id, t) => mask[t] === 1 && id >= limits.tokenIdThreshold && (logprobs[t] ?? 0) < limits.maxLogprob,
  );
}
