/**
 * Anthropic's messages, as agents send and expect them.
 *
 * The run sets the sampling parameters, except `max_tokens` and `stop_sequences`. Server tools, images and documents are refused by name;
 * all other fields are ignored. A tool's result that is an error begins with the word, because templates have no other place for it, and a
 * tool's examples become those of its schema.
 */
import { z } from "zod";

import { exactJson, parseExact } from "../exact-json.ts";
import { ReplyGrowth } from "../renderers/internal.ts";
import type { Message, ToolCall } from "../message.ts";
import { parseBody } from "./chat-completions.ts";
import {
  type AgentReply,
  type AgentRequest,
  type Dialect,
  forcedCall,
  malformed,
  type Problem,
  type ReplyHead,
  type ReplyUsage,
  stopsOf,
  type StreamEvent,
  type StreamWriter,
  unsupported,
} from "./dialect.ts";
import type { SoFar } from "./reply-progress.ts";
import { formatOf } from "./required-format.ts";

const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.record(z.string(), z.unknown()).optional(),
  tool_use_id: z.string().optional(),
  is_error: z.boolean().nullish(),
  content: z.unknown().optional(),
});
const content = z.union([z.string(), z.array(block)]);
const body = z.looseObject({
  model: z.string().default("policy"),
  max_tokens: z.int().positive().nullish(),
  messages: z.array(z.looseObject({ role: z.enum(["user", "assistant", "system"]), content })).min(1),
  system: content.nullish(),
  tools: z.array(z.looseObject({ type: z.string().nullish(), name: z.string() })).nullish(),
  tool_choice: z
    .looseObject({
      type: z.enum(["auto", "any", "tool", "none"]),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().nullish(),
    })
    .nullish(),
  output_config: z.looseObject({ format: z.looseObject({ type: z.string() }).nullish() }).nullish(),
  stream: z.boolean().nullish(),
});

type Block = z.output<typeof block>;

function read(value: unknown): AgentRequest {
  const request = parseBody(body, value);
  const { tools, tool_choice: choice } = request;
  const system = request.system ?? null;
  const { messages, begun } = splitBegun(request.messages);
  const format = request.output_config?.format;
  const isForced = choice?.type === "any" || choice?.type === "tool";
  if (choice?.type === "tool" && choice.name === undefined) throw malformed("tool_choice.name", "is missing");
  return {
    messages: [
      ...(system === null ? [] : [{ role: "system", content: toText(system, "system") } as const]),
      ...messages.flatMap(({ role, content: said }, index) => {
        const field = `messages[${index}].content`;
        if (role === "system") return [{ role, content: toText(said, field) } as const];
        const blocks = typeof said === "string" ? [{ type: "text", text: said }] : said;
        return role === "assistant" ? [toReply(blocks, field)] : toInput(blocks, field);
      }),
    ],
    tools: choice?.type === "none" ? [] : (tools ?? []).map(toTool),
    model: request.model,
    stream: request.stream === true,
    maxTokens: request.max_tokens ?? null,
    oneCall: choice?.disable_parallel_tool_use === true,
    streamUsage: true,
    follows: null,
    stop: stopsOf("stop_sequences", request["stop_sequences"]),
    toolChoice: isForced ? forcedCall("tool_choice", choice.name ?? null, tools ?? []) : null,
    begun,
    format: formatOf("output_config.format", format, format?.["schema"]),
  };
}

/** A final message of the model is the beginning of its reply. */
function splitBegun(messages: z.output<typeof body>["messages"]): { messages: typeof messages; begun: string } {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return { messages, begun: "" };
  return { messages: messages.slice(0, -1), begun: toText(last.content, `messages[${messages.length - 1}].content`) };
}

/** Results of tools become separate messages; texts between them are user messages. */
function toInput(blocks: readonly Block[], field: string): Message[] {
  const messages: Message[] = [];
  let texts: Block[] = [];
  const flush = (): void => {
    if (texts.length > 0) messages.push({ role: "user", content: toText(texts, field) });
    texts = [];
  };
  blocks.forEach((one, index) => {
    if (one.type !== "tool_result") {
      texts.push(one);
      return;
    }
    flush();
    const at = `${field}[${index}]`;
    if (one.tool_use_id === undefined) throw unsupported(at, "a result without tool_use_id");
    const result = toText(parseBody(content, one.content ?? ""), `${at}.content`);
    const marked = one.is_error === true && !/^\W*error/iu.test(result) ? `Error: ${result}` : result;
    messages.push({ role: "tool", content: marked, tool_call_id: one.tool_use_id });
  });
  flush();
  return messages.length > 0 ? messages : [{ role: "user", content: "" }];
}

function toReply(blocks: readonly Block[], field: string): Message {
  let text = "";
  let thinking: string | null = null;
  const calls: ToolCall[] = [];
  blocks.forEach((one, index) => {
    if (one.type === "text" && one.text !== undefined) text += one.text;
    else if (one.type === "thinking") thinking = (thinking ?? "") + (one.thinking ?? "");
    else if (one.type === "tool_use" && one.id !== undefined && one.name !== undefined) {
      const raw = exactJson(one.input ?? {});
      calls.push({ id: one.id, type: "function", function: { name: one.name, arguments: raw } });
    } else if (one.type !== "redacted_thinking")
      throw unsupported(`${field}[${index}]`, `blocks of type "${one.type}"`);
  });
  return {
    role: "assistant",
    content: text,
    ...(thinking === null ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function toText(value: z.output<typeof content>, field: string): string {
  if (typeof value === "string") return value;
  return value
    .map((one, index) => {
      if (one.type !== "text" || one.text === undefined)
        throw unsupported(`${field}[${index}]`, `blocks of type "${one.type}"`);
      return one.text;
    })
    .join("\n\n");
}

/** Converts a tool into OpenAI's shape. */
function toTool(tool: Readonly<Record<string, unknown>>, index: number): Record<string, unknown> {
  const { type, name, description, input_schema: schema = { type: "object" }, input_examples: examples } = tool;
  if (type !== undefined && type !== null && type !== "custom")
    throw unsupported(`tools[${index}].type`, `${JSON.stringify(type)}: tools that the agent runs itself only`);
  const described = description === undefined ? {} : { description };
  const parameters = Array.isArray(examples) ? { ...(schema as object), examples } : schema;
  return { type: "function", function: { name, ...described, parameters } };
}

const STOP_REASON = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use" } as const;

function blocksOf({ id, message }: AgentReply): Record<string, unknown>[] {
  const calls = message.tool_calls ?? [];
  const { reasoning_content: thinking, content: text } = message;
  return [
    // The agent sends the signature back with the thinking; it is not checked.
    ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: id }]),
    ...(text === "" && calls.length > 0 ? [] : [{ type: "text", text }]),
    ...calls.map((call) => ({
      type: "tool_use",
      id: call.id,
      name: call.function.name,
      input: parseExact(call.function.arguments),
    })),
  ];
}

function answer(reply: AgentReply): Record<string, unknown> {
  const { usage, finishReason, stopSequence, id, model } = reply;
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content: blocksOf(reply),
    stop_reason: stopSequence === null ? STOP_REASON[finishReason] : "stop_sequence",
    stop_sequence: stopSequence,
    usage: usageOf(usage),
  };
}

/** Anthropic counts tokens that were read from a cache apart. */
function usageOf({ promptTokens, completionTokens, cachedTokens }: ReplyUsage): Record<string, number> {
  if (cachedTokens === undefined) return { input_tokens: promptTokens, output_tokens: completionTokens };
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
  };
}

const event = (type: string, rest: Record<string, unknown>): StreamEvent => ({ event: type, data: { type, ...rest } });

/** Blocks come one after the other: thinking, text, calls. */
function stream(head: ReplyHead): StreamWriter {
  const growth = new ReplyGrowth([]);
  let index = -1;
  let open: "thinking" | "text" | null = null;
  const delta = (part: Record<string, unknown>): StreamEvent => event("content_block_delta", { index, delta: part });
  const begin = (empty: Record<string, unknown>): StreamEvent =>
    event("content_block_start", { index: ++index, content_block: empty });
  const close = (): StreamEvent[] => {
    const signed = open === "thinking" ? [delta({ type: "signature_delta", signature: head.id })] : [];
    const closing = open === null ? [] : [...signed, event("content_block_stop", { index })];
    open = null;
    return closing;
  };
  let isBegun = false;
  const start = (): StreamEvent[] => {
    if (isBegun) return [];
    isBegun = true;
    const usage = { input_tokens: head.promptTokens ?? 0, output_tokens: 0 };
    const whole = { id: `msg_${head.id}`, type: "message", role: "assistant", model: head.model, content: [] };
    return [event("message_start", { message: { ...whole, stop_reason: null, stop_sequence: null, usage } })];
  };
  const grow = (soFar: SoFar): StreamEvent[] => {
    const { reasoning, content: text } = growth.rest(soFar) ?? {};
    const events = start();
    if (reasoning !== undefined && open !== "text") {
      if (open === null) events.push(begin({ type: "thinking", thinking: "", signature: "" }));
      open = "thinking";
      events.push(delta({ type: "thinking_delta", thinking: reasoning }));
    }
    if (text !== undefined) {
      if (open !== "text") events.push(...close(), begin({ type: "text", text: "" }));
      open = "text";
      events.push(delta({ type: "text_delta", text }));
    }
    return events;
  };
  return {
    grow,
    end(reply) {
      const { content: text, reasoning_content: reasoning = "", tool_calls: calls = [] } = reply.message;
      const { stop_reason, stop_sequence, usage } = answer(reply);
      const events = [...grow({ content: text, reasoning }), ...close()];
      if (text === "" && calls.length === 0)
        events.push(begin({ type: "text", text: "" }), event("content_block_stop", { index }));
      for (const { id, function: called } of calls) {
        events.push(begin({ type: "tool_use", id, name: called.name, input: {} }));
        events.push(delta({ type: "input_json_delta", partial_json: called.arguments }));
        events.push(event("content_block_stop", { index }));
      }
      events.push(event("message_delta", { delta: { stop_reason, stop_sequence }, usage }), event("message_stop", {}));
      return events;
    },
  };
}

const ERROR_TYPE: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
};

function error({ status, code, message }: Problem): Record<string, unknown> {
  const type = ERROR_TYPE[status] ?? "api_error";
  return { type: "error", error: { type, message: `[${code}] ${message}` } };
}

export const messages: Dialect = {
  name: "messages",
  read,
  answer,
  stream,
  error,
  errorEvent: (problem) => ({ event: "error", data: error(problem) }),
};
