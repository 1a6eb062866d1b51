/**
 * Arguments of tool calls in the form that a template expects. The chat API has them as JSON text. Some templates write that text; most expect objects:
 * they write them with `tojson`, which makes a quoted text of a text, or go through their entries.
 */
import { PrlError } from "../errors.ts";
import { parseExact } from "../exact-json.ts";
import type { ChatMessage } from "./chat-template.ts";

/** Arguments with quotes, so that text which was quoted once more differs from them. */
const ARGUMENTS = '{"name":"value"}';
const CALL = { id: "call00000", type: "function", function: { name: "f", arguments: ARGUMENTS } };
const CALLING: readonly ChatMessage[] = [
  { role: "user", content: "a" },
  { role: "assistant", content: "", tool_calls: [CALL] },
];

/** Gives a template's messages: with arguments as text where `render`, which renders by the template, writes text as it is, else as objects. */
export function argumentsFor(
  render: (messages: readonly ChatMessage[]) => string,
): (messages: readonly ChatMessage[]) => readonly ChatMessage[] {
  let takesText: boolean | null = null;
  return (messages) => {
    if (!Array.isArray(messages) || !messages.some((message) => Array.isArray(message["tool_calls"]))) return messages;
    takesText ??= writesText(render);
    return takesText ? messages : withReadArguments(messages);
  };
}

function writesText(render: (messages: readonly ChatMessage[]) => string): boolean {
  try {
    return render(CALLING).includes(ARGUMENTS);
  } catch (cause) {
    // It does not take text. What else it may refuse, the conversation itself shows.
    if (cause instanceof PrlError && cause.code === "PRL_TEMPLATE") return false;
    throw cause;
  }
}

/** The messages with arguments that are JSON text read. Other text stays as it is; as in vLLM an empty text is a call without arguments. */
export function withReadArguments(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message) => {
    const calls = message["tool_calls"];
    return Array.isArray(calls) ? { ...message, tool_calls: calls.map(withArguments) } : message;
  });
}

function withArguments(call: unknown): unknown {
  if (typeof call !== "object" || call === null || !("function" in call)) return call;
  const { function: called } = call;
  if (typeof called !== "object" || called === null || !("arguments" in called)) return call;
  if (typeof called.arguments !== "string") return call;
  try {
    const read = called.arguments === "" ? {} : parseExact(called.arguments);
    return { ...call, function: { ...called, arguments: read } };
  } catch {
    return call;
  }
}
