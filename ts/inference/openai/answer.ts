/** Shared by the answers of both OpenAI endpoints: head, sampling, the stream of one choice, usage. */
import type { FastifyReply } from "fastify";

import type { ActiveRequest } from "../requests/active-request.ts";
import { CompletionCursor, joinCompletions } from "../requests/completion.ts";
import type { ServerContext } from "../context.ts";
import { openEventStream } from "../requests/event-stream.ts";
import type { ParsedRequest } from "../requests/request.ts";
import type { Completion, Usage } from "../requests/response.ts";
import { sample } from "../requests/sample.ts";
import type { ChatBody, CompletionBody } from "./request.ts";

export interface Head {
  id: string;
  object: string;
  created: number;
  model: string;
}

export function headOf(
  context: ServerContext,
  body: ChatBody | CompletionBody,
  kind: "chatcmpl" | "cmpl",
  object: string,
): Head {
  const model = body.model ?? context.modelNames[0] ?? "";
  return { id: `${kind}-${context.nextId()}`, object, created: Math.floor(Date.now() / 1000), model };
}

export interface Sampled {
  completion: Completion;
  usage: Usage;
}

/** One choice, sampled to its end. */
export async function whole(context: ServerContext, parsed: ParsedRequest, active: ActiveRequest): Promise<Sampled> {
  const cursor = new CompletionCursor();
  const sampling = { parsed, id: context.nextId(), cursor, signal: active.signal };
  const chunks: Completion[] = [];
  for await (const chunk of sample(context, sampling)) chunks.push(chunk);
  return sampledOf(parsed, joinCompletions(chunks), cursor);
}

function sampledOf(
  { promptTokenIds }: ParsedRequest,
  completion: Completion,
  { cachedTokens }: CompletionCursor,
): Sampled {
  const usage = { promptTokens: promptTokenIds.length, completionTokens: completion.tokenIds.length, cachedTokens };
  return { completion, usage };
}

function soFar({ promptTokenIds }: ParsedRequest, { tokens, cachedTokens }: CompletionCursor): Usage {
  return { promptTokens: promptTokenIds.length, completionTokens: tokens, cachedTokens };
}

/** Sends one choice, and the chunk's other fields. */
export type SendChoice = (choice: object, beside?: object) => Promise<void>;

export interface StreamedAnswer {
  head: Head;
  parsed: ParsedRequest;
  active: ActiveRequest;
  reply: FastifyReply;
}

/**
 * One choice as events: `tell` turns the chunks into events as they are sampled, and returns all of them; the usage comes last, where it is
 * requested. Errors until the first chunk have their own status.
 */
export async function streamed(
  context: ServerContext,
  { head, parsed, active, reply }: StreamedAnswer,
  tell: (chunks: AsyncIterable<Completion>, send: SendChoice) => Promise<Completion>,
): Promise<FastifyReply> {
  const cursor = new CompletionCursor();
  const sampling = sample(context, { parsed, id: context.nextId(), cursor, signal: active.signal });
  const first = await active.race(sampling.next());
  const events = openEventStream(reply, active.signal);
  const chunks = async function* (): AsyncGenerator<Completion> {
    for (let next = first; next.done !== true; next = await active.race(sampling.next())) yield next.value;
  };
  await events.end(async () => {
    const completion = await tell(chunks(), (choice, beside = {}) => {
      const usage = parsed.continuousUsage ? { usage: wireUsage(soFar(parsed, cursor)) } : {};
      return events.write(JSON.stringify({ ...head, ...beside, choices: [{ index: 0, ...choice }], ...usage }));
    });
    if (!parsed.includeUsage) return;
    const usage = wireUsage(sampledOf(parsed, completion, cursor).usage);
    await events.write(JSON.stringify({ ...head, choices: [], usage }));
  });
  return reply;
}

/** Usage over all prompts and choices; choices of one prompt share it. */
export function total(sampled: readonly Sampled[], choices: number): object {
  const sum = (list: readonly Sampled[], part: keyof Usage) => list.reduce((all, { usage }) => all + usage[part], 0);
  return wireUsage({
    promptTokens: sum(
      sampled.filter((_, index) => index % choices === 0),
      "promptTokens",
    ),
    completionTokens: sum(sampled, "completionTokens"),
    cachedTokens: sum(sampled, "cachedTokens"),
  });
}

function wireUsage({ promptTokens, completionTokens, cachedTokens }: Usage): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
