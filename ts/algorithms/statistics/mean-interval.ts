/** The mean of a sample and the interval that holds the true one. */
import { z } from "zod";

import { checkOptions, only } from "../../options.ts";
import { mean, standardDeviation } from "../moments.ts";
import { checkValues, fail } from "./check.ts";
import { betaQuantile, normalQuantile, studentQuantile } from "./distributions.ts";
import { createRng } from "../../random/rng.ts";

const METHODS = ["normal", "t", "wilson", "clopper_pearson", "bootstrap"] as const;
const RESAMPLES = 10_000;

export interface IntervalOptions {
  /**
   * `normal` (default) and `t` from the standard error; `wilson` and `clopper_pearson` for values of 0 and 1; `bootstrap` from the
   * percentiles of resampled means.
   */
  method?: (typeof METHODS)[number];
  /** Share of intervals that hold the true mean, between 0 and 1. Default 0.95. */
  level?: number;
  /** Seed of the bootstrap. Default 0. */
  seed?: number;
}

export interface MeanInterval {
  mean: number;
  /** Standard error of the mean, over n - 1; NaN for one value. */
  stderr: number;
  /** NaN where the method needs two values and gets one. */
  low: number;
  high: number;
}

const optionsSchema = only<IntervalOptions>({
  method: z.string().optional(),
  level: z.number().optional(),
  seed: z.number().optional(),
});

/** Errors: PRL_STATISTICS_INPUT for no values, values that are not finite, and values or options that the method does not take. */
export function meanInterval(values: readonly number[], options: IntervalOptions = {}): MeanInterval {
  checkOptions("PRL_STATISTICS_INPUT", "meanInterval", optionsSchema, options);
  const { method = "normal", level = 0.95, seed = 0 } = options;
  checkValues("meanInterval", values);
  if (!METHODS.includes(method)) fail(`meanInterval: no method "${method}"; there are ${METHODS.join(", ")}`);
  if (!(level > 0 && level < 1)) fail(`meanInterval: the level is ${level}; it lies between 0 and 1`);
  const middle = mean(values);
  const stderr = values.length < 2 ? Number.NaN : standardDeviation(values, true) / Math.sqrt(values.length);
  return { mean: middle, stderr, ...bounds({ values, middle, stderr }, { method, level, seed }) };
}

function bounds(
  { values, middle, stderr }: { values: readonly number[]; middle: number; stderr: number },
  { method, level, seed }: Required<IntervalOptions>,
): { low: number; high: number } {
  const n = values.length;
  const around = (half: number) => ({ low: middle - half, high: middle + half });
  switch (method) {
    case "normal":
      return around(normalQuantile(level) * stderr);
    case "t":
      return n < 2 ? around(Number.NaN) : around(studentQuantile(level, n - 1) * stderr);
    case "wilson":
      return wilson(successes(values, method), n, normalQuantile(level));
    case "clopper_pearson":
      return clopperPearson(successes(values, method), n, level);
    case "bootstrap":
      return bootstrap(values, level, seed);
  }
}

function successes(values: readonly number[], method: string): number {
  const other = values.find((value) => value !== 0 && value !== 1);
  if (other !== undefined) fail(`meanInterval: ${method} takes values of 0 and 1, not ${other}`);
  return values.reduce((sum, value) => sum + value, 0);
}

function wilson(c: number, n: number, score: number): { low: number; high: number } {
  const share = c / n;
  const scale = 1 + (score * score) / n;
  const centre = (share + (score * score) / (2 * n)) / scale;
  const half = (score / scale) * Math.sqrt((share * (1 - share)) / n + (score * score) / (4 * n * n));
  return { low: c === 0 ? 0 : centre - half, high: c === n ? 1 : centre + half };
}

function clopperPearson(c: number, n: number, level: number): { low: number; high: number } {
  const tail = (1 - level) / 2;
  return {
    low: c === 0 ? 0 : betaQuantile(tail, c, n - c + 1),
    high: c === n ? 1 : betaQuantile(1 - tail, c + 1, n - c),
  };
}

function bootstrap(values: readonly number[], level: number, seed: number): { low: number; high: number } {
  const rng = createRng(seed);
  const means = Float64Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[rng.integer(values.length)] ?? 0;
    return sum / values.length;
  }).sort();
  const tail = (1 - level) / 2;
  return { low: quantileOfSorted(means, tail), high: quantileOfSorted(means, 1 - tail) };
}

/** Quantile by linear interpolation between the two nearest values. */
export function quantileOfSorted(sorted: ArrayLike<number>, share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}
