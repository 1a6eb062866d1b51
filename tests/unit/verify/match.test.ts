import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { bleu, exactMatch, numericMatch } from "../../../ts/verify/index.ts";
import { SchemaError, validateJson } from "../../../ts/verify/match/json-schema.ts";

describe("exactMatch", () => {
  it.each([
    ["Paris", " Paris\n", {}, true],
    ["Paris", "paris", {}, false],
    ["Paris", "paris", { ignoreCase: true }, true],
    ["Paris", "Paris.", {}, false],
    ["Paris", "Paris.", { ignorePunctuation: true }, true],
    ["the Nile", "Nile", { ignoreArticles: true }, true],
    ["theory", "ory", { ignoreArticles: true }, false],
    ["5 km", "5  km", {}, true],
    ["ﬁve", "five", {}, true],
    ["", "", {}, true],
    ["x", "", {}, false],
  ])("%j and %j with %j: %s", (gold, answer, options, expected) => {
    expect(exactMatch(gold, answer, options)).toBe(expected);
  });

  it("takes any of several", () => {
    expect(exactMatch(["USA", "United States"], "united states", { ignoreCase: true })).toBe(true);
    expect(exactMatch([], "x")).toBe(false);
  });
});

describe("numericMatch", () => {
  it.each([
    [42, "42", {}, true],
    [42, "The result is 42.", {}, true],
    [1234.5, "1,234.5", {}, true],
    [-0.0003, "−3e-4", {}, true],
    [200000, "about 2 × 10^5", {}, true],
    ["1/3", "0.3333", { relative: 1e-3 }, true],
    [100, "104", { absolute: 5 }, true],
    [100, "106", { absolute: 5 }, false],
    [1e-7, "2e-7", {}, false],
    [0, "0.0", {}, true],
    [42, "first 7, then 41", {}, false],
  ])("%s and %j with %j: %s", (gold, answer, options, correct) => {
    expect(numericMatch(gold, answer, options)).toEqual({ correct, status: "ok" });
  });

  it("reports a missing number, and refuses invalid tolerances", () => {
    expect(numericMatch(1, "none").status).toBe("unparsable");
    expect(numericMatch("x", "1").status).toBe("unparsable");
    expect(() => numericMatch(1, "1", { relative: Number.NaN })).toThrow(
      expect.objectContaining({ code: "PRL_VERIFY_OPTIONS" }),
    );
  });

  it("knows every number as itself", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(numericMatch(value, `So it is ${value}.`).correct).toBe(true);
      }),
    );
  });
});

describe("bleu", () => {
  it("is 1 for the same text and 0 without a common word", () => {
    expect(bleu("the cat sat on the mat", "the cat sat on the mat")).toBeCloseTo(1, 12);
    expect(bleu("a b c d", "e f g h")).toBe(0);
    expect(bleu("", "a")).toBe(0);
  });

  it("clips repeated words: 2/7 for Papineni's example", () => {
    const the = "the the the the the the the";
    expect(bleu(the, ["the cat is on the mat", "there is a cat on the mat"], { maxOrder: 1 })).toBeCloseTo(2 / 7, 12);
  });

  it("punishes short texts: exp(1 - 4/2)", () => {
    expect(bleu("a b", "a b c d", { maxOrder: 2 })).toBeCloseTo(Math.exp(1 - 4 / 2), 12);
  });

  it("smooths or not where no 4-gram matches", () => {
    // Precisions 3/4, 1/3, then nothing: 1/2 of 2 and 1/4 of 1.
    expect(bleu("a b x c", "a b c d")).toBeCloseTo((((((((3 / 4) * 1) / 3) * 1) / 2 / 2) * 1) / 4) ** (1 / 4), 12);
    expect(bleu("a b x c", "a b c d", { smoothing: "none" })).toBe(0);
  });
});

/** A text, because an object with `then` looks like a promise. */
const CONDITION: unknown = JSON.parse('{"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 5}}');

describe("validateJson", () => {
  const person = {
    type: "object",
    properties: { name: { type: "string", minLength: 1 }, age: { type: "integer", minimum: 0 } },
    required: ["name"],
    additionalProperties: false,
  };

  it.each([
    [person, { name: "Ada", age: 36 }, []],
    [person, { name: "" }, ["/name"]],
    [person, { name: "Ada", age: -1.5 }, ["/age", "/age"]],
    [person, { age: 1 }, [""]],
    [person, { name: "Ada", more: 1 }, ["/more"]],
    [person, [], [""]],
    [{ type: ["string", "null"] }, null, []],
    [{ enum: [1, { a: [1] }] }, { a: [1] }, []],
    [{ const: { a: 1, b: 2 } }, { b: 2, a: 1 }, []],
    [{ type: "integer" }, 1.0, []],
    [{ type: "number" }, "1", [""]],
    [{ multipleOf: 0.1 }, 0.3, []],
    [{ multipleOf: 0.1 }, 0.35, [""]],
    [{ multipleOf: 3 }, 1e21, []],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 2 }, 1, [""]],
    [{ minLength: 2, maxLength: 2 }, "👍👍", []],
    [{ pattern: "^a+$" }, "aab", [""]],
    [{ items: { type: "number" }, minItems: 1, maxItems: 2 }, [1, "x", 3], ["/1", ""]],
    [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1, "b"], ["/2"]],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [""],
    ],
    [{ contains: { type: "string" }, maxContains: 1 }, ["a", "b"], [""]],
    [{ contains: { type: "string" } }, [1], [""]],
    [{ patternProperties: { "^x": { type: "number" } }, additionalProperties: false }, { xa: 1, b: 2 }, ["/b"]],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, ["/ab"]],
    [{ minProperties: 1, maxProperties: 1 }, { a: 1, b: 1 }, [""]],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, [""]],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 3, [""]],
    [{ anyOf: [{ type: "string" }, { type: "number" }] }, true, [""]],
    [{ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3, [""]],
    [{ not: { type: "string" } }, "a", [""]],
    [CONDITION, "a", [""]],
    [CONDITION, 6, []],
    [
      { $defs: { tree: { type: "object", properties: { next: { $ref: "#/$defs/tree" } } } }, $ref: "#/$defs/tree" },
      { next: { next: 1 } },
      ["/next/next"],
    ],
    [{ title: "anything", format: "email", default: 1 }, "no", []],
    [true, 1, []],
    [false, 1, [""]],
    [{ properties: { "a/b~": { type: "null" } } }, { "a/b~": 1 }, ["/a~1b~0"]],
    [{ required: ["constructor"] }, {}, [""]],
  ])("%j and %j: %j", (schema, value, paths) => {
    expect(validateJson(schema, value).map(({ path }) => path)).toEqual(paths);
  });

  it.each([
    [{ minimun: 1 }, 1, "minimun"],
    [{ type: "text" }, 1, "text"],
    [{ $ref: "#/$defs/none" }, 1, "points to nothing"],
    [{ $ref: "https://example.com/schema" }, 1, "into the schema"],
    [{ $ref: "#" }, 1, "circles"],
    [{ enum: 1 }, 1, "list"],
    [{ minLength: "2" }, "a", "no number"],
    [{ pattern: "(" }, "a", "no regular expression"],
    [[], 1, "a schema is"],
  ])("refuses the schema %j", (schema, value, message) => {
    expect(() => validateJson(schema, value)).toThrow(SchemaError);
    expect(() => validateJson(schema, value)).toThrow(message);
  });

  it("any JSON value is its own const and its own enum, and nothing is not itself", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json: unknown = JSON.parse(JSON.stringify(value));
        expect(validateJson({ const: json, enum: [json] }, json)).toEqual([]);
        expect(validateJson({ not: { const: json } }, json)).toHaveLength(1);
      }),
    );
  });
});
