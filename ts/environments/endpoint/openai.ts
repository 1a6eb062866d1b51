/**
 * OpenAI's chat and text completions, which every compatible server has: makes request bodies of our prompts, and replies of their
 * answers.
 */
import { z } from "zod";

import type { ParsedToolCall } from "../../renderers/index.ts";
import { type Message, promptMessages, type ToolCall } from "../../message.ts";
import type { Reply, ReplyRequest } from "../rollout/reply-client.ts";
import type { Sampling } from "../rollout/policy-client.ts";

const usageSchema = z
  .looseObject({ prompt_tokens: z.number(), completion_tokens: z.number() })
  .nullish()
  .transform((usage) =>
    usage === null || usage === undefined
      ? null
      : { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens },
  );

const callSchema = z.looseObject({
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.string().nullish() }),
});

const chatSchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        message: z.looseObject({
          content: z.string().nullish(),
          refusal: z.string().nullish(),
          reasoning_content: z.string().nullish(),
          reasoning: z.string().nullish(),
          tool_calls: z.array(callSchema).nullish(),
        }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  usage: usageSchema,
});

const textSchema = z.looseObject({
  choices: z.array(z.looseObject({ text: z.string(), finish_reason: z.string().nullish() })).min(1),
  usage: usageSchema,
});

/** Body of `/chat/completions`. */
export function chatBody(model: string, request: ReplyRequest): Record<string, unknown> {
  const { prompt, tools, toolChoice, stop = [], jsonSchema, sampling, seed } = request;
  const { maxCompletionTokens } = sampling;
  return {
    model,
    messages: promptMessages(prompt).map(toWire),
    ...(tools === undefined || tools.length === 0 ? {} : { tools }),
    ...(toolChoice !== undefined && {
      tool_choice: toolChoice === "required" ? toolChoice : { type: "function", function: toolChoice },
    }),
    ...(jsonSchema !== undefined && {
      response_format: { type: "json_schema", json_schema: { name: "reply", strict: true, schema: jsonSchema } },
    }),
    ...(stop.length > 0 && { stop }),
    ...samplingBody(sampling, seed),
    ...(maxCompletionTokens === null ? {} : { max_completion_tokens: maxCompletionTokens }),
  };
}

/** Body of `/completions`, with the unchanged text. */
export function textBody(
  model: string,
  prompt: string,
  { sampling, seed, stop = [] }: ReplyRequest,
): Record<string, unknown> {
  const { maxCompletionTokens } = sampling;
  return {
    model,
    prompt,
    ...(stop.length > 0 && { stop }),
    ...samplingBody(sampling, seed),
    ...(maxCompletionTokens === null ? {} : { max_tokens: maxCompletionTokens }),
  };
}

/** Settings without effect are left out, because some servers do not know them. */
function samplingBody({ temperature, topP, topK }: Sampling, seed: number): Record<string, unknown> {
  return { temperature, seed, ...(topP === 1 ? {} : { top_p: topP }), ...(topK > 0 ? { top_k: topK } : {}) };
}

/** A tool's answer to a malformed call belongs to no call, so it is sent as a user message. */
function toWire({ role, content, tool_calls: calls, tool_call_id: id }: Message): Record<string, unknown> {
  if (role === "tool" && id === undefined) return { role: "user", content };
  return {
    role,
    content,
    ...(calls === undefined || calls.length === 0 ? {} : { tool_calls: calls }),
    ...(id === undefined ? {} : { tool_call_id: id }),
  };
}

/** Throws when the answer is something else. */
export function readChat(text: string): Reply {
  const { choices, usage } = parse(chatSchema, text);
  const [choice] = choices;
  if (choice === undefined) throw new Error("it has no choices");
  const { message } = choice;
  const toolCalls: ParsedToolCall[] = [];
  const calls: ToolCall[] = [];
  (message.tool_calls ?? []).forEach((call, index) => {
    const parsed = readCall(call.function.name ?? null, call.function.arguments ?? "");
    toolCalls.push(parsed);
    if (parsed.status !== "ok" || parsed.name === null) return;
    const id = call.id ?? `call_${index}`;
    calls.push({ id, type: "function", function: { name: parsed.name, arguments: parsed.raw } });
  });
  const reasoning = message.reasoning_content ?? message.reasoning ?? null;
  return {
    message: {
      role: "assistant",
      content: message.content ?? message.refusal ?? "",
      ...(reasoning === null ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    toolCalls,
    finishReason: choice.finish_reason === "length" ? "length" : "stop",
    usage,
  };
}

/** Throws when the answer is something else. */
export function readText(text: string): Reply {
  const { choices, usage } = parse(textSchema, text);
  const [choice] = choices;
  if (choice === undefined) throw new Error("it has no choices");
  return {
    message: { role: "assistant", content: choice.text },
    toolCalls: [],
    finishReason: choice.finish_reason === "length" ? "length" : "stop",
    usage,
  };
}

/** Missing arguments count as empty: some servers leave them out for a function without parameters. */
function readCall(name: string | null, raw: string): ParsedToolCall {
  const text = raw.trim() === "" ? "{}" : raw;
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // The status reports it.
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const args = isObject ? (value as Record<string, unknown>) : null;
  if (name === null || name === "") return { status: "missing_name", name: null, arguments: args, raw: text };
  return { status: args === null ? "invalid_json" : "ok", name, arguments: args, raw: text };
}

/** The text as a value of the schema. Throws an error that names the problem. */
export function parse<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new Error(`it is no JSON: ${text.slice(0, 80)}`, { cause });
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
}
