/** What a rollout tells of a reply while it is sampled is the reply, as far as it goes, and costs as much as the reply is long. */
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";

import { listenerOf } from "../../../../ts/environments/rollout/reply-tokens.ts";
import { FAMILIES } from "../../../../ts/renderers/families.ts";
import { GrowingReply } from "../../../../ts/renderers/replies/growing-reply.ts";
import { parseReply, stoppedBy, textBefore } from "../../../../ts/renderers/internal.ts";
import type { ReplyDelta } from "../../../../ts/renderers/index.ts";
import { parseCompletion } from "../../../../ts/renderers/replies/parse-completion.ts";
import { codecOf, STOP_ID } from "../../../support/byte-codec.ts";
import { IS_LONG } from "../../../support/form.ts";

const TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>"];
const WORDS = [" b\n", "\n\n", ";;", "xST", "OP!"];
const STOP_IDS = new Set([STOP_ID]);

function codecOfFamily(family: keyof typeof FAMILIES) {
  const codec = codecOf([...TAGS, ...WORDS]);
  const unused = (): never => {
    throw new Error("a listener has no use for it");
  };
  let decoded = 0;
  const tokenizer = { ...codec, applyChatTemplate: unused, encode: unused, encodeAsync: unused };
  const counting: typeof codec = {
    ...codec,
    decode: (ids, options) => {
      const all = [...ids];
      decoded += all.length;
      return codec.decode(all, options);
    },
  };
  const renderer = {
    renderAsync: unused,
    bridgeToNextTurnAsync: unused,
    replyOpening: unused,
    callBeginning: unused,
    parse: (...of: [ids: Uint32Array, stopped?: ReturnType<typeof stoppedBy>]) =>
      parseCompletion({ tokenizer: codec, family: FAMILIES[family], stopIds: STOP_IDS }, ...of),
    grow: (options: ConstructorParameters<typeof GrowingReply>[1]) =>
      new GrowingReply({ tokenizer: counting, family: FAMILIES[family], stopIds: STOP_IDS }, options),
  };
  return { codec, tokenizer, renderer, decoded: () => decoded };
}

/** Every token is heard long after the one before. */
function slowly(): void {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 1000));
}
afterEach(() => void vi.restoreAllMocks());

const part = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("a", " ", "\n", ";", "é", "ST", '{"name": "f"}') },
  { weight: 3, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 1, arbitrary: fc.constantFrom(...TAGS) },
);
const text = (maxLength: number) => fc.array(part, { maxLength }).map((parts) => parts.join(""));

const cases = fc.record({
  begun: text(3),
  said: text(14),
  stop: fc.uniqueArray(fc.constantFrom("\n", " ", " b", "\n\n", ";", "STOP")),
  thinks: fc.boolean(),
  family: fc.constantFrom("chatml" as const, "qwen3" as const, "llama3" as const, "default" as const),
  isText: fc.boolean(),
});

describe("a reply that is heard while it is sampled", () => {
  test("is passed on as it will be parsed, up to the stop string", () => {
    slowly();
    fc.assert(
      fc.property(cases, ({ begun, said, stop, thinks, family, isText }) => {
        const { codec, tokenizer, renderer } = codecOfFamily(family);
        const before = Uint32Array.from(isText ? [] : codec.encode(begun));
        const emitted = { content: "", reasoning: "" };
        const tell = ({ content = "", reasoning = "" }: ReplyDelta): void => {
          emitted.content += content;
          emitted.reasoning += reasoning;
        };
        const hear = listenerOf({ tokenizer, renderer }, isText ? "text" : { begun: before, thinks }, stop, tell);
        const stream = codec.decodeStream({ skipSpecialTokens: true, stop });
        const ids: number[] = [];
        for (const id of codec.encode(said)) {
          ids.push(id);
          stream.push(id);
          hear([id]);
          if (stream.stopped) break;
        }
        const { stopReason } = stream;
        const whole = Uint32Array.of(...before, ...ids);
        const { content, reasoning } = isText
          ? { content: textBefore(codec, whole, stopReason), reasoning: null }
          : parseReply(renderer, whole, thinks, stoppedBy(stopReason, before.length));
        // A block of thinking that only its end shows makes thinking of what looked like content.
        if (emitted.content !== "" && reasoning?.startsWith(emitted.content) === true) return;
        expect(content.startsWith(emitted.content)).toBe(true);
        expect((reasoning ?? "").startsWith(emitted.reasoning)).toBe(true);
      }),
      { numRuns: IS_LONG ? 100_000 : 2000 },
    );
  }, 300_000);

  test("is looked at once: a few tokens are decoded for each that is sampled", () => {
    slowly();
    const { codec, tokenizer, renderer, decoded } = codecOfFamily("qwen3");
    let emitted = "";
    const tell = ({ content = "" }: ReplyDelta) => void (emitted += content);
    const hear = listenerOf({ tokenizer, renderer }, { begun: new Uint32Array(0), thinks: false }, [], tell);
    const ids = codec.encode("words".repeat(800));
    for (const id of ids) hear([id]);
    expect(emitted).toBe("words".repeat(800));
    expect(decoded()).toBeLessThan(10 * ids.length);
  });
});
