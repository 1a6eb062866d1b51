/** Converts messages of the OpenAI chat API for chat templates. */
import type { ChatMessage } from "../../renderers/index.ts";
import { withReadArguments } from "../../renderers/internal.ts";
import { PrlError } from "../../errors.ts";
import { badRequest, unsupported } from "../errors.ts";
import type { RequestLimits } from "../requests/request.ts";

type WireMessages = readonly Readonly<Record<string, unknown>>[];

/**
 * The conversation of a request. A conversation with more messages than the context has tokens is refused before it is rendered. Errors:
 * PRL_INFERENCE_CONTEXT, PRL_INFERENCE_REQUEST, PRL_INFERENCE_UNSUPPORTED.
 */
export function conversationOf(messages: WireMessages, { maxModelLen }: RequestLimits): ChatMessage[] {
  if (messages.length <= maxModelLen) return toTemplateMessages(messages);
  const problem = `${messages.length} messages do not fit into ${maxModelLen} tokens, the model's context`;
  throw new PrlError("PRL_INFERENCE_CONTEXT", `messages: ${problem}`);
}

/** Content parts of text become one text; other parts are refused. Arguments of calls that are JSON objects become objects. */
function toTemplateMessages(messages: WireMessages): ChatMessage[] {
  const known = messages.map((message, index): ChatMessage => {
    const { role, content, tool_calls: calls, reasoning, ...rest } = message;
    if (typeof role !== "string") throw badRequest(`messages[${index}].role`, "must be a text");
    return {
      // Both names are those of our answers; templates read the second.
      ...(typeof reasoning === "string" && { reasoning, reasoning_content: reasoning }),
      ...rest,
      role: role === "developer" ? "system" : role,
      content: contentText(content, `messages[${index}].content`),
      ...(Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls } : {}),
    };
  });
  return withReadArguments(known);
}

function contentText(content: unknown, field: string): string {
  if (typeof content === "string") return content;
  if (content === null || content === undefined) return "";
  if (!Array.isArray(content)) throw badRequest(field, "must be a text or a list of parts");
  return content
    .map((part: unknown, index) => {
      const isText = typeof part === "object" && part !== null && "type" in part && part.type === "text";
      if (!isText || !("text" in part) || typeof part.text !== "string") {
        throw unsupported(`${field}[${index}]: only parts of text`);
      }
      return part.text;
    })
    .join("");
}
