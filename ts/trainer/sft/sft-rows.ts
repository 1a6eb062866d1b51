/**
 * Rows of supervised data as conversations or pairs: brings the usual file formats into one shape.
 *
 * `messages` (with `tools`), or `prompt` and `completion`, each a text or messages. Two texts stay texts without a template; in all
 * other cases the completion is the end of a conversation whose beginning is not learnt. Tables write null for missing values.
 */
import { z } from "zod";

import type { DemonstrationPair } from "../../environments/index.ts";
import type { Message, ToolCall } from "../../message.ts";

/** A conversation; messages before `learntFrom` are only read. */
export interface SftConversation {
  readonly messages: readonly Message[];
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  readonly learntFrom: number;
}

export type SftRow = DemonstrationPair | SftConversation;

const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const content = z.union([z.string(), z.array(textPart).transform((parts) => parts.map(({ text }) => text).join(""))]);
const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: "custom", message: "is no JSON" });
    return z.NEVER;
  }
});

const toolCall = z.looseObject({
  id: z.string().nullish(),
  function: z.looseObject({
    name: z.string(),
    arguments: z.union([z.string(), z.record(z.string(), z.unknown())]),
  }),
});

const message = z
  .looseObject({
    role: z.enum(["system", "user", "assistant", "tool"]),
    content: content.nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(toolCall).nullish(),
    tool_call_id: z.string().nullish(),
  })
  .transform((given): Message => {
    const { role, reasoning_content, tool_calls, tool_call_id } = given;
    return {
      role,
      content: given.content ?? "",
      ...(typeof reasoning_content === "string" && { reasoning_content }),
      ...(tool_calls && tool_calls.length > 0 && { tool_calls: tool_calls.map(toCall) }),
      ...(typeof tool_call_id === "string" && { tool_call_id }),
    };
  });

function toCall({ id, function: { name, arguments: given } }: z.output<typeof toolCall>, index: number): ToolCall {
  const text = typeof given === "string" ? given : JSON.stringify(given);
  return { id: id ?? `call_${index}`, type: "function", function: { name, arguments: text } };
}

const messageList = z.array(message).min(1);
const toolList = z.array(z.record(z.string(), z.unknown()));

/** Other keys are not read. */
export const sftRowSchema = z
  .object({
    messages: messageList.nullish(),
    tools: z.union([toolList, jsonText.pipe(toolList)]).nullish(),
    prompt: z.union([z.string(), messageList]).nullish(),
    completion: z.union([z.string(), messageList]).nullish(),
  })
  .transform((row, context): SftRow => {
    const messages = row.messages ?? null;
    const prompt = row.prompt ?? null;
    const completion = row.completion ?? null;
    const tools = row.tools ? { tools: row.tools } : {};
    if (messages !== null && prompt === null && completion === null) return { messages, ...tools, learntFrom: 0 };
    if (messages !== null || prompt === null || completion === null) {
      context.addIssue({ code: "custom", message: "give either messages, or prompt and completion" });
      return z.NEVER;
    }
    if (typeof prompt === "string" && typeof completion === "string") return { prompt, completion };
    const before = asMessages(prompt, "user");
    return { messages: [...before, ...asMessages(completion, "assistant")], ...tools, learntFrom: before.length };
  });

function asMessages(said: string | Message[], role: "user" | "assistant"): Message[] {
  return typeof said === "string" ? [{ role, content: said }] : said;
}
