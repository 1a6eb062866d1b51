/** What a stop string ended is the reply that stands before it: read of the cut text, whatever the tokens are. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { FAMILIES } from "../../../ts/renderers/families.ts";
import { parseReply, stoppedBy, textBefore } from "../../../ts/renderers/internal.ts";
import { parseCompletion } from "../../../ts/renderers/replies/parse-completion.ts";
import { codecOf, STOP_ID } from "../../support/byte-codec.ts";
import { IS_LONG } from "../../support/form.ts";

const TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>"];
/** Tokens that say something before or behind a stop string, and more than one of them. */
const WORDS = ["\n\n", " \n", ";;", "a; b", "STOP STOP", "xST", "OP!", '"}'];

const rendererOf = (codec: ReturnType<typeof codecOf>, family: keyof typeof FAMILIES) => ({
  parse: (...[ids, stopped]: Parameters<Parameters<typeof parseReply>[0]["parse"]>) =>
    parseCompletion({ tokenizer: codec, family: FAMILIES[family], stopIds: new Set([STOP_ID]) }, ids, stopped),
});

const text = (maxLength: number) =>
  fc
    .array(
      fc.oneof(
        { weight: 5, arbitrary: fc.constantFrom("a", " ", "\n", ";", "b", "é", "STOP", "ST", '{"name": "f"}') },
        { weight: 3, arbitrary: fc.constantFrom(...WORDS) },
        { weight: 2, arbitrary: fc.constantFrom(...TAGS) },
      ),
      { maxLength },
    )
    .map((parts) => parts.join(""));

const cases = fc.record({
  begun: text(4),
  sampled: text(12),
  stops: fc.uniqueArray(fc.constantFrom("\n", " ", "\n\n", " \n", ";", "; ", "STOP", "a\n", "é"), { minLength: 1 }),
  family: fc.constantFrom("chatml" as const, "qwen3" as const, "llama3" as const, "default" as const),
  thinks: fc.boolean(),
  vocabulary: fc.constantFrom([...TAGS, ...WORDS], TAGS, [...TAGS.slice(2), ...WORDS], WORDS),
});

/** As a server samples: up to the token that completes a stop string. */
function sample(codec: ReturnType<typeof codecOf>, said: string, stops: readonly string[]) {
  const stream = codec.decodeStream({ skipSpecialTokens: true, stop: stops });
  const ids: number[] = [];
  for (const id of codec.encode(said)) {
    ids.push(id);
    stream.push(id);
    if (stream.stopped) break;
  }
  return { ids: Uint32Array.from(ids), stopReason: stream.stopReason };
}

describe("a reply that a stop string ended", () => {
  test("is the one of its text before the first stop string, whatever was begun", () => {
    fc.assert(
      fc.property(cases, ({ begun, sampled, stops, family, thinks, vocabulary }) => {
        const codec = codecOf(vocabulary);
        const renderer = rendererOf(codec, family);
        const { ids, stopReason } = sample(codec, sampled, stops);
        const ends = stops.map((stop) => sampled.indexOf(stop)).filter((at) => at >= 0);
        const kept = ends.length === 0 ? sampled : sampled.slice(0, Math.min(...ends));
        const before = codec.encode(begun);
        const read = parseReply(
          renderer,
          Uint32Array.of(...before, ...ids),
          thinks,
          stoppedBy(stopReason, before.length),
        );
        const expected = parseReply(renderer, Uint32Array.of(...before, ...codec.encode(kept)), thinks);
        expect(read).toEqual(expected);
        expect(textBefore(codec, ids, stopReason)).toBe(kept);
      }),
      { numRuns: IS_LONG ? 100_000 : 3000 },
    );
  }, 300_000);

  const codec = codecOf(TAGS);
  const read = (begun: string, said: string, stopReason: number | string | null) => {
    const before = codec.encode(begun);
    const ids = Uint32Array.of(...before, ...codec.encode(said));
    const renderer = rendererOf(codec, "qwen3");
    return parseReply(renderer, ids, false, stoppedBy(stopReason, before.length));
  };

  test.each([
    ["Two\nlines: ", "a\n", "\n", { content: "Two\nlines: a" }],
    ["1; 2; ", "3; 4", ";", { content: "1; 2; 3" }],
    ["", "<think>hm STOP", "STOP", { content: "", reasoning: "hm" }],
    ["", "a STOP", 7, { content: "a STOP" }],
    ["", "a STOP", null, { content: "a STOP" }],
    // A delimiter that is the stop string still closes what it closes.
    ["", '<tool_call>{"name": "f"}</tool_call>', "</tool_call>", { toolCalls: [{ status: "ok", name: "f" }] }],
    ["", "hm</think>", "</think>", { content: "", reasoning: "hm" }],
    ["", '<tool_call>{"name": STOP', "STOP", { toolCalls: [{ status: "unclosed_block", raw: '{"name":' }] }],
  ])("%j, and then %j, ended by %j", (begun, said, stopReason, reply) => {
    expect(read(begun, said, stopReason)).toMatchObject(reply);
  });
});
