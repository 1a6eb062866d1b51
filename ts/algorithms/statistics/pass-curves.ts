/**
 * pass@k (any of k tries passes) and pass^k (all of them do) over the tasks of an evaluation, each with the interval of its mean.
 *
 * Every task has the same number n of tries; k goes through the powers of two up to n, and n itself. The estimate of a task is unbiased
 * (`pass-at-k.ts`), and tasks are independent, so the interval is Student's over their estimates, cut to [0, 1]; where every estimate is 0 or 1
 * (k = n) it is Wilson's.
 */
import { meanInterval } from "./mean-interval.ts";
import { passAtK, passHatK } from "./pass-at-k.ts";

export interface PassRate {
  mean: number;
  /** Lower end of the 95 % interval; NaN for a single task whose estimate is neither 0 nor 1. */
  low: number;
  high: number;
}

/** By k. */
export type PassCurve = Record<string, PassRate>;

const LEVEL = 0.95;

/** `passes`: how many of a task's `tries` passed, by task. Empty without tasks. */
export function passCurves(passes: readonly number[], tries: number): { at: PassCurve; hat: PassCurve } {
  const curve = (estimate: (n: number, c: number, k: number) => number): PassCurve => {
    if (passes.length === 0) return {};
    return Object.fromEntries(triesUpTo(tries).map((k) => [k, rate(passes.map((c) => estimate(tries, c, k)))]));
  };
  return { at: curve(passAtK), hat: curve(passHatK) };
}

function rate(estimates: readonly number[]): PassRate {
  const isBinary = estimates.every((estimate) => estimate === 0 || estimate === 1);
  const { mean, low, high } = meanInterval(estimates, { method: isBinary ? "wilson" : "t", level: LEVEL });
  return { mean, low: Math.max(0, low), high: Math.min(1, high) };
}

function triesUpTo(tries: number): number[] {
  const powers = Array.from({ length: 31 }, (_, power) => 2 ** power).filter((k) => k <= tries);
  return [...new Set([...powers, tries])];
}
