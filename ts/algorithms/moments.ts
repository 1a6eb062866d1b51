/** Mean, deviations and standard deviation of a few rewards, exact where the rewards are all equal. */

/**
 * Arithmetic mean of at least one value, computed as the first value plus the mean distance to it: for equal values it
 * is that value, bit for bit, so that a group without a signal has advantages of exactly 0 and can be recognised.
 */
export function mean(values: readonly number[]): number {
  const first = values[0] ?? 0;
  let distance = 0;
  for (const value of values) distance += value - first;
  return first + distance / values.length;
}

/** Each value minus their mean. */
export function centred(values: readonly number[]): number[] {
  const middle = mean(values);
  return values.map((value) => value - middle);
}

/** Standard deviation over n - 1 (`unbiased`) or n; of fewer than two values it is 0. */
export function standardDeviation(values: readonly number[], unbiased: boolean): number {
  if (values.length < 2) return 0;
  const squares = centred(values).reduce((sum, deviation) => sum + deviation * deviation, 0);
  return Math.sqrt(squares / (unbiased ? values.length - 1 : values.length));
}

/** The advantage of a group with a single valid reward: 0, or the reward as if its baseline were 0. */
export function singletonAdvantage(reward: number, singleton: 0 | "raw"): number {
  return singleton === "raw" ? reward : 0;
}
