/** Shared by the answers of both OpenAI endpoints: head, sampling, the streams of choices, usage. */
import type { FastifyReply } from "fastify";

import type { ActiveRequest } from "../requests/active-request.ts";
import { CompletionCursor } from "../requests/completion.ts";
import type { ServerContext } from "../context.ts";
import { type EventStream, openEventStream } from "../requests/event-stream.ts";
import type { ParsedRequest } from "../requests/request.ts";
import type { Completion, Usage } from "../requests/response.ts";
import { sample, type Sampled, sampledOf } from "../requests/sample.ts";
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
  return {
    id: `${kind}-${body.request_id ?? context.nextId()}`,
    object,
    created: Math.floor(Date.now() / 1000),
    model,
  };
}

function soFar({ promptTokenIds }: ParsedRequest, { tokens, cachedTokens }: CompletionCursor): Usage {
  return { promptTokens: promptTokenIds.length, completionTokens: tokens, cachedTokens };
}

/** Sends one choice, and the chunk's other fields. */
export type SendChoice = (choice: object, beside?: object) => Promise<void>;

export interface StreamedAnswer {
  head: Head;
  /** One for each choice, those of a prompt together. */
  requests: readonly ParsedRequest[];
  /** Choices of one prompt. */
  perPrompt: number;
  /** False: the prompts are answered without a sample. */
  samples?: boolean;
  active: ActiveRequest;
  reply: FastifyReply;
}

/** A choice that is being sampled. */
export interface StreamedChoice {
  index: number;
  parsed: ParsedRequest;
  chunks: AsyncIterable<Completion>;
  send: SendChoice;
}

/**
 * Choices as events: `tell` turns the chunks of one into events as they are sampled, and returns all of them; the usage comes last, where it
 * is requested. Errors until the first chunk have their own status. The failure of one choice ends all.
 */
export async function streamed(
  context: ServerContext,
  { head, requests, perPrompt, active, reply, samples = true }: StreamedAnswer,
  tell: (choice: StreamedChoice) => Promise<Completion>,
): Promise<FastifyReply> {
  const ending = new AbortController();
  const signal = AbortSignal.any([active.signal, ending.signal]);
  const choices = requests.map((parsed, index) => {
    const cursor = new CompletionCursor();
    const sampling = samples ? sample(context, { parsed, id: context.nextId(), cursor, signal }) : noChunks();
    const first = sampling.next();
    first.catch(() => undefined);
    return { index, parsed, cursor, sampling, first };
  });
  const events = await untilFirst(choices, { active, ending, reply });
  await events.end(async () => {
    try {
      const sampled = await Promise.all(
        choices.map(async ({ index, parsed, cursor, sampling, first }) => {
          const chunks = (async function* (): AsyncGenerator<Completion> {
            for (let next = await active.race(first); next.done !== true; next = await active.race(sampling.next()))
              yield next.value;
          })();
          const send: SendChoice = (choice, beside = {}) => {
            const usage = parsed.continuousUsage ? { usage: wireUsage(soFar(parsed, cursor)) } : {};
            return events.write(JSON.stringify({ ...head, ...beside, choices: [{ index, ...choice }], ...usage }));
          };
          return sampledOf(parsed, await tell({ index, parsed, chunks, send }), cursor);
        }),
      );
      if (requests[0]?.includeUsage !== true) return;
      await events.write(JSON.stringify({ ...head, choices: [], usage: total(sampled, perPrompt) }));
    } finally {
      endAll(choices, ending);
    }
  });
  return reply;
}

/** One that holds a chunk for a client that no longer reads would not see the abort. */
function endAll(choices: readonly { sampling: AsyncGenerator }[], ending: AbortController): void {
  ending.abort();
  for (const { sampling } of choices) sampling.return(undefined).catch(() => undefined);
}

async function* noChunks(): AsyncGenerator<Completion> {}

/** The stream of events as soon as the first choice has its first chunk; an error before it ends all choices. */
async function untilFirst(
  choices: readonly { first: Promise<unknown>; sampling: AsyncGenerator }[],
  { active, ending, reply }: { active: ActiveRequest; ending: AbortController; reply: FastifyReply },
): Promise<EventStream> {
  try {
    await active.race(choices[0]?.first ?? Promise.resolve());
  } catch (error) {
    endAll(choices, ending);
    throw error;
  }
  return openEventStream(reply, active.signal);
}

/** Usage over all prompts and choices; choices of one prompt share it, and the first of them is the one that computes it. */
export function total(sampled: readonly Sampled[], choices: number): object {
  const sum = (list: readonly Sampled[], part: keyof Usage) => list.reduce((all, { usage }) => all + usage[part], 0);
  const firsts = sampled.filter((_, index) => index % choices === 0);
  return wireUsage({
    promptTokens: sum(firsts, "promptTokens"),
    completionTokens: sum(sampled, "completionTokens"),
    cachedTokens: sum(firsts, "cachedTokens"),
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
