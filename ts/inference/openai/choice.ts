/** One sampled choice as text: whole, or piece by piece while it is sampled. */
import { parseReply, stoppedBy } from "../../renderers/internal.ts";
import type { Renderer, Tokenizer } from "../../renderers/index.ts";
import type { ParsedRequest } from "../requests/request.ts";
import { type Completion, wireLogprob } from "../requests/response.ts";

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
  /** Only the first call counts (`parallel_tool_calls: false`). */
  readonly oneCall: boolean;
  /** Prefix for the ids of calls. */
  readonly id: string;
  /** Tokens of the reply before the sampled ones. */
  readonly begun: Uint32Array;
  /** The prompt ends inside a block of thinking. */
  readonly thinks: boolean;
}

/** The reply in the tokens so far. Calls are only parsed when the request has tools; a stop string that ended it is cut off. */
export function readReply(
  renderer: Pick<Renderer, "parse">,
  completion: Completion,
  { tools, oneCall, id, begun, thinks }: ReplyOptions,
): ChatReply {
  const ids = Uint32Array.of(...begun, ...completion.tokenIds);
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
            function: { name: call.name, arguments: JSON.stringify(call.arguments) },
          },
        ],
  );
  // Without tools, or when no call could be read, the reply is the written text.
  const written =
    tools && calls.length > 0
      ? content
      : [content, ...toolCalls.map(({ raw }) => raw)].filter((part) => part !== "").join("\n");
  return { content: written, reasoning, toolCalls: tools ? calls.slice(0, oneCall ? 1 : undefined) : [] };
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

/** Log-probabilities as the chat API shows them: of the sampled tokens only, again as the first of `top` ones. */
export function chatLogprobs(
  tokenizer: Pick<Tokenizer, "decode">,
  { tokenIds, logprobs }: Completion,
  top: number,
): object {
  const content = Array.from(tokenIds, (id, index) => {
    const token = tokenizer.decode([id]);
    const entry = { token, logprob: wireLogprob(logprobs[index] ?? Number.NaN), bytes: [...Buffer.from(token)] };
    return { ...entry, top_logprobs: top > 0 ? [entry] : [] };
  });
  return { content, refusal: null };
}
