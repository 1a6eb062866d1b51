/** Unbiased estimates, from n tries, of what a model would reach with k tries. */
import { fail } from "./check.ts";

/**
 * Probability that at least one of k tries is right: 1 - C(n-c, k) / C(n, k), computed as a product so that no binomial overflows.
 *
 * @param n tries, @param c right ones among them, @param k 1 to n. Errors: PRL_STATISTICS_INPUT.
 */
export function passAtK(n: number, c: number, k: number): number {
  checkCounts("passAtK", n, c, k);
  if (n - c < k) return 1;
  let allWrong = 1;
  for (let i = 0; i < k; i++) allWrong *= (n - c - i) / (n - i);
  return 1 - allWrong;
}

/** Probability that all of k tries are right: C(c, k) / C(n, k). Arguments and errors as `passAtK`. */
export function passHatK(n: number, c: number, k: number): number {
  checkCounts("passHatK", n, c, k);
  if (c < k) return 0;
  let allRight = 1;
  for (let i = 0; i < k; i++) allRight *= (c - i) / (n - i);
  return allRight;
}

function checkCounts(name: string, n: number, c: number, k: number): void {
  if (![n, c, k].every(Number.isSafeInteger)) fail(`${name}: n, c and k are integers, not ${n}, ${c} and ${k}`);
  if (c < 0 || c > n) fail(`${name}: ${c} of ${n} tries cannot be right`);
  if (k < 1 || k > n) fail(`${name}: k is ${k}; it lies between 1 and the number of tries, ${n}`);
}
