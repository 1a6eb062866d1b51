/** The text given while a reply is sampled equals the text parsed from the whole, wherever its tokens are cut. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { readReply } from "../../../ts/inference/openai/choice.ts";
import { FAMILIES } from "../../../ts/renderers/families.ts";
import { GrowingReply } from "../../../ts/renderers/replies/growing-reply.ts";
import { type ReplyDelta } from "../../../ts/renderers/index.ts";
import { parseCompletion } from "../../../ts/renderers/replies/parse-completion.ts";
import type { StoppedBy } from "../../../ts/renderers/index.ts";
import { codecOf, STOP_ID } from "../../support/byte-codec.ts";
import { IS_LONG } from "../../support/form.ts";

const TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|python_tag|>"];

type Read = [ids: Uint32Array, stopped?: StoppedBy | null];

const call = '<tool_call>\n{"name": "f", "arguments": {"x": "}"}}\n</tool_call>';
const texts = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom("a", "say", " ", "\n", "é😀", "<", "</", "STO", "P", "\uFFFD") },
      { weight: 3, arbitrary: fc.constantFrom(...TAGS) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(call, '{"name": "f", "parameters": {}}', '{"a": {"b": "\\"}"}}', "; ", "{"),
      },
      { weight: 1, arbitrary: fc.constant("<|end|>") },
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(""));

const cases = fc.record({
  text: texts,
  /** Tokens that are no character. */
  noise: fc.array(fc.tuple(fc.nat(200), fc.integer({ min: 128, max: 255 })), { maxLength: 3 }),
  family: fc.constantFrom(...Object.values(FAMILIES), { ...FAMILIES.default, thinks: true }),
  vocabulary: fc.constantFrom(TAGS, TAGS.slice(2), []),
  tools: fc.boolean(),
  thinks: fc.boolean(),
  cuts: fc.array(fc.nat(200), { maxLength: 12 }),
});

/** Up to the token that completes the stop string, which is looked for in text alone; null when none does. */
function stoppedAt(decode: (ids: number[]) => string, ids: readonly number[], stop: string): number[] | null {
  const isComplete = (end: number) => decode(ids.slice(0, end).filter((id) => id < STOP_ID)).includes(stop);
  const end = Array.from({ length: ids.length }, (_, index) => index + 1).find(isComplete);
  return end === undefined ? null : ids.slice(0, end);
}

/** A block of thinking that only its end shows makes thinking of what looked like content. */
function turnsOut(reply: { content: string; reasoning: string | null }, emitted: { content: string }): boolean {
  return emitted.content !== "" && reply.reasoning?.startsWith(emitted.content) === true;
}

function collect(emitted: { content: string; reasoning: string }, delta: ReplyDelta | null): void {
  emitted.content += delta?.content ?? "";
  emitted.reasoning += delta?.reasoning ?? "";
}

const STOP_IDS = new Set([STOP_ID]);

describe("a growing reply", () => {
  it("parses a growing reply to the same parts as the whole, wherever it is split", () => {
    fc.assert(
      fc.property(cases, ({ text, noise, family, vocabulary, tools, thinks, cuts }) => {
        const codec = codecOf(vocabulary);
        const sampled = codec.encode(text);
        for (const [at, byte] of noise) sampled.splice(at, 0, byte);
        const stopped = stoppedAt(codec.decode, sampled, "STOP");
        const ids = stopped ?? sampled;
        const growing = new GrowingReply(
          { tokenizer: codec, family, stopIds: STOP_IDS },
          { tools, thinks, stop: ["STOP"] },
        );
        const emitted = { content: "", reasoning: "" };
        let start = 0;
        for (const cut of cuts.toSorted((a, b) => a - b)) {
          // Text behind a stop string is cut before it is given.
          if (stopped === null || cut < ids.length) collect(emitted, growing.push(ids.slice(start, cut)));
          start = Math.max(start, cut);
        }
        const whole = {
          tokenIds: Uint32Array.from(ids),
          logprobs: new Float32Array(ids.length),
          policyVersions: [],
          finishReason: "stop" as const,
          stopReason: stopped === null ? null : "STOP",
        };
        const renderer = {
          parse: (...of: Read) => parseCompletion({ tokenizer: codec, family, stopIds: STOP_IDS }, ...of),
          stopTokenIds: [...STOP_IDS],
        };
        const begun = new Uint32Array(0);
        const options = { tools, oneCall: false, thinks, id: "x", begun, withStop: false };
        const reply = readReply(renderer, { ...whole, ranking: null }, options);
        if (turnsOut(reply, emitted)) return;
        collect(emitted, growing.rest(reply));
        expect(emitted).toEqual({ content: reply.content, reasoning: reply.reasoning ?? "" });
      }),
      { numRuns: IS_LONG ? 100_000 : 3000 },
    );
  }, 300_000);

  const codec = codecOf(TAGS);
  const tellsOf = (
    family: keyof typeof FAMILIES,
    text: string,
    options: { tools?: boolean; thinks?: boolean } = {},
  ) => {
    const given = { tools: true, thinks: false, stop: ["STOP"], ...options };
    const growing = new GrowingReply({ tokenizer: codec, family: FAMILIES[family], stopIds: STOP_IDS }, given);
    const emitted = { content: "", reasoning: "" };
    for (const id of codec.encode(text)) collect(emitted, growing.push([id]));
    return emitted;
  };

  it("gives thinking and content as they come", () => {
    expect(tellsOf("qwen3", "<think>\nhm, 4\n</think>\n\nIt is 4. S")).toEqual({
      reasoning: "hm, 4",
      content: "It is 4.",
    });
    expect(tellsOf("qwen3", "hm, <tool_call>{}\n</think>4", { thinks: true })).toEqual({
      reasoning: "hm, <tool_call>{}",
      content: "4",
    });
    expect(tellsOf("llama3", ' {"answer": {"of": 1', { tools: false }).content).toBe('{"answer": {"of": 1');
  });

  it("has one call where no more are wanted, and all of them otherwise", () => {
    const text = ["f", "g"].map((name) => `<tool_call>{"name": "${name}", "arguments": {}}</tool_call>`).join("");
    const tokenIds = Uint32Array.from(codec.encode(text));
    const renderer = {
      parse: (...of: Read) => parseCompletion({ tokenizer: codec, family: FAMILIES.qwen3, stopIds: STOP_IDS }, ...of),
      stopTokenIds: [...STOP_IDS],
    };
    const ended = { finishReason: "stop" as const, stopReason: null, policyVersions: [], ranking: null };
    const completion = { tokenIds, logprobs: new Float32Array(tokenIds.length), ...ended };
    const options = { tools: true, thinks: false, id: "x", begun: new Uint32Array(0), withStop: false };
    const names = (oneCall: boolean) =>
      readReply(renderer, completion, { ...options, oneCall }).toolCalls.map((each) => each.function.name);
    expect([names(true), names(false)]).toEqual([["f"], ["f", "g"]]);
  });

  it("ends before the stop string, in thinking too", () => {
    const read = (text: string, stopReason: string, withStop = false) => {
      const tokenIds = Uint32Array.from(codec.encode(text));
      const renderer = {
        parse: (...of: Read) => parseCompletion({ tokenizer: codec, family: FAMILIES.qwen3, stopIds: STOP_IDS }, ...of),
        stopTokenIds: [...STOP_IDS],
      };
      const completion = { tokenIds, logprobs: new Float32Array(tokenIds.length), policyVersions: [], ranking: null };
      const options = { tools: false, oneCall: false, thinks: false, id: "x", begun: new Uint32Array(0), withStop };
      return readReply(renderer, { ...completion, finishReason: "stop", stopReason }, options);
    };
    expect(read("<think>hm, STOP", "STOP")).toMatchObject({ reasoning: "hm,", content: "" });
    expect(read("<think>hm</think>4 STOP", "STOP")).toMatchObject({ reasoning: "hm", content: "4" });
    expect(read("4\nEND\n", "END\n")).toMatchObject({ reasoning: null, content: "4" });
    expect(read("<think>hm,STOP", "STOP", true)).toMatchObject({ reasoning: "hm,STOP", content: "" });
    expect(read("<think>hm</think>4STOP", "STOP", true)).toMatchObject({ reasoning: "hm", content: "4STOP" });
  });

  it("gives no part of a call before it is whole", () => {
    expect(tellsOf("qwen2.5", 'I call. <tool_call>\n{"name": "f"').content).toBe("I call.");
    expect(tellsOf("llama3", '{"name": "f"').content).toBe("");
  });
});
