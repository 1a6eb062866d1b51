/** Arguments of calls keep the digits of whole numbers, in both directions. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { exactJson, holdsInfinity, parseExact, rounded } from "../../../ts/exact-json.ts";
import { argumentsText } from "../../../ts/renderers/internal.ts";
import { readXmlCall, withTypes } from "../../../ts/renderers/replies/xml-call.ts";

const ID = "1234567890123456789";

describe("exact JSON", () => {
  it("keeps every digit of whole numbers, and reads everything else as JSON.parse does", () => {
    const whole = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
    fc.assert(
      fc.property(whole, fc.jsonValue(), (id, other) => {
        const text = `{"id": [${id}, "${id}"], "other": ${JSON.stringify(other)}}`;
        const { id: read } = parseExact(text) as { id: [number | bigint, string] };
        expect(read).toEqual([Number.isSafeInteger(Number(id)) ? Number(id) : id, String(id)]);
        expect(exactJson(parseExact(text))).toBe(`{"id":[${id},"${id}"],"other":${JSON.stringify(other)}}`);
      }),
    );
    expect(parseExact(`[1e30, 1.5, "${ID}\\" ${ID}"]`)).toEqual([1e30, 1.5, `${ID}" ${ID}`]);
  });

  it("finds numbers beyond the largest double, and rounds as JSON.parse does", () => {
    expect([`[{"a": 1e999}]`, "-1e999", "9".repeat(400)].map((text) => holdsInfinity(JSON.parse(text)))).toEqual([
      true,
      true,
      true,
    ]);
    expect(holdsInfinity(parseExact(`{"a": ["1e999", 1e308, ${ID}, null]}`))).toBe(false);
    const text = `{"a": [${ID}, 1.5], "b": "${ID}"}`;
    expect(rounded(parseExact(text))).toEqual(JSON.parse(text));
  });

  it("reads a digit of a text as a text, and mends nothing in what has no large number", () => {
    const marked = `{"a": "\uE0F5\uF8E2${ID}"}`;
    for (const text of [marked, `{"a": "\\ue0f5\\uF8E2${ID}"}`, `["\\uE0f5\\uf8e2x", ${ID}]`])
      expect(exactJson(parseExact(text))).toBe(JSON.stringify(JSON.parse(text)));
  });
});

describe("the arguments of a call", () => {
  it.each(["arguments", "parameters"])("have the digits that the model wrote behind %s", (key) => {
    const raw = `{"name": "f", "${key}": {"id": ${ID}, "of": [-${ID}], "text": "a"}}`;
    const given = { id: Number(ID), of: [-Number(ID)], text: "a" };
    const text = argumentsText({ status: "ok", name: "f", arguments: given, raw }, []);
    expect(text).toBe(`{"id":${ID},"of":[-${ID}],"text":"a"}`);
  });

  it("have them as elements too, by the type that the schema names", () => {
    const raw = `<function=f>\n<parameter=id>\n${ID}\n</parameter>\n<parameter=text>\n${ID}\n</parameter>\n</function>`;
    const properties = { id: { type: "integer" }, text: { type: "string" } };
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties } } }];
    const call = withTypes(readXmlCall(raw), tools);
    expect(call.arguments).toEqual({ id: Number(ID), text: ID });
    expect(argumentsText(call, tools)).toBe(`{"id":${ID},"text":"${ID}"}`);
  });
});
