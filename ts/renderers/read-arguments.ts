/**
 * Arguments of tool calls in the form that a template expects. The chat API has them as JSON text. Most templates expect objects: they write
 * them with `tojson`, which makes a quoted text of a text, or go through their entries. Some expect text, and some take either.
 */
import { PrlError } from "../errors.ts";
import { exactJson, parseExact } from "../exact-json.ts";
import type { ChatMessage } from "./chat-template.ts";

type Render = (messages: readonly ChatMessage[]) => string;
type Form = "objects" | "text" | "either";

/** Gives a template, by which `render` renders, messages with arguments that it can write. Where it takes either form they stay as they are. */
export function argumentsFor(render: Render): (messages: readonly ChatMessage[]) => readonly ChatMessage[] {
  let form: Form | null = null;
  return (messages) => {
    if (!Array.isArray(messages) || !messages.some((message) => Array.isArray(message["tool_calls"]))) return messages;
    form ??= formOf(render);
    if (form === "either") return messages;
    return form === "objects" ? withReadArguments(messages) : withArguments(messages, writtenArguments);
  };
}

/** Arguments with quotes, so that text which was quoted once more differs from them, and as Python prints such an object. */
const [TEXT, PRINTED] = ['{"name":"value"}', "{'name': 'value'}"];

function formOf(render: Render): Form {
  const [ofText, ofObject] = [TEXT, JSON.parse(TEXT) as unknown].map((args) => calling(render, args));
  if (ofText?.includes(TEXT) !== true) return "objects";
  return ofObject === undefined || ofObject.includes(PRINTED) ? "text" : "either";
}

/** A conversation with a call; undefined where the template refuses it. */
function calling(render: Render, args: unknown): string | undefined {
  const call = { id: "call00000", type: "function", function: { name: "f", arguments: args } };
  try {
    return render([
      { role: "user", content: "a" },
      { role: "assistant", content: "", tool_calls: [call] },
    ]);
  } catch (cause) {
    // The conversation itself shows other refusals.
    if (cause instanceof PrlError && cause.code === "PRL_TEMPLATE") return undefined;
    throw cause;
  }
}

/** The messages with arguments that are JSON text read. Other text stays as it is; as in vLLM an empty text is a call without arguments. */
export function withReadArguments(messages: readonly ChatMessage[]): ChatMessage[] {
  return withArguments(messages, readArguments);
}

function readArguments(given: unknown): unknown {
  if (typeof given !== "string") return given;
  try {
    return given === "" ? {} : parseExact(given);
  } catch {
    return given;
  }
}

function writtenArguments(given: unknown): unknown {
  return typeof given === "object" ? exactJson(given) : given;
}

function withArguments(messages: readonly ChatMessage[], change: (given: unknown) => unknown): ChatMessage[] {
  const changed = (call: unknown): unknown => {
    if (typeof call !== "object" || call === null || !("function" in call)) return call;
    const { function: called } = call;
    if (typeof called !== "object" || called === null || !("arguments" in called)) return call;
    return { ...call, function: { ...called, arguments: change(called.arguments) } };
  };
  return messages.map((message) => {
    const calls = message["tool_calls"];
    return Array.isArray(calls) ? { ...message, tool_calls: calls.map(changed) } : message;
  });
}
