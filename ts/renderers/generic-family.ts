/**
 * The facts that bridging and parsing need about a model of an unknown family, found with its own chat template: the token behind a
 * reply, and whether it supports `<think>` and `<tool_call>`. A template that writes no token there, or refuses a plain conversation,
 * is not bridged.
 */
import { callsOf, FAMILIES, type Family } from "./families.ts";
import type { Tokenizer } from "./tokenizer.ts";

type Codec = Pick<Tokenizer, "applyChatTemplate" | "encode" | "decode">;

const REPLY = "\uE0F3";

export function genericFamily(tokenizer: Codec, template: string | null): Family {
  if (template === null) return FAMILIES.default;
  const thinks = template.includes("<think>");
  return {
    ...FAMILIES.default,
    close: closingToken(tokenizer, template),
    toolCalls: callsOf(template),
    thinks,
    // Most templates with thinking drop it from earlier turns; for one that keeps it, rendering anew is unnecessary but correct.
    forgetsThinking: thinks,
  };
}

/** The special token directly behind a reply; null when there is none. */
function closingToken(tokenizer: Codec, chatTemplate: string): string | null {
  const conversation = [
    { role: "user", content: "a" },
    { role: "assistant", content: REPLY },
    { role: "user", content: "b" },
  ];
  let text: string;
  try {
    ({ text } = tokenizer.applyChatTemplate(conversation, { chatTemplate }));
  } catch {
    // Rendering a conversation gives the reason as its error.
    return null;
  }
  const [, behind = "", more] = text.split(REPLY);
  const [first] = more === undefined ? tokenizer.encode(behind) : [];
  if (first === undefined || tokenizer.decode([first], { skipSpecialTokens: true }) !== "") return null;
  const token = tokenizer.decode([first]);
  return token !== "" && behind.startsWith(token) ? token : null;
}
