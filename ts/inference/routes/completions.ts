/** `/v1/completions`, whole and streamed. */
import type { FastifyInstance, FastifyReply } from "fastify";

import type { Tokenizer } from "../../renderers/index.ts";
import { type ActiveRequest, whileActive } from "../active-request.ts";
import { CompletionCursor, joinCompletions } from "../completion.ts";
import type { ServerContext } from "../context.ts";
import { badRequest } from "../errors.ts";
import { openEventStream } from "../event-stream.ts";
import { headOf, total, whole } from "../openai/answer.ts";
import { type ChoiceEnd, endOf, idsOf } from "../openai/choice.ts";
import { type CompletionBody, completionSchema, readBody, refuseUnsupported, toGenerate } from "../openai/request.ts";
import type { ParsedRequest } from "../request.ts";
import type { Completion } from "../response.ts";
import { sample } from "../sample.ts";

export function registerCompletions(app: FastifyInstance, context: ServerContext): void {
  app.post("/v1/completions", async (request, reply) => {
    const body = readBody(completionSchema, request.body);
    refuseUnsupported(body);
    return whileActive(context, reply, (active) => complete(context, body, active, reply));
  });
}

async function complete(
  context: ServerContext,
  body: CompletionBody,
  active: ActiveRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const tokenizer = await context.tokenizer();
  const eos = tokenizer.eosTokenId === null ? [] : [tokenizer.eosTokenId];
  const choices = body.n ?? 1;
  const requests = promptsOf(body.prompt, tokenizer).flatMap((ids) =>
    Array.from({ length: choices }, (_, choice) => toGenerate(body, ids, eos, context.limits, choice)),
  );
  const [first] = requests;
  if (first === undefined) throw badRequest("prompt", "must not be empty");
  if (body.stream === true) {
    if (requests.length > 1) throw badRequest("n", "only one prompt and one choice when stream is true");
    return streamText(context, body, first, tokenizer, active, reply);
  }
  const sampled = await active.race(Promise.all(requests.map((parsed) => whole(context, parsed, active))));
  return {
    ...headOf(context, body, "cmpl", "text_completion"),
    choices: sampled.map(({ completion }, index) => ({
      index,
      text: textOf(tokenizer, completion),
      logprobs: typeof body.logprobs === "number" ? textLogprobs(tokenizer, completion) : null,
      ...endOf(completion, { toolCalls: [] }),
      ...promptIdsOf(body, requests[index]),
      ...idsOf(body, completion.tokenIds),
    })),
    usage: total(sampled, choices),
  };
}

async function streamText(
  context: ServerContext,
  body: CompletionBody,
  parsed: ParsedRequest,
  tokenizer: Tokenizer,
  active: ActiveRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const head = headOf(context, body, "cmpl", "text_completion");
  const cursor = new CompletionCursor();
  const chunks = sample(context, parsed, context.nextId(), cursor, active.signal);
  let next = await active.race(chunks.next());
  const events = openEventStream(reply, active.signal);
  let ids = promptIdsOf(body, parsed);
  const send = (text: string, end: ChoiceEnd | null, sampled: Completion | null = null): Promise<void> => {
    const logprobs = sampled !== null && typeof body.logprobs === "number" ? textLogprobs(tokenizer, sampled) : null;
    const more = { ...ids, ...(sampled !== null && idsOf(body, sampled.tokenIds)) };
    ids = {};
    const choice = { index: 0, text, logprobs, finish_reason: null, ...end, ...more };
    return events.write(JSON.stringify({ ...head, choices: [choice] }));
  };
  await events.end(async () => {
    const received: Completion[] = [];
    const stream = tokenizer.decodeStream({ skipSpecialTokens: true, stop: parsed.stop });
    for (; next.done !== true; next = await active.race(chunks.next())) {
      received.push(next.value);
      const text = Array.from(next.value.tokenIds, (id) => stream.push(id)).join("");
      const isWanted = typeof body.logprobs === "number" || body.return_token_ids === true;
      if (text !== "" || isWanted) await send(text, null, next.value);
    }
    const completion = joinCompletions(received);
    await send(stream.flush(), endOf(completion, { toolCalls: [] }));
    if (parsed.includeUsage) {
      const usage = {
        promptTokens: parsed.promptTokenIds.length,
        completionTokens: completion.tokenIds.length,
        cachedTokens: cursor.cachedTokens,
      };
      await events.write(JSON.stringify({ ...head, choices: [], usage: total([{ completion, usage }], 1) }));
    }
  });
  return reply;
}

/** A text, texts, token ids, or lists of them. */
function promptsOf(prompt: CompletionBody["prompt"], tokenizer: Tokenizer): Uint32Array[] {
  if (typeof prompt === "string") return [tokenizer.encode(prompt, { addSpecialTokens: true })];
  if (prompt.every((item) => typeof item === "number")) return [Uint32Array.from(prompt)];
  return prompt.map((item) =>
    typeof item === "string" ? tokenizer.encode(item, { addSpecialTokens: true }) : Uint32Array.from(item),
  );
}

function textOf(tokenizer: Tokenizer, { tokenIds, stopReason }: Completion): string {
  const text = tokenizer.decode(tokenIds, { skipSpecialTokens: true });
  const stopped = typeof stopReason === "string" ? text.lastIndexOf(stopReason) : -1;
  return stopped < 0 ? text : text.slice(0, stopped);
}

function textLogprobs(tokenizer: Tokenizer, { tokenIds, logprobs }: Completion): object {
  const tokens = Array.from(tokenIds, (id) => tokenizer.decode([id]));
  let offset = 0;
  const offsets = tokens.map((token) => {
    const at = offset;
    offset += token.length;
    return at;
  });
  return {
    tokens,
    token_logprobs: Array.from(logprobs, leastLogprob),
    top_logprobs: tokens.map((token, index) => ({ [token]: leastLogprob(logprobs[index] ?? 0) })),
    text_offset: offsets,
  };
}

function leastLogprob(value: number): number {
  return Math.max(value, -9999);
}

function promptIdsOf({ return_token_ids: wanted }: CompletionBody, request: ParsedRequest | undefined): object {
  return wanted === true && request !== undefined ? { prompt_token_ids: [...request.promptTokenIds] } : {};
}
