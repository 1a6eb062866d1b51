/**
 * OpenAI's responses, as agents send and expect them.
 *
 * Items of one turn of the model (reasoning, message, calls) are one message of ours. `previous_response_id` continues from a reply of the
 * same rollout. The run sets the sampling parameters, except `max_output_tokens`. Built-in tools, images, files, background work and
 * stored conversations are refused by name; all other fields are ignored.
 */
import { z } from "zod";

import type { Message, ToolCall } from "../message.ts";
import { parseBody, toolChoiceOf, withoutTools } from "./chat-completions.ts";
import { formatOf } from "./required-format.ts";
import { type AgentRequest, type Dialect, openaiError, refuseUnless, unsupported } from "./dialect.ts";
import { answer, PREFIX } from "./responses-answer.ts";
import { responsesStream } from "./responses-stream.ts";

const part = z.looseObject({ type: z.string(), text: z.string().optional(), refusal: z.string().optional() });
const content = z.union([z.string(), z.array(part)]);
const item = z.looseObject({
  type: z.string().optional(),
  role: z.string().optional(),
  content: content.nullish(),
  summary: z.array(part).nullish(),
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  output: z.unknown().optional(),
});
const body = z.looseObject({
  model: z.string().default("policy"),
  input: z.union([z.string(), z.array(item).min(1)]),
  instructions: z.string().nullish(),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).nullish(),
  stream: z.boolean().nullish(),
  max_output_tokens: z.int().positive().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  text: z
    .looseObject({ format: z.looseObject({ type: z.string(), schema: z.unknown().optional() }).nullish() })
    .nullish(),
});

type Item = z.output<typeof item>;

function read(value: unknown): AgentRequest {
  const request = parseBody(body, value);
  const { input, tools } = request;
  const instructions = request.instructions ?? null;
  refuseUnless("background", request["background"], [false], "requests are answered at once");
  refuseUnless("conversation", request["conversation"], [], "stored conversations");
  refuseUnless("prompt", request["prompt"], [], "stored prompts");
  const items = typeof input === "string" ? [{ role: "user", content: input }] : input;
  return {
    messages: [
      ...(instructions === null ? [] : [{ role: "system", content: instructions } as const]),
      ...toMessages(items),
    ],
    tools: withoutTools(request["tool_choice"]) ? [] : (tools ?? []).map(toTool),
    model: request.model,
    stream: request.stream === true,
    maxTokens: request.max_output_tokens ?? null,
    oneCall: request.parallel_tool_calls === false,
    streamUsage: true,
    follows: request.previous_response_id?.replace(PREFIX, "") ?? null,
    stop: [],
    toolChoice: toolChoiceOf(request["tool_choice"], tools ?? []),
    begun: "",
    format: formatOf("text.format", request.text?.format, request.text?.format?.schema),
  };
}

/** Items of the model that follow each other are one message. */
function toMessages(items: readonly Item[]): Message[] {
  const messages: Message[] = [];
  let reply: { text: string; reasoning: string | null; calls: ToolCall[] } | null = null;
  const flush = (): void => {
    if (reply === null) return;
    const { text, reasoning, calls } = reply;
    messages.push({
      role: "assistant",
      content: text,
      ...(reasoning === null ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
    reply = null;
  };
  items.forEach((one, index) => {
    const field = `input[${index}]`;
    const type = one.type ?? "message";
    if (type === "reasoning" || type === "function_call" || (type === "message" && one.role === "assistant")) {
      // Reasoning, and a message behind calls, begin a turn of the model.
      if (reply !== null && (type === "reasoning" || (type === "message" && reply.calls.length > 0))) flush();
      reply ??= { text: "", reasoning: null, calls: [] };
      if (type === "reasoning") reply.reasoning = toText(one.content ?? one.summary, field);
      else if (type === "message") reply.text += toText(one.content, field);
      else reply.calls.push(toCall(one, field));
      return;
    }
    flush();
    if (type === "function_call_output") {
      if (one.call_id === undefined) throw unsupported(field, "an output without call_id");
      const output = toText(parseBody(content.nullish(), one.output), `${field}.output`);
      messages.push({ role: "tool", content: output, tool_call_id: one.call_id });
      return;
    }
    if (type !== "message") throw unsupported(field, `items of type "${type}"`);
    const role = one.role === "developer" ? "system" : one.role;
    if (role !== "system" && role !== "user") throw unsupported(`${field}.role`, JSON.stringify(one.role));
    messages.push({ role, content: toText(one.content, `${field}.content`) });
  });
  flush();
  return messages;
}

function toCall({ call_id: id, name, arguments: args }: Item, field: string): ToolCall {
  if (id === undefined || name === undefined || args === undefined)
    throw unsupported(field, "a function_call without call_id, name or arguments");
  return { id, type: "function", function: { name, arguments: args } };
}

const TEXT_PARTS = new Set(["input_text", "output_text", "text", "summary_text", "reasoning_text"]);

function toText(value: z.output<typeof content> | null | undefined, field: string): string {
  if (typeof value === "string") return value;
  return (value ?? [])
    .map((one, index) => {
      const text = one.type === "refusal" ? one.refusal : TEXT_PARTS.has(one.type) ? one.text : undefined;
      if (text === undefined) throw unsupported(`${field}[${index}]`, `parts of type "${one.type}"`);
      return text;
    })
    .join("");
}

/** Converts a tool into the shape of chat completions. */
function toTool(tool: Readonly<Record<string, unknown>>, index: number): Record<string, unknown> {
  const { type, name, description, parameters, strict } = tool;
  if (type !== "function")
    throw unsupported(`tools[${index}].type`, `${JSON.stringify(type)}: functions that the agent runs itself only`);
  const known = { description, parameters, strict };
  const given = Object.entries(known).filter(([, one]) => one !== undefined && one !== null);
  return { type, function: { name, ...Object.fromEntries(given) } };
}

export const responses: Dialect = {
  name: "responses",
  read,
  answer,
  stream: responsesStream,
  error: openaiError,
  errorEvent: ({ code, message }) => ({ event: "error", data: { type: "error", code, message, param: null } }),
};
