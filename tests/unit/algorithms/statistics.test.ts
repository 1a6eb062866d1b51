import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  majorityVote,
  meanInterval,
  median,
  passAtK,
  passHatK,
  percentile,
  weightedMean,
} from "../../../ts/algorithms/index.ts";
import { PrlError } from "../../../ts/errors.ts";

const code = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof PrlError) return error.code;
  }
  return "none";
};

const counts = fc
  .integer({ min: 1, max: 9 })
  .chain((n) => fc.tuple(fc.constant(n), fc.integer({ min: 0, max: n }), fc.integer({ min: 1, max: n })));

/** All subsets of k of n tries, of which the first c are right. */
function subsets(n: number, k: number): number[][] {
  if (k === 0) return [[]];
  if (n < k) return [];
  return [...subsets(n - 1, k), ...subsets(n - 1, k - 1).map((rest) => [...rest, n - 1])];
}

describe("pass@k and pass^k", () => {
  test("are the shares of all choices of k tries", () => {
    fc.assert(
      fc.property(counts, ([n, c, k]) => {
        const choices = subsets(n, k);
        const some = choices.filter((choice) => choice.some((index) => index < c)).length;
        const every = choices.filter((choice) => choice.every((index) => index < c)).length;
        expect(passAtK(n, c, k)).toBeCloseTo(some / choices.length, 12);
        expect(passHatK(n, c, k)).toBeCloseTo(every / choices.length, 12);
      }),
    );
  });

  test("do not overflow for many tries", () => {
    expect(passAtK(10_000, 1, 5_000)).toBeCloseTo(0.5, 9);
    expect(passHatK(10_000, 9_999, 5_000)).toBeCloseTo(0.5, 9);
  });

  test.each([
    [4, 2, 5],
    [4, 2, 0],
    [4, 5, 1],
    [4, -1, 1],
    [4, 1.5, 1],
  ])("refuse n = %d, c = %d, k = %d", (n, c, k) => {
    expect(code(() => passAtK(n, c, k))).toBe("PRL_STATISTICS_INPUT");
    expect(code(() => passHatK(n, c, k))).toBe("PRL_STATISTICS_INPUT");
  });
});

describe("meanInterval", () => {
  const values = [0, 1, 1, 0, 1, 1, 1, 1, 0, 1];

  /** Tables: z 1.959964, t(9) 2.262157; Wilson and Clopper-Pearson of 7 in 10 as in every textbook. */
  test.each([
    ["normal", 0.7 - 1.959963984540054 * 0.15275252316519466, 0.7 + 1.959963984540054 * 0.15275252316519466],
    ["t", 0.7 - 2.2621571627409915 * 0.15275252316519466, 0.7 + 2.2621571627409915 * 0.15275252316519466],
    ["wilson", 0.39677814746114537, 0.892208732593699],
    ["clopper_pearson", 0.3475471499399174, 0.9332604888222655],
  ] as const)("%s agrees with the tables", (method, low, high) => {
    const interval = meanInterval(values, { method });
    expect(interval.mean).toBeCloseTo(0.7, 14);
    expect(interval.stderr).toBeCloseTo(0.15275252316519466, 12);
    expect(interval.low).toBeCloseTo(low, 8);
    expect(interval.high).toBeCloseTo(high, 8);
  });

  test("knows t for few values and wide levels", () => {
    // t(1) at 0.99 is 63.656741, t(2) at 0.5 is 0.816497.
    const half = (sample: number[], level: number): number => {
      const { low, high, stderr } = meanInterval(sample, { method: "t", level });
      return (high - low) / 2 / stderr;
    };
    expect(half([0, 1], 0.99)).toBeCloseTo(63.65674116287, 6);
    expect(half([0, 1, 5], 0.5)).toBeCloseTo(0.816496580928, 9);
    expect(
      half(
        Array.from({ length: 2001 }, (_, i) => i % 7),
        0.95,
      ),
    ).toBeCloseTo(1.96115, 4);
  });

  test("clopper_pearson at the edges has closed forms", () => {
    expect(meanInterval([0, 0, 0, 0], { method: "clopper_pearson" })).toMatchObject({ low: 0 });
    expect(meanInterval([0, 0, 0, 0], { method: "clopper_pearson" }).high).toBeCloseTo(1 - 0.025 ** (1 / 4), 10);
    expect(meanInterval([1, 1, 1], { method: "clopper_pearson" }).low).toBeCloseTo(0.025 ** (1 / 3), 10);
  });

  test("bootstrap follows its seed and lies near the normal interval", () => {
    const sample = Array.from({ length: 200 }, (_, i) => (i * 7919) % 100);
    const first = meanInterval(sample, { method: "bootstrap", seed: 1 });
    expect(meanInterval(sample, { method: "bootstrap", seed: 1 })).toEqual(first);
    const normal = meanInterval(sample);
    expect(Math.abs(first.low - normal.low)).toBeLessThan(0.1 * normal.stderr * 2);
    expect(Math.abs(first.high - normal.high)).toBeLessThan(0.1 * normal.stderr * 2);
  });

  test("has no error for one value, and says so", () => {
    expect(meanInterval([3])).toEqual({ mean: 3, stderr: Number.NaN, low: Number.NaN, high: Number.NaN });
    expect(meanInterval([3], { method: "t" }).low).toBeNaN();
    expect(meanInterval([1], { method: "wilson" })).toMatchObject({ mean: 1, high: 1 });
  });

  test("refuses invalid arguments", () => {
    expect(code(() => meanInterval([]))).toBe("PRL_STATISTICS_INPUT");
    expect(code(() => meanInterval([1, Number.NaN]))).toBe("PRL_STATISTICS_INPUT");
    expect(code(() => meanInterval([0.5], { method: "wilson" }))).toBe("PRL_STATISTICS_INPUT");
    expect(code(() => meanInterval([1], { level: 1 }))).toBe("PRL_STATISTICS_INPUT");
  });
});

describe("summaries", () => {
  test("percentile and median interpolate and leave their input as it is", () => {
    const values = [4, 1, 3, 2];
    expect([0, 25, 50, 90, 100].map((p) => percentile(values, p))).toEqual([1, 1.75, 2.5, 3.7, 4]);
    expect(median(values)).toBe(2.5);
    expect(median([10, 9, 100])).toBe(10);
    expect(values).toEqual([4, 1, 3, 2]);
    expect(code(() => percentile([], 50))).toBe("PRL_STATISTICS_INPUT");
    expect(code(() => percentile([1], 101))).toBe("PRL_STATISTICS_INPUT");
  });

  test("weightedMean", () => {
    expect(weightedMean([1, 2, 4], [1, 1, 2])).toBe(2.75);
    expect(code(() => weightedMean([1], [1, 2]))).toBe("PRL_STATISTICS_INPUT");
    expect(code(() => weightedMean([1], [0]))).toBe("PRL_STATISTICS_INPUT");
  });

  test("majorityVote takes the commonest, the earliest among equals, and no votes of null", () => {
    expect(majorityVote(["b", "a", "a", "b", null, null, null])).toBe("b");
    expect(majorityVote(["b", "a", "a"])).toBe("a");
    expect(majorityVote([null])).toBeNull();
    expect(majorityVote([])).toBeNull();
  });
});
