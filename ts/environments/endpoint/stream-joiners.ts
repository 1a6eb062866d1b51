/**
 * Joins the events of a stream, in each dialect, into the answer that would have come without streaming.
 *
 * A stream that ends before its end mark is not an answer, and neither is one with an error.
 */
import type { ServerEvent } from "../../inference-client/index.ts";

export interface StreamJoiner {
  /** The text that the event adds to the reply. Throws `StreamError` for an error in the stream, another error for malformed events. */
  push(event: ServerEvent): string;
  /** The whole answer, JSON. Throws when the stream broke off. */
  whole(): string;
}

/** The endpoint failed after it had begun to answer. */
export class StreamError extends Error {}

type Fields = Record<string, unknown>;

/** Joins chat completions, or text completions (`text`). */
export function openaiJoiner(): StreamJoiner {
  const message: Fields & { content: string } = { role: "assistant", content: "" };
  const calls: { id: unknown; type: "function"; function: { name: string; arguments: string } }[] = [];
  let finish: unknown = null;
  let usage: unknown = null;
  return {
    push({ data }) {
      if (data === "[DONE]") return "";
      const chunk = fieldsOf(data);
      refuseError(chunk["error"]);
      usage = chunk["usage"] ?? usage;
      const choice = ((chunk["choices"] ?? []) as Fields[])[0];
      if (choice === undefined) return "";
      finish = choice["finish_reason"] ?? finish;
      const delta = (choice["delta"] ?? {}) as Fields;
      for (const [index, call] of ((delta["tool_calls"] ?? []) as Fields[]).entries()) {
        const at = typeof call["index"] === "number" ? call["index"] : index;
        if (at > calls.length) throw new Error(`tool call ${at} comes before ${calls.length}`);
        const { name, arguments: args } = (call["function"] ?? {}) as Fields;
        const joined = (calls[at] ??= { id: call["id"], type: "function", function: { name: "", arguments: "" } });
        joined.function.name += textOf(name);
        joined.function.arguments += textOf(args);
      }
      for (const key of ["reasoning_content", "reasoning", "refusal"]) {
        if (typeof delta[key] === "string") message[key] = textOf(message[key]) + delta[key];
      }
      const text = textOf(delta["content"]) + textOf(choice["text"]);
      message.content += text;
      return text;
    },
    whole() {
      if (finish === null) throw new Error("the stream ended without a finish_reason");
      const whole = calls.length === 0 ? message : { ...message, tool_calls: calls };
      return JSON.stringify({ choices: [{ message: whole, text: message.content, finish_reason: finish }], usage });
    },
  };
}

/** Joins Anthropic's messages. */
export function anthropicJoiner(): StreamJoiner {
  const blocks: Fields[] = [];
  const inputs = new Map<number, string>();
  const answer: Fields = {};
  let usage: Fields = {};
  let isDone = false;
  return {
    push({ data }) {
      const event = fieldsOf(data);
      refuseError(event["error"]);
      const at = typeof event["index"] === "number" ? event["index"] : 0;
      if (event["type"] === "message_start") {
        const begun = (event["message"] ?? {}) as Fields;
        usage = { ...(begun["usage"] as Fields) };
        Object.assign(answer, begun);
      } else if (event["type"] === "content_block_start") {
        if (at !== blocks.length) throw new Error(`content block ${at} comes before ${blocks.length}`);
        blocks.push({ ...(event["content_block"] as Fields) });
      } else if (event["type"] === "content_block_delta") {
        const delta = (event["delta"] ?? {}) as Fields;
        const block = blocks[at];
        if (block === undefined) throw new Error(`a delta of content block ${at}, which was not begun`);
        if (typeof delta["partial_json"] === "string") inputs.set(at, (inputs.get(at) ?? "") + delta["partial_json"]);
        for (const key of ["text", "thinking"]) {
          if (typeof delta[key] === "string") block[key] = textOf(block[key]) + delta[key];
        }
        return textOf(delta["text"]);
      } else if (event["type"] === "message_delta") {
        Object.assign(answer, event["delta"]);
        usage = { ...usage, ...(event["usage"] as Fields) };
      } else if (event["type"] === "message_stop") isDone = true;
      return "";
    },
    whole() {
      if (!isDone) throw new Error("the stream ended without message_stop");
      for (const [at, json] of inputs)
        if (json !== "") blocks[at] = { ...blocks[at], input: JSON.parse(json) as unknown };
      return JSON.stringify({ ...answer, content: blocks, usage });
    },
  };
}

function fieldsOf(data: string): Fields {
  const value: unknown = JSON.parse(data);
  if (typeof value !== "object" || value === null) throw new Error(`an event is no object: ${data.slice(0, 80)}`);
  return value as Fields;
}

function refuseError(error: unknown): void {
  if (error === undefined || error === null) return;
  const { message } = error as { message?: unknown };
  throw new StreamError(typeof message === "string" ? message : JSON.stringify(error));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
