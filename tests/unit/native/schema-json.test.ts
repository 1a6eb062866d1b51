/** Large whole numbers of a JSON Schema that becomes a grammar. */
import fc from "fast-check";
import { expect, test } from "vitest";

import { parseExact } from "../../../ts/exact-json.ts";
import { schemaJson } from "../../../ts/native/formats/schema-json.ts";

/** What the schema with this bound becomes. */
const bound = (keyword: string, value: bigint): bigint =>
  BigInt((parseExact(schemaJson({ properties: { a: { [keyword]: value } } })) as Bounded).properties.a[keyword] ?? 0n);
interface Bounded {
  properties: { a: Record<string, number | bigint> };
}

test("a bound becomes the nearest double within it", () => {
  const large = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n });
  fc.assert(
    fc.property(large, (value) => {
      for (const [least, most] of [
        ["minimum", "maximum"],
        ["exclusiveMinimum", "exclusiveMaximum"],
      ] as const) {
        const [above, below] = [bound(least, value), bound(most, value)];
        expect(above >= value && below <= value).toBe(true);
        expect([above, below].map((one) => BigInt(Number(one)))).toEqual([above, below]);
        // What is half-way between neighbours rounds to one of them.
        expect([Number(above), Number(below)]).toContain(Number((above + below) / 2n));
      }
    }),
  );
  expect(bound("maximum", 9223372036854775807n)).toBe(9223372036854774784n);
  expect(bound("minimum", -9223372036854775809n)).toBe(-9223372036854775808n);
});

test.each([
  [{ const: 9007199254740993n }, "const"],
  [{ anyOf: [{ enum: [1, 9007199254740993n] }] }, "enum"],
  [{ properties: { a: { const: { b: [9007199254740993n] } } } }, "const"],
  [{ items: { multipleOf: 9007199254740993n } }, "multipleOf"],
])("a value between two doubles is refused: %#", (schema, keyword) => {
  expect(() => schemaJson(schema)).toThrow(`JSON Schema: ${keyword}: 9007199254740993 is beyond 2^53`);
});

test("everything else is as JSON has it, also where names are those of keywords", () => {
  const schema = { properties: { const: { type: "integer", default: 9007199254740993n }, enum: { const: 2n ** 60n } } };
  expect(schemaJson(schema)).toBe(
    '{"properties":{"const":{"type":"integer","default":9007199254740993},"enum":{"const":1152921504606846976}}}',
  );
  expect([true, { type: "string" }, { enum: ["a", null, 1.5] }].map(schemaJson)).toEqual([
    "true",
    '{"type":"string"}',
    '{"enum":["a",null,1.5]}',
  ]);
});
