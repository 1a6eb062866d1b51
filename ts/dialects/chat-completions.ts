/**
 * OpenAI's chat completions, as agents send and expect them.
 *
 * The run sets the sampling parameters, not the agent: they have no effect here, except `max_tokens` and `stop`. A field that would
 * change the kind of reply (choices, log-probabilities, images) is refused by name; all other fields are ignored.
 */
import { z } from "zod";

import { ReplyGrowth } from "../renderers/internal.ts";
import type { Message, ToolCall } from "../message.ts";
import {
  type AgentReply,
  type AgentRequest,
  type Dialect,
  forcedCall,
  malformed,
  openaiError,
  refuseUnless,
  type ReplyHead,
  stopsOf,
  type StreamEvent,
  type StreamWriter,
  unsupported,
} from "./dialect.ts";
import type { SoFar } from "./reply-progress.ts";
import { requiredFormat } from "./required-format.ts";

const part = z.looseObject({ type: z.string(), text: z.string().optional(), refusal: z.string().optional() });
const content = z.union([z.string(), z.array(part)]).nullish();
const call = z.looseObject({
  id: z.string(),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }).optional(),
});
const message = z.looseObject({
  role: z.string(),
  content,
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(call).nullish(),
  tool_call_id: z.string().nullish(),
});
const body = z.looseObject({
  model: z.string().default("policy"),
  messages: z.array(message).min(1),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z
    .looseObject({ type: z.string(), json_schema: z.looseObject({ schema: z.unknown().optional() }).optional() })
    .nullish(),
});

type WireMessage = z.output<typeof message>;

function read(value: unknown): AgentRequest {
  const request = parseBody(body, value);
  refuseUnless("n", request["n"], [1], "one choice per request");
  refuseUnless("logprobs", request["logprobs"], [false], "log-probabilities are not given to agents");
  refuseUnless("audio", request["audio"], [], "texts only");
  refuseUnless("functions", request["functions"], [], "use tools");
  const tools = request.tools ?? [];
  for (const [index, { type }] of tools.entries())
    refuseUnless(`tools[${index}].type`, type, ["function"], `"${type}"`);
  return {
    messages: request.messages.map(toMessage),
    tools: withoutTools(request["tool_choice"]) ? [] : tools,
    model: request.model,
    stream: request.stream === true,
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    oneCall: request.parallel_tool_calls === false,
    streamUsage: request.stream_options?.include_usage === true,
    follows: null,
    stop: stopsOf("stop", request["stop"]),
    toolChoice: toolChoiceOf(request["tool_choice"], tools),
    begun: "",
    format: requiredFormat(request, request.response_format?.json_schema?.schema),
  };
}

function toMessage(wire: WireMessage, index: number): Message {
  const field = `messages[${index}]`;
  const role = wire.role === "developer" ? "system" : wire.role;
  const text = toText(wire.content, `${field}.content`);
  if (role === "system" || role === "user") return { role, content: text };
  if (role === "tool") {
    return {
      role,
      content: text,
      ...(typeof wire.tool_call_id === "string" ? { tool_call_id: wire.tool_call_id } : {}),
    };
  }
  if (role !== "assistant") throw unsupported(`${field}.role`, JSON.stringify(wire.role));
  const reasoning = wire.reasoning_content ?? wire.reasoning ?? null;
  const calls = (wire.tool_calls ?? []).map((one, at): ToolCall => {
    if (one.function === undefined) throw unsupported(`${field}.tool_calls[${at}]`, "calls of functions only");
    return { id: one.id, type: "function", function: { name: one.function.name, arguments: one.function.arguments } };
  });
  return {
    role,
    content: text,
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function toText(value: z.output<typeof content>, field: string): string {
  if (typeof value === "string") return value;
  return (value ?? [])
    .map((one, index) => {
      const text = one.type === "refusal" ? one.refusal : one.type === "text" ? one.text : undefined;
      if (text === undefined) throw unsupported(`${field}[${index}]`, `parts of type "${one.type}"`);
      return text;
    })
    .join("");
}

/** Whether the choice forbids tools. */
export function withoutTools(choice: unknown): boolean {
  return choice === "none";
}

const namedChoice = z.looseObject({
  type: z.literal("function"),
  name: z.string().optional(),
  function: z.looseObject({ name: z.string() }).optional(),
});

/** Null where the policy may call a tool or not. It serves both of OpenAI's dialects. */
export function toolChoiceOf(
  choice: unknown,
  tools: readonly Readonly<Record<string, unknown>>[],
): AgentRequest["toolChoice"] {
  if (choice === undefined || choice === null || choice === "auto" || choice === "none") return null;
  if (choice === "required") return forcedCall("tool_choice", null, tools);
  const named = namedChoice.safeParse(choice).data;
  const name = named?.function?.name ?? named?.name;
  if (name === undefined) throw unsupported("tool_choice", 'only "auto", "none", "required" and a function');
  return forcedCall("tool_choice", name, tools);
}

/** The body as a value of its schema. Errors: PRL_AGENT_REQUEST naming every wrong field. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw malformed("body", z.prettifyError(parsed.error).replace(/\s+/gu, " "));
}

function answer(reply: AgentReply): unknown {
  const { message: said, finishReason } = reply;
  const calls = said.tool_calls ?? [];
  const wire = {
    role: "assistant",
    content: said.content === "" && calls.length > 0 ? null : said.content,
    refusal: null,
    ...(said.reasoning_content === undefined ? {} : { reasoning_content: said.reasoning_content }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    ...envelope(reply, "chat.completion"),
    choices: [{ index: 0, message: wire, logprobs: null, finish_reason: finishReason }],
    usage: usageOf(reply),
  };
}

function stream(head: ReplyHead, { streamUsage }: AgentRequest): StreamWriter {
  const growth = new ReplyGrowth([]);
  let isOpen = false;
  const chunk = (delta: Record<string, unknown>, finish: string | null = null): StreamEvent => ({
    data: {
      ...envelope(head, "chat.completion.chunk"),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(streamUsage ? { usage: null } : {}),
    },
  });
  const grow = (soFar: SoFar): StreamEvent[] => {
    const opening = isOpen ? [] : [chunk({ role: "assistant", content: "" })];
    isOpen = true;
    const { reasoning, content: text } = growth.rest(soFar) ?? {};
    return [
      ...opening,
      ...(reasoning === undefined ? [] : [chunk({ reasoning_content: reasoning })]),
      ...(text === undefined ? [] : [chunk({ content: text })]),
    ];
  };
  return {
    grow,
    end: (reply) => [
      ...grow({ content: reply.message.content, reasoning: reply.message.reasoning_content ?? "" }),
      ...(reply.message.tool_calls ?? []).map((one, index) => chunk({ tool_calls: [{ index, ...one }] })),
      chunk({}, reply.finishReason),
      ...(streamUsage
        ? [{ data: { ...envelope(head, "chat.completion.chunk"), choices: [], usage: usageOf(reply) } }]
        : []),
      { data: "[DONE]" },
    ],
  };
}

function envelope({ id, created, model }: ReplyHead, object: string): Record<string, unknown> {
  return { id: `chatcmpl-${id}`, object, created, model };
}

function usageOf({ usage: { promptTokens, completionTokens } }: AgentReply): Record<string, number> {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

export const chatCompletions: Dialect = {
  name: "chat completions",
  read,
  answer,
  stream,
  error: openaiError,
  errorEvent: (problem) => ({ data: openaiError(problem) }),
};
