import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { equalsExpected } from "../../../ts/verify/program/call-value.ts";
import { type ExactJson, parseExactJson } from "../../../ts/verify/program/exact-json.ts";
import { compareLines, compareStdout } from "../../../ts/verify/index.ts";

/** As `JSON.parse` would have it. */
function loose(value: ExactJson): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(loose);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, item]) => [key, loose(item)]));
}

describe("exact JSON", () => {
  test("is read as JSON.parse does, but for what doubles cannot hold", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(loose(parseExactJson(text))).toEqual(JSON.parse(text));
      }),
    );
    fc.assert(fc.property(fc.bigInt(), (value) => parseExactJson(` ${value} `) === value));
  });

  test("rejects whatever JSON.parse rejects", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[[\]{}",:0-9.eE+\-ntf\\u ]{0,8}$/u), (text) => {
        const parses = (parse: (text: string) => unknown) => {
          try {
            parse(text);
            return true;
          } catch {
            return false;
          }
        };
        expect(parses(parseExactJson)).toBe(parses(JSON.parse));
      }),
      { numRuns: 2_000 },
    );
  });

  test.each(["NaN1", "[1,]", '"\n"', "01", "+1", "-", "[".repeat(5_000)])("rejects %j", (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError);
  });

  test("equality holds for the written number, also within a tolerance", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.double(), fc.integer(), fc.boolean(), fc.string())), (values) => {
        const value = parseExactJson(JSON.stringify(values));
        expect(equalsExpected(value, value, 0)).toBe(true);
        expect(equalsExpected(new Map([["t", value]]), value, 1e-9)).toBe(true);
      }),
    );
  });
});

test("output made to be slow to compare is compared at once", () => {
  const zeros = `${"0".repeat(1_000_000)}1`;
  const started = performance.now();
  expect(compareLines(`${zeros} 1`, `${zeros} 2`)).toBe(false);
  expect(compareStdout("7".repeat(1_000_000), "8".repeat(1_000_000))).toBe(false);
  expect(compareStdout(`0.${zeros}`, "0")).toBe(true);
  expect(performance.now() - started).toBeLessThan(60_000);
});
