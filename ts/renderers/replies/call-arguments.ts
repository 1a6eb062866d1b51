/** The arguments of a call as JSON text. */
import { exactJson, parseExact } from "../../exact-json.ts";
import type { ParsedToolCall } from "./parse-completion.ts";
import { readXmlCall, withTypes } from "./xml-call.ts";

/** The arguments of a well-formed call. Whole numbers have the digits that the model wrote, also where JavaScript cannot hold them. */
export function argumentsText(call: ParsedToolCall, tools: readonly unknown[]): string {
  const { arguments: given, raw } = call;
  const written = raw.startsWith("<") ? withTypes(readXmlCall(raw), tools, parseExact).arguments : writtenIn(raw);
  const text = exactJson(written);
  // A number that differs in more than digits is another one than the one that was read.
  return JSON.stringify(JSON.parse(text)) === JSON.stringify(given) ? text : JSON.stringify(given);
}

function writtenIn(raw: string): unknown {
  const call = parseExact(raw) as Readonly<Record<string, unknown>>;
  return call["arguments"] ?? call["parameters"] ?? {};
}
