import fc from "fast-check";
import { expect, test } from "vitest";

import { passCurves } from "../../../ts/algorithms/internal.ts";

test("pass@k and pass^k of two tasks, computed manually", () => {
  // 1 and 2 of 4: pass@2 is 1 - C(3,2)/C(4,2) = 1/2 and 1 - 1/6; pass^2 is 0 and 1/6.
  const { at, hat } = passCurves([1, 2], 4);
  expect(Object.keys(at)).toEqual(["1", "2", "4"]);
  expect(at["2"]?.mean).toBeCloseTo((1 / 2 + 5 / 6) / 2, 12);
  expect(hat["2"]?.mean).toBeCloseTo(1 / 12, 12);
  // Student's t with one degree of freedom, 12.706, times 1/8: beyond what a rate can be, and cut.
  expect(at["1"]).toEqual({ mean: 0.375, low: 0, high: 1 });
  // Each task is 1: Wilson's interval of 2 of 2.
  expect(at["4"]?.mean).toBe(1);
  expect(at["4"]?.low).toBeCloseTo(2 / (2 + 1.959963984540054 ** 2), 9);
  expect(at["4"]?.high).toBeCloseTo(1, 12);
});

test("nothing tried, nothing claimed", () => {
  expect(passCurves([], 4)).toEqual({ at: {}, hat: {} });
});

test("pass@k rises with k, pass^k falls, they meet at k = 1, and intervals hold their means", () => {
  const tasks = fc.integer({ min: 1, max: 12 }).chain((tries) =>
    fc.record({
      tries: fc.constant(tries),
      passes: fc.array(fc.integer({ min: 0, max: tries }), { minLength: 2, maxLength: 8 }),
    }),
  );
  fc.assert(
    fc.property(tasks, ({ tries, passes }) => {
      const { at, hat } = passCurves(passes, tries);
      const means = (curve: typeof at) => Object.values(curve).map(({ mean }) => mean);
      const rises = (values: number[]) => values.every((value, i) => i === 0 || value >= (values[i - 1] ?? 0) - 1e-9);
      expect(rises(means(at))).toBe(true);
      expect(rises(means(hat).toReversed())).toBe(true);
      expect(at["1"]?.mean).toBeCloseTo(hat["1"]?.mean ?? Number.NaN, 9);
      for (const { mean, low, high } of [...Object.values(at), ...Object.values(hat)]) {
        expect(low).toBeLessThanOrEqual(mean + 1e-9);
        expect(high).toBeGreaterThanOrEqual(mean - 1e-9);
      }
    }),
  );
});
