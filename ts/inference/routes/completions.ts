/** `/v1/completions`, whole and streamed. */
import type { FastifyInstance, FastifyReply } from "fastify";

import { textBefore } from "../../renderers/internal.ts";
import type { Tokenizer } from "../../renderers/index.ts";
import { type ActiveRequest, whileActive } from "../requests/active-request.ts";
import { joinCompletions } from "../requests/completion.ts";
import type { ServerContext } from "../context.ts";
import { badRequest } from "../errors.ts";
import { readAs } from "../read-as.ts";
import { headOf, streamed, total, whole } from "../openai/answer.ts";
import { endOf, idsOf, promptIdsOf } from "../openai/choice.ts";
import {
  choicesOf,
  type CompletionBody,
  completionSchema,
  refuseUnsupportedCompletion,
  toGenerate,
} from "../openai/request.ts";
import type { ParsedRequest } from "../requests/request.ts";
import { type Completion, wireLogprob } from "../requests/response.ts";

export function registerCompletions(app: FastifyInstance, context: ServerContext): void {
  app.post("/v1/completions", async (request, reply) => {
    const body = readAs("body", completionSchema, request.body);
    refuseUnsupportedCompletion(body);
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
  const choices = choicesOf(body, promptCount(body.prompt));
  const prompts = await promptsOf(body.prompt, tokenizer);
  const requests = prompts.flatMap((ids) => toGenerate(body, ids, eos, context.limits));
  const [first] = requests;
  if (first === undefined) throw badRequest("prompt", "must not be empty");
  if (body.stream === true) {
    return streamText(context, { body, parsed: first, tokenizer, active, reply });
  }
  const sampled = await active.race(Promise.all(requests.map((parsed) => whole(context, parsed, active))));
  return {
    ...headOf(context, body, "cmpl", "text_completion"),
    choices: sampled.map(({ completion }, index) => ({
      index,
      text: textBefore(tokenizer, completion.tokenIds, completion.stopReason),
      logprobs: typeof body.logprobs === "number" ? textLogprobs(tokenizer, completion) : null,
      ...endOf(completion, { toolCalls: [] }),
      ...promptIdsOf(body, requests[index] ?? first),
      ...idsOf(body, completion.tokenIds),
    })),
    usage: total(sampled, choices),
  };
}

interface TextToStream {
  body: CompletionBody;
  parsed: ParsedRequest;
  tokenizer: Tokenizer;
  active: ActiveRequest;
  reply: FastifyReply;
}

function streamText(
  context: ServerContext,
  { body, parsed, tokenizer, active, reply }: TextToStream,
): Promise<FastifyReply> {
  const head = headOf(context, body, "cmpl", "text_completion");
  const wantsLogprobs = typeof body.logprobs === "number";
  const wantsAll = wantsLogprobs || body.return_token_ids === true;
  return streamed(context, { head, parsed, active, reply }, async (chunks, send) => {
    const received: Completion[] = [];
    const stream = tokenizer.decodeStream({ skipSpecialTokens: true, stop: parsed.stop });
    // Only the first chunk has them.
    let promptIds = promptIdsOf(body, parsed);
    const sendText = (text: string, more: object): Promise<void> => {
      const choice = { text, logprobs: null, finish_reason: null, ...promptIds, ...more };
      promptIds = {};
      return send(choice);
    };
    for await (const chunk of chunks) {
      received.push(chunk);
      const text = Array.from(chunk.tokenIds, (id) => stream.push(id)).join("");
      if (text === "" && !wantsAll) continue;
      const logprobs = wantsLogprobs ? textLogprobs(tokenizer, chunk) : null;
      await sendText(text, { logprobs, ...idsOf(body, chunk.tokenIds) });
    }
    const completion = joinCompletions(received);
    await sendText(stream.flush(), endOf(completion, { toolCalls: [] }));
    return completion;
  });
}

function promptCount(prompt: CompletionBody["prompt"]): number {
  return typeof prompt === "string" || typeof prompt[0] === "number" ? 1 : prompt.length;
}

/** A text, texts, token ids, or lists of them. */
async function promptsOf(prompt: CompletionBody["prompt"], tokenizer: Tokenizer): Promise<Uint32Array[]> {
  if (typeof prompt === "string") return [await tokenizer.encodeAsync(prompt, { addSpecialTokens: true })];
  if (prompt.every((item) => typeof item === "number")) return [Uint32Array.from(prompt)];
  return Promise.all(
    prompt.map(async (item) =>
      typeof item === "string" ? tokenizer.encodeAsync(item, { addSpecialTokens: true }) : Uint32Array.from(item),
    ),
  );
}

function textLogprobs(tokenizer: Tokenizer, { tokenIds, logprobs }: Completion): object {
  const tokens = Array.from(tokenIds, (id) => tokenizer.decode([id]));
  let offset = 0;
  const offsets = tokens.map((token) => {
    const at = offset;
    offset += token.length;
    return at;
  });
  const logprobOnWire = Array.from(logprobs, wireLogprob);
  return {
    tokens,
    token_logprobs: logprobOnWire,
    top_logprobs: tokens.map((token, index) => ({ [token]: logprobOnWire[index] })),
    text_offset: offsets,
  };
}
