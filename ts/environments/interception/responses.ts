/**
 * OpenAI's responses, as agents send and expect them.
 *
 * Items of one turn of the model (reasoning, message, calls) are one message of ours. `previous_response_id` goes on from a reply of the
 * same rollout. Sampling parameters are the run's, `max_output_tokens` excepted. Built-in tools, formats, images, files, background work
 * and stored conversations are refused by name; every other field is nobody's concern.
 */
import { z } from "zod";

import type { Message, ToolCall } from "../message.ts";
import { parseBody, withoutTools } from "./chat-completions.ts";
import {
  type AgentReply,
  type AgentRequest,
  type Dialect,
  openaiError,
  refuseUnless,
  type StreamEvent,
  unsupported,
} from "./dialect.ts";

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
  text: z.looseObject({ format: z.looseObject({ type: z.string() }).nullish() }).nullish(),
});

type Item = z.output<typeof item>;

const PREFIX = "resp_";

function read(value: unknown): AgentRequest {
  const request = parseBody(body, value);
  const { input, tools } = request;
  const instructions = request.instructions ?? null;
  refuseUnless("text.format", request.text?.format?.type, ["text"], "text only");
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

/** Into the shape of chat completions. */
function toTool(tool: Readonly<Record<string, unknown>>, index: number): Record<string, unknown> {
  const { type, name, description, parameters, strict } = tool;
  if (type !== "function")
    throw unsupported(`tools[${index}].type`, `${JSON.stringify(type)}: functions that the agent runs itself only`);
  const known = { description, parameters, strict };
  const given = Object.entries(known).filter(([, one]) => one !== undefined && one !== null);
  return { type, function: { name, ...Object.fromEntries(given) } };
}

type OutputItem = Record<string, unknown> & { id: string; type: string };

function itemsOf({ id, message, finishReason }: AgentReply): OutputItem[] {
  const status = finishReason === "length" ? "incomplete" : "completed";
  const calls = message.tool_calls ?? [];
  const { reasoning_content: reasoning, content: text } = message;
  const texts = [{ type: "output_text", text, annotations: [], logprobs: [] }];
  return [
    ...(reasoning === undefined
      ? []
      : [{ id: `rs_${id}`, type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: reasoning }] }]),
    ...(text === "" && calls.length > 0
      ? []
      : [{ id: `msg_${id}`, type: "message", status, role: "assistant", content: texts }]),
    ...calls.map((call, index) => ({
      id: `fc_${id}_${index}`,
      type: "function_call",
      status: "completed",
      call_id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
    })),
  ];
}

function answer(reply: AgentReply): Record<string, unknown> {
  const { id, created, model, finishReason, usage } = reply;
  const isCut = finishReason === "length";
  return {
    id: PREFIX + id,
    object: "response",
    created_at: created,
    status: isCut ? "incomplete" : "completed",
    error: null,
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    instructions: null,
    metadata: {},
    model,
    output: itemsOf(reply),
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: "auto",
    tools: [],
    top_p: null,
    usage: {
      input_tokens: usage.promptTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: usage.completionTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.promptTokens + usage.completionTokens,
    },
  };
}

function events(reply: AgentReply): StreamEvent[] {
  const whole = answer(reply);
  const begun = { ...whole, status: "in_progress", incomplete_details: null, output: [], usage: null };
  const parts: Record<string, unknown>[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...itemsOf(reply).flatMap((one, output_index) => inPieces(one, output_index)),
    { type: `response.${String(whole["status"])}`, response: whole },
  ];
  return parts.map((data, sequence_number) => ({
    event: String(data["type"]),
    data: { ...data, sequence_number },
  }));
}

function inPieces(one: OutputItem, output_index: number): Record<string, unknown>[] {
  const at = { item_id: one.id, output_index };
  const framed = (empty: OutputItem, pieces: Record<string, unknown>[]): Record<string, unknown>[] => [
    { type: "response.output_item.added", output_index, item: empty },
    ...pieces.map((piece) => ({ ...at, ...piece })),
    { type: "response.output_item.done", output_index, item: one },
  ];
  if (one.type === "function_call") {
    const text = one["arguments"];
    return framed({ ...one, status: "in_progress", arguments: "" }, [
      { type: "response.function_call_arguments.delta", delta: text },
      { type: "response.function_call_arguments.done", arguments: text, name: one["name"] },
    ]);
  }
  const [said] = one["content"] as { text: string; type: string }[];
  const text = said?.text ?? "";
  const kind = one.type === "reasoning" ? "reasoning_text" : "output_text";
  const empty = one.type === "reasoning" ? { ...one, content: [] } : { ...one, status: "in_progress", content: [] };
  const content_index = 0;
  return framed(empty, [
    { type: "response.content_part.added", content_index, part: { ...said, text: "" } },
    { type: `response.${kind}.delta`, content_index, delta: text, logprobs: [] },
    { type: `response.${kind}.done`, content_index, text, logprobs: [] },
    { type: "response.content_part.done", content_index, part: said },
  ]);
}

export const responses: Dialect = {
  name: "responses",
  read,
  answer,
  events,
  error: openaiError,
  errorEvent: ({ code, message }) => ({ event: "error", data: { type: "error", code, message, param: null } }),
};
