/**
 * Stands in for the judging model, so that tests need none: a response is right when it has one date, which is that of the reference.
 *
 * It reads the prompt that `judge.reference` writes. A model understands other wordings; this does not.
 */
import type { Message, ReplyClient } from "prl-lm/environments";

const DATE = /\b\d{1,2} [A-Z][a-z]+ \d{4}\b/g;

export const STAND_IN_JUDGE: ReplyClient = {
  reply: async ({ prompt }) => {
    const asked = typeof prompt === "string" ? prompt : prompt.map(({ content }: Message) => content).join("\n");
    const [reference, response] = [partOf(asked, "reference"), partOf(asked, "response")];
    const dates = response.match(DATE) ?? [];
    const isRight = dates.length === 1 && dates[0] === reference;
    return {
      message: { role: "assistant", content: `VERDICT: ${isRight ? "yes" : "no"}` },
      toolCalls: [],
      finishReason: "stop",
      usage: null,
    };
  },
};

/** What stands between the marks of a part of the prompt. */
function partOf(prompt: string, title: string): string {
  return new RegExp(`\\[begin ${title} (\\w+)\\]\\n([\\s\\S]*?)\\n\\[end ${title} \\1\\]`).exec(prompt)?.[2] ?? "";
}
