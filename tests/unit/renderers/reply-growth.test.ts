import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { ReplyGrowth } from "../../../ts/renderers/internal.ts";

describe("the certain part of a growing reply", () => {
  it("is given once, in order, and is the whole reply in the end", () => {
    const texts = fc.string({ unit: fc.constantFrom("a", "b", "<", "/", " ", "\n", "é", "\uFFFD"), maxLength: 40 });
    fc.assert(
      fc.property(texts, texts, fc.array(fc.nat(40)), (said, thought, cuts) => {
        const [content, reasoning] = [said.trim(), thought.trim()];
        const growth = new ReplyGrowth(["</a>", "ab"]);
        const emitted = { content: "", reasoning: "" };
        const take = (delta: { content?: string; reasoning?: string } | null): void => {
          emitted.content += delta?.content ?? "";
          emitted.reasoning += delta?.reasoning ?? "";
        };
        for (const cut of cuts.toSorted((a, b) => a - b)) {
          take(growth.take({ content: "", reasoning: reasoning.slice(0, cut) }));
          expect(reasoning.startsWith(emitted.reasoning)).toBe(true);
        }
        for (const cut of cuts.toSorted((a, b) => a - b)) {
          take(growth.take({ content: content.slice(0, cut).trim(), reasoning }));
          expect(content.startsWith(emitted.content)).toBe(true);
        }
        take(growth.rest({ content, reasoning }));
        expect(emitted).toEqual({ content, reasoning });
      }),
    );
  });

  it("holds back text that may become a delimiter, and the blanks before it", () => {
    const growth = new ReplyGrowth(["<tool_call>"]);
    expect(growth.take({ content: "I call. <tool", reasoning: null })).toEqual({ content: "I call." });
    expect(growth.take({ content: "I call. <tools", reasoning: null })).toEqual({ content: " <tools" });
    expect(growth.take({ content: "Something else", reasoning: null })).toBeNull();
  });
});
