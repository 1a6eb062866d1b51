/** Random lengths and times. */
import type { Rng } from "../random/rng.ts";

export interface Lengths {
  /** Mean of the lengths before the longest are cut. */
  readonly completionTokens: number;
  readonly longestCompletion: number;
  /** Standard deviation as a share of the mean. */
  readonly spread: number;
}

/** Tokens of a completion: log-normal, cut at the longest, at least 1. */
export function completionLength(rng: Rng, { completionTokens: mean, longestCompletion, spread }: Lengths): number {
  const variance = Math.log(1 + spread ** 2);
  const drawn = mean * Math.exp(Math.sqrt(variance) * normal(rng) - variance / 2);
  return Math.max(1, Math.min(longestCompletion, Math.round(drawn)));
}

/** Exponentially distributed around a mean. */
export function exponential(rng: Rng, mean: number): number {
  return -mean * Math.log(1 - rng.next());
}

/** Standard normal (Box and Muller, 1958). */
function normal(rng: Rng): number {
  return Math.sqrt(-2 * Math.log(1 - rng.next())) * Math.cos(2 * Math.PI * rng.next());
}
