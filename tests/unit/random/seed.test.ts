import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { seed } from "../../../ts/environments/index.ts";
import { turnSeed } from "../../../ts/random/seed.ts";

describe("seed", () => {
  it("is the low 53 bits of XXH3-64 of the compact UTF-8 JSON array", () => {
    // From Python's xxhash: xxh3_64_intdigest(json) & (2**53 - 1).
    expect(seed(1, "rollout", "reverse-text", "0", 0, 0, 0)).toBe(6427307163484440);
    expect(seed(42, "eval", "größe 🙂", 'k"ey', 3, 7, 2)).toBe(6213279436291340);
    expect(seed(2 ** 53 - 1, "", "", "", 0, 0, 0)).toBe(7776004079203186);
  });

  it("is a safe non-negative integer and depends on every part", () => {
    const part = fc.tuple(fc.nat(), fc.string(), fc.string(), fc.string(), fc.nat(9), fc.nat(9), fc.nat(9));
    fc.assert(
      fc.property(part, part, (a, b) => {
        const first = seed(...a);
        expect(Number.isSafeInteger(first) && first >= 0).toBe(true);
        expect(seed(...a)).toBe(first);
        fc.pre(JSON.stringify(a) !== JSON.stringify(b));
        expect(seed(...b)).not.toBe(first);
      }),
    );
  });

  it("gives the first model call the rollout's seed and each later one its own", () => {
    const seeds = [0, 1, 2, 3].map((turn) => turnSeed(1234, turn));
    expect(seeds[0]).toBe(1234);
    expect(new Set(seeds).size).toBe(4);
  });
});
