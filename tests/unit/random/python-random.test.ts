import { expect, test } from "vitest";

import { PythonRandom } from "../../../ts/random/python-random.ts";

/** What `random.Random(seed)` of CPython 3.11 draws, in this order: a shuffle, four samples, randrange(10) to randrange(10^8). */
const DRAWN = [
  [
    0,
    [7, 8, 1, 5, 3, 4, 2, 0, 9, 6],
    [2933, 4779, 7304, 7439, 1789],
    [16, 4, 9, 24, 3],
    [79, 32, 68, 90, 77, 18, 39, 12],
    [604, 2704, 3867, 4585, 824, 2898],
    [4, 90, 127, 8969, 43614, 854030, 9064454, 27273290],
  ],
  [
    1,
    [6, 8, 9, 7, 5, 3, 0, 4, 1, 2],
    [6461, 1719, 768, 3996, 232],
    [28, 26, 12, 13, 19],
    [97, 98, 0, 89, 57, 34, 92, 29],
    [4842, 837, 2600, 250, 182, 208],
    [9, 4, 491, 3977, 97482, 836138, 6782828, 55608283],
  ],
  [
    1234,
    [2, 8, 3, 5, 6, 4, 9, 0, 1, 7],
    [1939, 142, 252, 6461, 129],
    [11, 20, 19, 15, 14],
    [19, 11, 23, 91, 14, 1, 64, 62],
    [2046, 528, 4432, 3816, 561, 4927],
    [5, 98, 113, 8678, 18511, 703072, 5123639, 60953865],
  ],
  [
    4294967295,
    [0, 7, 1, 5, 2, 6, 4, 8, 3, 9],
    [2908, 7351, 4073, 3362, 526],
    [6, 19, 4, 27, 25],
    [61, 64, 46, 20, 95, 89, 7, 42],
    [306, 3096, 3594, 4663, 2100, 4458],
    [4, 71, 902, 6241, 37901, 161431, 255043, 81033426],
  ],
] as const;

test.each(DRAWN)("draws what Python draws from the seed %d", (seed, shuffled, few, pooled, eight, many, numbers) => {
  const random = new PythonRandom(seed);
  const items = Array.from({ length: 10 }, (_, i) => i);
  random.shuffle(items);
  expect(items).toEqual(shuffled);
  expect(random.sample(7473, 5)).toEqual(few);
  expect(random.sample(30, 5)).toEqual(pooled);
  expect(random.sample(100, 8)).toEqual(eight);
  expect(random.sample(5000, 40).slice(0, 6)).toEqual(many);
  expect(numbers.map((_, k) => random.below(10 ** (k + 1)))).toEqual(numbers);
});

test("draws no more different ones than there are", () => {
  expect(() => new PythonRandom(0).sample(3, 4)).toThrow(RangeError);
});
