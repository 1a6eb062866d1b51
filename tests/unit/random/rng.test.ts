import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { createRng } from "../../../ts/environments/index.ts";

const seeds = fc.nat({ max: Number.MAX_SAFE_INTEGER });

describe("createRng", () => {
  it("repeats its stream for a seed and differs for seeds that differ in one bit", () => {
    const stream = (seed: number) => {
      const rng = createRng(seed);
      return Array.from({ length: 20 }, () => rng.next());
    };
    fc.assert(
      fc.property(seeds, fc.nat(52), (seed, bit) => {
        expect(stream(seed)).toEqual(stream(seed));
        const other = Number(BigInt(seed) ^ (1n << BigInt(bit)));
        expect(stream(other)).not.toEqual(stream(seed));
      }),
    );
  });

  it("stays within its bounds", () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 2 ** 32 }), (seed, bound) => {
        const rng = createRng(seed);
        const value = rng.integer(bound);
        expect(Number.isInteger(value) && value >= 0 && value < bound).toBe(true);
        const fraction = rng.next();
        expect(fraction >= 0 && fraction < 1).toBe(true);
        expect("abc").toContain(rng.pick("abc"));
      }),
    );
  });

  it("draws each of ten values about equally often", () => {
    const rng = createRng(7);
    const drawn = Array.from({ length: 100_000 }, () => rng.integer(10));
    for (let value = 0; value < 10; value += 1) {
      const share = drawn.filter((other) => other === value).length;
      // Ten standard deviations of a binomial of n = 100,000, p = 0.1 are 949.
      expect(Math.abs(share - 10_000)).toBeLessThan(949);
    }
  });

  it("refuses to pick from nothing", () => {
    expect(() => createRng(1).pick([])).toThrow(RangeError);
  });
});
