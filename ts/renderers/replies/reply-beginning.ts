/** The tokens between the prompt and the sampled ones: the given beginning of a reply, or of a forced tool call. */
import { z } from "zod";

import { checkOptions, only } from "../../options.ts";
import type { ChatMessage } from "../chat-template.ts";
import type { ParsedCompletion } from "./parse-completion.ts";
import type { Renderer, RenderOptions } from "../renderer.ts";
import type { StoppedBy } from "./stop-strings.ts";
import type { Tokenizer } from "../tokenizer.ts";

export interface ReplyBeginning {
  /** Text that begins the reply. */
  readonly begun?: string;
  /** A call has to come next: of this function, or of any for null; absent: no call is forced. */
  readonly call?: string | null;
  /** The prompt ends inside a block of thinking ({@link opensThinking}), which is closed before the forced text. */
  readonly thinks: boolean;
}

const beginningSchema = only<ReplyBeginning>({
  begun: z.string().optional(),
  call: z.string().nullable().optional(),
  thinks: z.boolean(),
});

/** Tokens at a prompt's end that are enough to see whether the template has opened a block of thinking. */
const LOOK_BACK_TOKENS = 32;

/** The tokens between the prompt and the sampled ones; null where a call is forced in a family without calls. */
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
  // Forced text is not thinking.
  return tokenizer.encode(thinks ? `\n</think>\n\n${text}` : text);
}

/**
 * Whether the prompt of a conversation ends inside a block of thinking that the template has opened behind the last message: then a
 * reply is thinking until it closes the block. Tags inside messages open nothing.
 */
export function opensThinking(
  {
    tokenizer,
    renderer,
  }: { tokenizer: Pick<Tokenizer, "decode">; renderer: Pick<Renderer, "replyOpening"> & { thinksFirst?: boolean } },
  promptIds: Uint32Array,
  messages: readonly ChatMessage[],
  options?: Pick<RenderOptions, "tools">,
): boolean {
  if (renderer.thinksFirst === true) return !renderer.replyOpening(messages, options).includes("</think>");
  // Most prompts do not have the tag at their end, and need no second rendering.
  return (
    endsThinking(tokenizer.decode(promptIds.subarray(-LOOK_BACK_TOKENS))) &&
    endsThinking(renderer.replyOpening(messages, options))
  );
}

function endsThinking(text: string): boolean {
  return text.lastIndexOf("<think>") > text.lastIndexOf("</think>");
}

/** Parses tokens as the reply to a prompt that may end inside a block of thinking: if they never close it, all is thinking. */
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

/** The function to call where there is only one; null where there are several. */
export function onlyFunction(tools: readonly Readonly<Record<string, unknown>>[]): string | null {
  const [sole, ...others] = tools;
  const { name } = (sole?.["function"] ?? {}) as { name?: unknown };
  return typeof name === "string" && others.length === 0 ? name : null;
}
