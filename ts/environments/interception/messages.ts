/**
 * Anthropic's messages, as agents send and expect them.
 *
 * Sampling parameters are the run's, `max_tokens` excepted. Server tools, images, documents, stop sequences and a reply that is begun by
 * the agent are refused by name; every other field is nobody's concern.
 */
import { z } from "zod";

import type { Message, ToolCall } from "../message.ts";
import { parseBody, refuseStops } from "./chat-completions.ts";
import {
  type AgentReply,
  type AgentRequest,
  type Dialect,
  type Problem,
  refuseUnless,
  type StreamEvent,
  unsupported,
} from "./dialect.ts";

const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.record(z.string(), z.unknown()).optional(),
  tool_use_id: z.string().optional(),
  content: z.unknown().optional(),
});
const content = z.union([z.string(), z.array(block)]);
const body = z.looseObject({
  model: z.string().default("policy"),
  max_tokens: z.int().positive().nullish(),
  messages: z.array(z.looseObject({ role: z.enum(["user", "assistant", "system"]), content })).min(1),
  system: content.nullish(),
  tools: z.array(z.looseObject({ type: z.string().nullish(), name: z.string() })).nullish(),
  tool_choice: z.looseObject({ type: z.string(), disable_parallel_tool_use: z.boolean().nullish() }).nullish(),
  stream: z.boolean().nullish(),
});

type Block = z.output<typeof block>;

function read(value: unknown): AgentRequest {
  const request = parseBody(body, value);
  const { messages, tools, tool_choice: choice } = request;
  const system = request.system ?? null;
  refuseStops("stop_sequences", request["stop_sequences"]);
  refuseUnless("tool_choice", choice?.type, ["auto", "none"], 'only "auto" and "none"');
  if (messages.at(-1)?.role === "assistant")
    throw unsupported(`messages[${messages.length - 1}]`, "a reply that is begun by the agent");
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
  };
}

/** Results of tools are messages of their own; texts between them are the user's. */
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
    messages.push({ role: "tool", content: result, tool_call_id: one.tool_use_id });
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
      const raw = JSON.stringify(one.input ?? {});
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

/** Into OpenAI's shape. */
function toTool(tool: Readonly<Record<string, unknown>>, index: number): Record<string, unknown> {
  const { type, name, description, input_schema: parameters } = tool;
  if (type !== undefined && type !== null && type !== "custom")
    throw unsupported(`tools[${index}].type`, `${JSON.stringify(type)}: tools that the agent runs itself only`);
  const described = description === undefined ? {} : { description };
  return { type: "function", function: { name, ...described, parameters: parameters ?? { type: "object" } } };
}

const STOP_REASON = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use" } as const;

function blocksOf({ id, message }: AgentReply): Record<string, unknown>[] {
  const calls = message.tool_calls ?? [];
  const { reasoning_content: thinking, content: text } = message;
  return [
    // The signature is what the agent hands back with it; nobody checks it.
    ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: id }]),
    ...(text === "" && calls.length > 0 ? [] : [{ type: "text", text }]),
    ...calls.map((call) => ({
      type: "tool_use",
      id: call.id,
      name: call.function.name,
      input: JSON.parse(call.function.arguments) as unknown,
    })),
  ];
}

function answer(reply: AgentReply): Record<string, unknown> {
  const { usage, finishReason, id, model } = reply;
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content: blocksOf(reply),
    stop_reason: STOP_REASON[finishReason],
    stop_sequence: null,
    usage: { input_tokens: usage.promptTokens, output_tokens: usage.completionTokens },
  };
}

function events(reply: AgentReply): StreamEvent[] {
  const event = (type: string, rest: Record<string, unknown>): StreamEvent => ({
    event: type,
    data: { type, ...rest },
  });
  const whole = answer(reply);
  const blocks = blocksOf(reply).flatMap((one, index) => {
    const { empty, deltas } = inPieces(one);
    return [
      event("content_block_start", { index, content_block: empty }),
      ...deltas.map((delta) => event("content_block_delta", { index, delta })),
      event("content_block_stop", { index }),
    ];
  });
  const usage = { input_tokens: reply.usage.promptTokens, output_tokens: 0 };
  return [
    event("message_start", { message: { ...whole, content: [], stop_reason: null, usage } }),
    ...blocks,
    event("message_delta", {
      delta: { stop_reason: whole["stop_reason"], stop_sequence: null },
      usage: { output_tokens: reply.usage.completionTokens },
    }),
    event("message_stop", {}),
  ];
}

/** A block as it begins, and what then fills it. */
function inPieces(one: Readonly<Record<string, unknown>>): {
  empty: Record<string, unknown>;
  deltas: Record<string, unknown>[];
} {
  if (one["type"] === "tool_use") {
    const partial = { type: "input_json_delta", partial_json: JSON.stringify(one["input"]) };
    return { empty: { ...one, input: {} }, deltas: [partial] };
  }
  if (one["type"] === "thinking") {
    const { thinking, signature } = one;
    return {
      empty: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        { type: "thinking_delta", thinking },
        { type: "signature_delta", signature },
      ],
    };
  }
  return { empty: { ...one, text: "" }, deltas: [{ type: "text_delta", text: one["text"] }] };
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
  events,
  error,
  errorEvent: (problem) => ({ event: "error", data: error(problem) }),
};
