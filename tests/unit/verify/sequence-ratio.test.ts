import { readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { sequenceRatio, stripWhitespace } from "../../../ts/verify/index.ts";

const fixture = JSON.parse(readFileSync(new URL("../../fixtures/difflib/ratios.json", import.meta.url), "utf8")) as {
  cases: [string, string, number][];
};

describe("sequenceRatio", () => {
  it("gives Python's difflib ratio, bit for bit, on every fixture", () => {
    const different = fixture.cases.filter(([a, b, ratio]) => sequenceRatio(a, b) !== ratio);
    expect(different).toEqual([]);
    expect(fixture.cases.length).toBeGreaterThan(290);
  });

  it("has fixtures on which autojunk matters", () => {
    const long = fixture.cases.filter(([, b]) => Array.from(b).length >= 200);
    const changed = long.filter(([a, b, ratio]) => plainRatio(Array.from(a), Array.from(b)) !== ratio);
    expect(changed.length).toBeGreaterThan(10);
  });

  it("is not symmetric, like the original", () => {
    expect(sequenceRatio("tide", "diet")).toBe(0.25);
    expect(sequenceRatio("diet", "tide")).toBe(0.5);
  });

  it("agrees with the definition by recursion on short texts", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "🙂"), maxLength: 24 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(sequenceRatio(a, b)).toBe(plainRatio(Array.from(a), Array.from(b)));
      }),
      { numRuns: 500 },
    );
  });

  it("is 1 for equal texts and 0 for texts without a common character, at any length", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 150 }), (text) => {
        expect(sequenceRatio(text, text)).toBe(1);
      }),
    );
    const low = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 300 });
    const high = fc.string({ unit: fc.constantFrom("y", "z"), minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(low, high, (a, b) => {
        expect(sequenceRatio(a, b)).toBe(0);
      }),
    );
  });
});

describe("stripWhitespace", () => {
  it("strips what Python strips and nothing else", () => {
    expect(stripWhitespace(" \t\n\x1c\x85\u3000ab c\x1f\u00a0\r\n")).toBe("ab c");
    expect(stripWhitespace("\ufeffab\u200b")).toBe("\ufeffab\u200b");
    expect(stripWhitespace(" \n ")).toBe("");
  });
});

/** The definition, written as a recursion without tables and without autojunk. */
function plainRatio(a: string[], b: string[]): number {
  const total = a.length + b.length;
  return total === 0 ? 1 : (2 * plainMatches(a, b)) / total;
}

function plainMatches(a: string[], b: string[]): number {
  let best = { i: 0, j: 0, length: 0 };
  for (let i = 0; i < a.length; i += 1) {
    for (let j = 0; j < b.length; j += 1) {
      let length = 0;
      while (i + length < a.length && j + length < b.length && a[i + length] === b[j + length]) length += 1;
      if (length > best.length) best = { i, j, length };
    }
  }
  if (best.length === 0) return 0;
  const before = plainMatches(a.slice(0, best.i), b.slice(0, best.j));
  const after = plainMatches(a.slice(best.i + best.length), b.slice(best.j + best.length));
  return best.length + before + after;
}
