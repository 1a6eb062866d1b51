/** Replies as OpenAI's responses: a whole answer and its items. */
import type { AgentReply } from "./dialect.ts";

/** Prefix of the id of a reply. */
export const PREFIX = "resp_";

export type OutputItem = Record<string, unknown> & { id: string; type: string };

export function itemsOf({ id, message, finishReason }: AgentReply): OutputItem[] {
  const status = finishReason === "length" ? "incomplete" : "completed";
  const calls = message.tool_calls ?? [];
  const { reasoning_content: reasoning, content: text } = message;
  return [
    ...(reasoning === undefined ? [] : [textItem(id, "reasoning", reasoning, status)]),
    ...(text === "" && calls.length > 0 ? [] : [textItem(id, "message", text, status)]),
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

export function answer(reply: AgentReply): Record<string, unknown> {
  const { id, created, model, finishReason, usage, echoed } = reply;
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
    ...echoed,
    usage: {
      input_tokens: usage.promptTokens,
      input_tokens_details: { cached_tokens: usage.cachedTokens ?? 0 },
      output_tokens: usage.completionTokens,
      output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
      total_tokens: usage.promptTokens + usage.completionTokens,
    },
  };
}

/** Items of text: the prefix of their ids, and the kind of text in names of events. */
export const KINDS = {
  reasoning: { prefix: "rs_", text: "reasoning_text" },
  message: { prefix: "msg_", text: "output_text" },
};

export function partOf(kind: keyof typeof KINDS, text: string): Record<string, unknown> {
  return kind === "reasoning"
    ? { type: "reasoning_text", text }
    : { type: "output_text", text, annotations: [], logprobs: [] };
}

export function textItem(id: string, kind: keyof typeof KINDS, text: string, status: string): OutputItem {
  const content = status === "in_progress" ? [] : [partOf(kind, text)];
  return kind === "reasoning"
    ? { id: `rs_${id}`, type: "reasoning", summary: [], content }
    : { id: `msg_${id}`, type: "message", status, role: "assistant", content };
}
