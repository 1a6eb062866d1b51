/** Calls as Qwen3-Coder writes them, and the parsers that a server is given by their names. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { FAMILIES } from "../../../ts/renderers/families.ts";
import { opensThinking, parseReply, withTypes } from "../../../ts/renderers/internal.ts";
import { GrowingReply } from "../../../ts/renderers/replies/growing-reply.ts";
import { parseCompletion } from "../../../ts/renderers/replies/parse-completion.ts";
import { withParsers } from "../../../ts/renderers/replies/parsers.ts";
import { readXmlCall } from "../../../ts/renderers/replies/xml-call.ts";
import { codecOf, STOP_ID } from "../../support/byte-codec.ts";
import { IS_LONG } from "../../support/form.ts";

const TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>"];
const STOP_IDS = new Set([STOP_ID]);

const written = (name: string, given: readonly (readonly [string, string])[]): string =>
  `<function=${name}>\n${given.map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`).join("")}</function>`;

describe("a call in elements", () => {
  it("gives back any name and any texts, whatever lines they have", () => {
    const word = fc.stringMatching(/^[a-z_]{1,8}$/u);
    const value = fc.string({ unit: "binary", maxLength: 30 }).filter((text) => !text.includes("</parameter>"));
    fc.assert(
      fc.property(word, fc.uniqueArray(fc.tuple(word, value), { selector: ([key]) => key }), (name, given) => {
        const call = readXmlCall(`\n${written(name, given)}\n`);
        expect(call).toMatchObject({ status: "ok", name });
        expect(call.arguments).toEqual(Object.fromEntries(given));
      }),
    );
  });

  it.each([
    ["<function=f>\n<parameter=a>\n1\n</parameter>\n", "invalid_json"],
    ["<function=f>\n<parameter=a>\n1\n</function>", "invalid_json"],
    ["<function=>\n</function>", "missing_name"],
    ['{"name": "f"}', "invalid_json"],
    ["", "invalid_json"],
  ])("says what is wrong with %j", (body, status) => {
    expect(readXmlCall(body)).toMatchObject({ status, arguments: null });
  });

  it("has the types of the function's schema, and text where the text is no such value", () => {
    const properties = {
      text: { type: "string" },
      count: { type: "integer" },
      share: { type: "number" },
      is: { type: "boolean" },
      list: { type: "array" },
      table: { type: "object" },
      maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
      other: { type: ["integer", "null"] },
    };
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties } } }];
    const typed = (given: Record<string, string>) =>
      withTypes(readXmlCall(written("f", Object.entries(given))), tools).arguments;
    expect(
      typed({
        text: "1",
        count: "2",
        share: "2.5",
        is: "True",
        list: "[1]",
        table: '{"a": 1}',
        maybe: "None",
        other: "3",
      }),
    ).toEqual({ text: "1", count: 2, share: 2.5, is: true, list: [1], table: { a: 1 }, maybe: null, other: 3 });
    const texts = { count: "2.5", share: "1e999", is: "yes", list: "{}", table: "[]", maybe: "said", more: "4" };
    expect(typed(texts)).toEqual(texts);
    expect(withTypes(readXmlCall(written("g", [["count", "2"]])), tools).arguments).toEqual({ count: "2" });
    const json = { status: "ok", name: "f", arguments: { count: "2" }, raw: '{"name": "f"}' } as const;
    expect(withTypes(json, tools)).toBe(json);
  });
});

describe("parsers by their names", () => {
  const call = `<tool_call>\n${written("f", [["x", "1"]])}\n</tool_call>`;
  const read = (family: typeof FAMILIES.chatml, text: string, thinks = false) => {
    const codec = codecOf(TAGS);
    const parse = (ids: Uint32Array) => parseCompletion({ tokenizer: codec, family, stopIds: STOP_IDS }, ids);
    return parseReply({ parse }, Uint32Array.from(codec.encode(text)), thinks);
  };

  it.each([
    ["hermes", 'Hi<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>', { x: 1 }],
    ["llama3_json", '{"name": "f", "parameters": {"x": 1}}', { x: 1 }],
    ["qwen3_coder", `Hi${call}`, { x: "1" }],
    ["qwen3_xml", call, { x: "1" }],
  ] as const)("%s reads its calls in any family", (toolCallParser, text, given) => {
    for (const family of Object.values(FAMILIES)) {
      const { toolCalls } = read(withParsers(family, { toolCallParser }), text);
      expect(toolCalls).toMatchObject([{ status: "ok", name: "f", arguments: given }]);
    }
  });

  it("deepseek_r1 takes a reply as thinking until it is closed; qwen3 only behind a tag", () => {
    const r1 = withParsers(FAMILIES.chatml, { reasoningParser: "deepseek_r1" });
    const codec = codecOf(TAGS);
    const opening = (replyOpening: string) =>
      opensThinking(
        { tokenizer: codec, renderer: { replyOpening: () => replyOpening, thinksFirst: true } },
        new Uint32Array(),
        [],
      );
    expect(opening("<|im_start|>assistant\n")).toBe(true);
    expect(opening("<|im_start|>assistant\n<think>\n\n</think>\n\n")).toBe(false);
    expect(read(r1, "so far", true)).toMatchObject({ content: "", reasoning: "so far" });
    expect(read(r1, "so</think>Done.", true)).toMatchObject({ content: "Done.", reasoning: "so" });
    const qwen3 = withParsers(FAMILIES.chatml, { reasoningParser: "qwen3" });
    expect(read(qwen3, "Done.")).toMatchObject({ content: "Done.", reasoning: null });
    expect(read(qwen3, "<think>so</think>Done.")).toMatchObject({ content: "Done.", reasoning: "so" });
  });

  it("a reply that grows is the same as the whole one, however its tokens are cut", () => {
    const part = fc.constantFrom(call, "a", "é😀", " ", "\n", "<function=f>", "</function>", ...TAGS, "<|end|>");
    const text = fc.array(part, { maxLength: 10 }).map((parts) => parts.join(""));
    const parsers = fc.record({
      toolCallParser: fc.constantFrom("hermes", "llama3_json", "qwen3_coder" as const),
      reasoningParser: fc.constantFrom(undefined, "qwen3", "deepseek_r1" as const),
    });
    const vocabulary = fc.constantFrom(TAGS, TAGS.slice(2), []);
    const cuts = fc.array(fc.nat(60), { maxLength: 8 });
    fc.assert(
      fc.property(text, parsers, vocabulary, cuts, (said, names, words, places) => {
        const codec = codecOf(words);
        const family = withParsers(FAMILIES.chatml, names);
        const form = { tokenizer: codec, family, stopIds: STOP_IDS };
        const thinks = family.thinksFirst === true;
        const ids = codec.encode(said);
        const growing = new GrowingReply(form, { tools: true, thinks, stop: [] });
        const given = { content: "", reasoning: "" };
        const take = (delta: { content?: string; reasoning?: string } | null): void => {
          given.content += delta?.content ?? "";
          given.reasoning += delta?.reasoning ?? "";
        };
        let start = 0;
        for (const end of [...places.toSorted((a, b) => a - b), ids.length]) {
          take(growing.push(ids.slice(start, end)));
          start = Math.max(start, end);
        }
        const reply = parseReply({ parse: (all) => parseCompletion(form, all) }, Uint32Array.from(ids), thinks);
        const emitted = { ...given };
        take(growing.rest(reply));
        // Thinking that only its end shows was content before; nothing else changes given text.
        const turnedOut = emitted.content !== "" && reply.reasoning?.startsWith(emitted.content) === true;
        if (!turnedOut) expect(given).toEqual({ content: reply.content, reasoning: reply.reasoning ?? "" });
      }),
      { numRuns: IS_LONG ? 50_000 : 2000 },
    );
  });
});
