/** Anthropic's messages: makes request bodies of our prompts, and replies of their answers. */
import { z } from "zod";

import type { ParsedToolCall } from "../../renderers/index.ts";
import { type Message, promptMessages, type ToolCall } from "../../message.ts";
import type { Reply, ReplyRequest } from "../rollout/reply-client.ts";
import { parse } from "./openai.ts";

export const ANTHROPIC_VERSION = "2023-06-01";
/** The API requires a limit. */
const MAX_TOKENS = 4096;

const answerSchema = z.looseObject({
  type: z.literal("message"),
  content: z.array(
    z.looseObject({
      type: z.string(),
      text: z.string().optional(),
      thinking: z.string().optional(),
      id: z.string().optional(),
      name: z.string().optional(),
      input: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  stop_reason: z.string(),
  usage: z.looseObject({
    input_tokens: z.number(),
    output_tokens: z.number(),
    cache_read_input_tokens: z.number().nullish(),
    cache_creation_input_tokens: z.number().nullish(),
  }),
});

type Block = Readonly<Record<string, unknown>>;

/** Body of `/v1/messages`. There is no seed in this API. */
export function messagesBody(model: string, request: ReplyRequest): Record<string, unknown> {
  const { prompt, tools, toolChoice, stop = [], sampling } = request;
  const messages = promptMessages(prompt);
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const { temperature, topP, topK, maxCompletionTokens } = sampling;
  return {
    model,
    max_tokens: maxCompletionTokens ?? MAX_TOKENS,
    messages: toTurns(messages.filter(({ role }) => role !== "system")),
    ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
    ...(tools === undefined || tools.length === 0 ? {} : { tools: tools.map(toTool) }),
    ...(toolChoice !== undefined && {
      tool_choice: toolChoice === "required" ? { type: "any" } : { type: "tool", ...toolChoice },
    }),
    ...(stop.length > 0 && { stop_sequences: stop }),
    temperature,
    ...(topP === 1 ? {} : { top_p: topP }),
    ...(topK > 0 ? { top_k: topK } : {}),
  };
}

/** User and assistant alternate: consecutive messages of one side, with the answers of tools, become one. Empty texts are not allowed. */
function toTurns(messages: readonly Message[]): { role: "user" | "assistant"; content: Block[] }[] {
  const turns: { role: "user" | "assistant"; content: Block[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = toBlocks(message);
    const last = turns.at(-1);
    if (content.length === 0) continue;
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  return turns;
}

function toBlocks({ role, content, tool_calls: calls = [], tool_call_id: id }: Message): Block[] {
  if (role === "tool" && id !== undefined) return [{ type: "tool_result", tool_use_id: id, content }];
  const text = content.trim() === "" ? [] : [{ type: "text", text: content }];
  const uses = calls.map((call) => ({
    type: "tool_use",
    id: call.id,
    name: call.function.name,
    input: JSON.parse(call.function.arguments) as unknown,
  }));
  return [...text, ...uses];
}

/** Converts a tool from OpenAI's shape. */
function toTool(tool: Readonly<Record<string, unknown>>): Block {
  const { name, description, parameters } = (tool["function"] ?? tool) as Block;
  return { name, description, input_schema: parameters };
}

/** Throws when the answer is something else. */
export function readMessage(text: string): Reply {
  const { content, stop_reason: stop, usage } = parse(answerSchema, text);
  const said = (type: string, key: "text" | "thinking"): string[] =>
    content.flatMap((block) => (block.type === type ? [block[key] ?? ""] : []));
  const toolCalls: ParsedToolCall[] = [];
  const calls: ToolCall[] = [];
  for (const { type, id, name, input } of content) {
    if (type !== "tool_use") continue;
    if (id === undefined || name === undefined || input === undefined)
      throw new Error("a tool_use block is incomplete");
    const raw = JSON.stringify(input);
    toolCalls.push({ status: "ok", name, arguments: input, raw });
    calls.push({ id, type: "function", function: { name, arguments: raw } });
  }
  const thinking = said("thinking", "thinking");
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage;
  return {
    message: {
      role: "assistant",
      content: said("text", "text").join(""),
      ...(thinking.length === 0 ? {} : { reasoning_content: thinking.join("") }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    toolCalls,
    finishReason: stop === "max_tokens" || stop === "model_context_window_exceeded" ? "length" : "stop",
    usage: {
      promptTokens: input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0),
      completionTokens: output_tokens,
    },
  };
}
