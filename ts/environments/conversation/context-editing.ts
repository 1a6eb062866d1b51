/**
 * Edits a conversation before the policy sees it again: `edit` of `multiTurn` and `toolUse`.
 *
 * An edited history is another branch of the trace: tokens that were sampled before the edit train in the earlier branch, later ones
 * train behind the tokens that the policy saw. Branches are counted (metric `branches`). This file knows no tokens.
 */
import { z } from "zod";

import { checkOptions, only } from "../../options.ts";
import type { RolloutContext } from "../model/environment.ts";
import type { Message } from "../../message.ts";
import { stripThinking } from "../../verify/index.ts";

/** Turns the messages that would be sent next into those that are sent; called before every model call except the first. */
export type ContextEdit<Row = unknown, Config = unknown> = (
  messages: readonly Message[],
  context: RolloutContext<Row, Config>,
) => readonly Message[] | Promise<readonly Message[]>;

const count = z.int().positive("must be a whole number from 1 on");
const pruningSchema = only<{ keepTurns: number }>({ keepTurns: count });

/** Keeps the prompt and the last turns; a turn is a reply and the answer to it. */
export function pruning(options: { keepTurns: number }): ContextEdit {
  checkOptions("PRL_ENVIRONMENT_INVALID", "pruning", pruningSchema, options);
  const { keepTurns } = options;
  return (messages) => {
    const starts = replies(messages);
    const [first] = starts;
    const from = starts.at(-keepTurns);
    if (first === undefined || from === undefined || starts.length <= keepTurns) return messages;
    return [...messages.slice(0, first), ...messages.slice(from)];
  };
}

export interface SummarizingOptions {
  /** Replies after which the policy is asked for its notes. Default 4. */
  everyTurns?: number;
  /** The request for notes. */
  instruction?: string;
}

const summarizingSchema = only<SummarizingOptions>({
  everyTurns: count.optional(),
  instruction: z.string().optional(),
});

const INSTRUCTION =
  "The conversation up to here will be forgotten. Write down, as short as possible, all that you need to go on: what was asked, what is known, " +
  "what is left to do.";

/**
 * Memory outside of the conversation: every few turns the policy writes notes, which are a separate turn and train, and continues with the
 * prompt, the notes and the last messages. The policy sees the earlier notes when it writes new ones.
 */
export function summarizing(options: SummarizingOptions = {}): ContextEdit {
  checkOptions("PRL_ENVIRONMENT_INVALID", "summarizing", summarizingSchema, options);
  const { everyTurns = 4, instruction = INSTRUCTION } = options;
  return async (messages, { sample, trace }) => {
    const starts = replies(messages);
    const last = starts.at(-1);
    if (last === undefined || starts.length < everyTurns) return messages;
    const { text } = await sample([...messages.slice(0, last + 1), { role: "user", content: instruction }]);
    const firstReply = trace.nodes.findIndex(({ sampled }) => sampled);
    const prompt = trace.nodes.slice(0, firstReply).map(({ message }) => message);
    const notes: Message = { role: "user", content: `Your notes:\n${stripThinking(text, { strict: false })}` };
    return joinUsers([...prompt, notes, ...messages.slice(last + 1)]);
  };
}

function replies(messages: readonly Message[]): number[] {
  return messages.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
}

/** Templates do not allow two user messages in a row. */
function joinUsers(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const before = joined.at(-1);
    if (before?.role !== "user" || message.role !== "user") joined.push(message);
    else joined[joined.length - 1] = { role: "user", content: `${before.content}\n\n${message.content}` };
  }
  return joined;
}
