/** What stands before the tokens that are sampled, beside the prompt: a reply that somebody has begun, a call of a tool that is forced. */
import { z } from "zod";

import { checkOptions, only } from "../../options.ts";
import type { ChatMessage } from "../chat-template.ts";
import type { ParsedCompletion } from "./parse-completion.ts";
import type { Renderer, RenderOptions } from "../renderer.ts";
import type { StoppedBy } from "./stop-strings.ts";
import type { Tokenizer } from "../tokenizer.ts";

export interface ReplyBeginning {
  /** Text of the reply. */
  readonly begun?: string;
  /** A call has to come next: of this function, of any for null; absent: none has to. */
  readonly call?: string | null;
  /** The prompt ends inside of a block of thinking ({@link opensThinking}), which is closed before what is forced. */
  readonly thinks: boolean;
}

const beginningSchema = only<ReplyBeginning>({
  begun: z.string().optional(),
  call: z.string().nullable().optional(),
  thinks: z.boolean(),
});

/** Enough of a prompt's end to see whether the template has opened a block of thinking there. */
const LOOK_BACK_TOKENS = 32;

/** Its tokens, to go between the prompt and what is sampled; null where a call is wanted of a family that has none. */
export function encodeBeginning(
  { tokenizer, renderer }: { tokenizer: Pick<Tokenizer, "encode">; renderer: Pick<Renderer, "callBeginning"> },
  beginning: ReplyBeginning,
): Uint32Array | null {
  checkOptions("PRL_TOKENIZER", "encodeBeginning", beginningSchema, beginning);
  const { begun = "", call, thinks } = beginning;
  const calling = call === undefined ? "" : renderer.callBeginning(call);
  if (calling === null) return null;
  const text = begun + calling;
  if (text === "") return new Uint32Array(0);
  // What is forced is no thinking.
  return tokenizer.encode(thinks ? `\n</think>\n\n${text}` : text);
}

/**
 * Whether the prompt of a conversation ends inside of a block of thinking that the template has opened behind the last message: then a
 * reply is thinking until it closes it. What messages say of the tag themselves opens nothing.
 */
export function opensThinking(
  { tokenizer, renderer }: { tokenizer: Pick<Tokenizer, "decode">; renderer: Pick<Renderer, "replyOpening"> },
  promptIds: Uint32Array,
  messages: readonly ChatMessage[],
  options?: Pick<RenderOptions, "tools">,
): boolean {
  // Most prompts do not name the tag at their end, and need no second rendering.
  return (
    endsThinking(tokenizer.decode(promptIds.subarray(-LOOK_BACK_TOKENS))) &&
    endsThinking(renderer.replyOpening(messages, options))
  );
}

function endsThinking(text: string): boolean {
  return text.lastIndexOf("<think>") > text.lastIndexOf("</think>");
}

/** The reply that the tokens are, of a prompt that ends inside of a block of thinking or not: what never closes it is thinking. */
export function parseReply(
  renderer: Pick<Renderer, "parse">,
  ids: Uint32Array,
  thinks: boolean,
  stopped: StoppedBy | null = null,
): ParsedCompletion {
  const parsed = renderer.parse(ids, stopped);
  if (!thinks || parsed.reasoning !== null) return parsed;
  return { content: "", reasoning: parsed.content, toolCalls: [] };
}

/** The function that has to be called where there is only one; null where any of several may be. */
export function onlyFunction(tools: readonly Readonly<Record<string, unknown>>[]): string | null {
  const [sole, ...others] = tools;
  const { name } = (sole?.["function"] ?? {}) as { name?: unknown };
  return typeof name === "string" && others.length === 0 ? name : null;
}
