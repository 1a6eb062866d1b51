import { describe, expect, test } from "vitest";

import { matchJsonSchema, matchPattern } from "prl-lm/environments/verify";

describe("matchPattern", () => {
  test.each([
    ["a+", "caaat aa", {}, { matched: true, count: 2, status: "ok" }],
    ["a+", "caaat", { mode: "whole" }, { matched: false, count: 0, status: "ok" }],
    ["A|caaat", "caaat", { mode: "whole" }, { matched: true, count: 1, status: "ok" }],
    ["^b", "a\nb", { flags: "m" }, { matched: true, count: 1, status: "ok" }],
    ["b", "a\nb", { flags: "m", mode: "whole" }, { matched: false, count: 0, status: "ok" }],
    ["É", "é", { flags: "i" }, { matched: true, count: 1, status: "ok" }],
    ["(", "(", {}, { matched: false, count: 0, status: "invalid_pattern" }],
  ] as const)("%s in %j with %j", async (pattern, text, options, verdict) => {
    expect(await matchPattern(pattern, text, options)).toEqual(verdict);
  });

  test("a pattern that would run for ages is a timeout, and those behind it are answered", async () => {
    const late = matchPattern("^(a+)+$", `${"a".repeat(40)}b`, { deadlineMs: 100 });
    const others = Array.from({ length: 20 }, () => matchPattern("a", "a"));
    expect((await late).status).toBe("timeout");
    for (const other of await Promise.all(others)) expect(other.matched).toBe(true);
  });

  test("refuses invalid flags and deadlines", async () => {
    const refused = expect.objectContaining({ code: "PRL_VERIFY_OPTIONS" });
    await expect(matchPattern("a", "a", { flags: "g" })).rejects.toThrow(refused);
    await expect(matchPattern("a", "a", { deadlineMs: 0 })).rejects.toThrow(refused);
  });
});

describe("matchJsonSchema", () => {
  const schema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };

  test("judges a text, also in a fence", async () => {
    expect(await matchJsonSchema(schema, '{"a": 1}')).toEqual({ valid: true, problems: [], status: "ok" });
    expect((await matchJsonSchema(schema, '```json\n{"a": 1}\n```')).valid).toBe(true);
    expect(await matchJsonSchema(schema, '{"a": "1"}')).toEqual({
      valid: false,
      problems: [{ path: "/a", message: "is not number" }],
      status: "ok",
    });
    expect((await matchJsonSchema(schema, "{a: 1}")).status).toBe("not_json");
  });

  test("a text that is nested deeper than the stack is not valid, and no error", async () => {
    const text = `${"[".repeat(1e5)}${"]".repeat(1e5)}`;
    const verdict = await matchJsonSchema({ items: { $ref: "#" } }, text, { deadlineMs: 20_000 });
    expect(verdict).toEqual({ valid: false, problems: [{ path: "", message: "is nested too deep" }], status: "ok" });
  });

  test.each(["```json\n\n", "```json\n{}```", "```"])("no fence around the whole: %j", async (text) => {
    expect((await matchJsonSchema(true, text)).status).toBe("not_json");
  });

  test("a fence that is not closed, before line ends without number, is read once", async () => {
    expect((await matchJsonSchema(true, `\`\`\`json${"\n".repeat(50_000)}x`)).status).toBe("not_json");
  });

  test("a schema's pattern has a deadline, and a wrong schema is refused", async () => {
    const slow = { pattern: "^(a+)+$" };
    expect((await matchJsonSchema(slow, `"${"a".repeat(40)}b"`, { deadlineMs: 100 })).status).toBe("timeout");
    await expect(matchJsonSchema({ typo: 1 }, "1")).rejects.toThrow(
      expect.objectContaining({ code: "PRL_VERIFY_OPTIONS" }),
    );
  });
});
