/** One sampled choice as text: whole, or piece by piece while it is sampled. */
import { argumentsText, joinedIds, parseReply, stoppedBy, withTypes } from "../../renderers/internal.ts";
import type { Renderer } from "../../renderers/index.ts";
import type { ParsedRequest } from "../requests/request.ts";
import type { Completion } from "../requests/response.ts";

export interface ChatToolCall {
  index: number;
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

export interface ChatReply {
  content: string;
  /** Null without thinking. */
  reasoning: string | null;
  toolCalls: ChatToolCall[];
}

export interface ReplyOptions {
  /** Whether tool calls are parsed. */
  readonly tools: boolean;
  /** The tools that may be called, for the types of arguments. */
  readonly schemas?: readonly unknown[];
  /** Only the first call counts (`parallel_tool_calls: false`). */
  readonly oneCall: boolean;
  /** Prefix for the ids of calls. */
  readonly id: string;
  /** Tokens of the reply before the sampled ones. */
  readonly begun: Uint32Array;
  /** The prompt ends inside a block of thinking. */
  readonly thinks: boolean;
  /** The stop string or token that ended the reply is part of it (`include_stop_str_in_output`). */
  readonly withStop: boolean;
}

/** The reply in the tokens so far. Calls are only parsed when the request has tools; what ended it is cut off, unless it is asked for. */
export function readReply(
  renderer: Pick<Renderer, "parse" | "stopTokenIds">,
  whole: Completion,
  { tools, schemas = [], oneCall, id, begun, thinks, withStop }: ReplyOptions,
): ChatReply {
  const completion = withStop ? whole : withoutStopToken(whole, renderer.stopTokenIds);
  const ids = joinedIds(begun, completion.tokenIds);
  const stopped = stoppedBy(completion.stopReason, begun.length);
  const { content, reasoning, toolCalls } = parseReply(renderer, ids, thinks, stopped);
  const calls = toolCalls.flatMap((call, index): ChatToolCall[] =>
    call.status !== "ok" || call.name === null
      ? []
      : [
          {
            index,
            id: `call_${id}_${index}`,
            type: "function",
            function: { name: call.name, arguments: argumentsText(withTypes(call, schemas), schemas) },
          },
        ],
  );
  // Without tools, or when no call could be read, the reply is the written text.
  const written =
    tools && calls.length > 0
      ? content
      : [content, ...toolCalls.map(({ raw }) => raw)].filter((part) => part !== "").join("\n");
  const stop = withStop && typeof completion.stopReason === "string" ? completion.stopReason : "";
  const isThought = written === "" && reasoning !== null;
  return {
    content: isThought ? written : written + stop,
    reasoning: isThought ? reasoning + stop : reasoning,
    toolCalls: tools ? calls.slice(0, oneCall ? 1 : undefined) : [],
  };
}

/** A completion without the stop token that ended it; the ends of the model's turns are no text anyway. */
export function withoutStopToken(completion: Completion, turnEnds: readonly number[]): Completion {
  const { stopReason, tokenIds } = completion;
  const isText = completion.finishReason === "stop" && typeof stopReason === "number" && !turnEnds.includes(stopReason);
  return isText ? { ...completion, tokenIds: tokenIds.subarray(0, -1) } : completion;
}

/** Why it ended, in OpenAI's words. */
function finishReason(completion: Completion, reply: Pick<ChatReply, "toolCalls">): string | null {
  if (completion.finishReason === null) return null;
  if (completion.finishReason === "stop" && reply.toolCalls.length > 0) return "tool_calls";
  return completion.finishReason === "abort" ? "stop" : completion.finishReason;
}

/** Why it ended, and the stop token or string that ended it, which vLLM adds. */
export function endOf(completion: Completion, reply: Pick<ChatReply, "toolCalls">): ChoiceEnd {
  return { finish_reason: finishReason(completion, reply), stop_reason: completion.stopReason };
}

export interface ChoiceEnd {
  finish_reason: string | null;
  stop_reason: number | string | null;
}

/** vLLM's `return_token_ids`. */
interface WantsIds {
  return_token_ids?: boolean | null | undefined;
}

/** The sampled tokens, where the request wants them. */
export function idsOf({ return_token_ids: wanted }: WantsIds, tokenIds: Uint32Array): object {
  return wanted === true ? { token_ids: [...tokenIds] } : {};
}

/** The prompt's tokens, where the request wants them. */
export function promptIdsOf({ return_token_ids: wanted }: WantsIds, { promptTokenIds }: ParsedRequest): object {
  return wanted === true ? { prompt_token_ids: [...promptTokenIds] } : {};
}
