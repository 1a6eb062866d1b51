/** `/v1/completions`, whole and streamed. */
import type { FastifyInstance, FastifyReply } from "fastify";

import type { Tokenizer } from "../../renderers/index.ts";
import { type ActiveRequest, whileActive } from "../requests/active-request.ts";
import { joinCompletions } from "../requests/completion.ts";
import type { ServerContext } from "../context.ts";
import { badRequest } from "../errors.ts";
import { readAs } from "../read-as.ts";
import { headOf, streamed, total } from "../openai/answer.ts";
import { endOf, idsOf, promptIdsOf } from "../openai/choice.ts";
import { type Place, placesOf, promptLogprobsOf, promptPlaces, TextLogprobs, tokenText } from "../openai/logprobs.ts";
import {
  type CompletionBody,
  completionSchema,
  refuseUnsupportedCompletion,
  samplesPerPrompt,
  toGenerate,
} from "../openai/request.ts";
import { sampledText, shownIds } from "../openai/sampled-text.ts";
import type { ParsedRequest } from "../requests/request.ts";
import type { Completion } from "../requests/response.ts";
import { type Sampled, wholeChoices } from "../requests/sample.ts";

export function registerCompletions(app: FastifyInstance, context: ServerContext): void {
  app.post("/v1/completions", async (request, reply) => {
    const body = readAs("body", completionSchema, request.body);
    refuseUnsupportedCompletion(body);
    return whileActive(context, reply, (active) => complete(context, body, active, reply));
  });
}

/** A prompt with what the answer says about it. */
interface Prompt {
  requests: ParsedRequest[];
  /** Its text, where the answer repeats it; else empty. */
  echoed: string;
  /** Its tokens with their log-probabilities, where the answer repeats those; else empty. */
  places: Place[];
  /** `prompt_logprobs`, where the request wants them. */
  scores: object;
}

async function complete(
  context: ServerContext,
  body: CompletionBody,
  active: ActiveRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const tokenizer = await context.tokenizer();
  const perPrompt = samplesPerPrompt(body, promptCount(body.prompt));
  const prompts = await active.race(promptsOf(context, body, tokenizer, active.signal));
  if (prompts.length === 0) throw badRequest("prompt", "must not be empty");
  if (body.stream === true) {
    const parts = { body, prompts, perPrompt, tokenizer, active, reply };
    return context.admission.during(prompts.length * perPrompt, () => streamText(context, parts));
  }
  const requests = prompts.flatMap((prompt) => prompt.requests.map((parsed) => ({ prompt, parsed })));
  const parsed = requests.map((request) => request.parsed);
  const sampled = parsed.every(samplesNothing)
    ? parsed.map(nothing)
    : await context.admission.during(parsed.length, () => wholeChoices(context, parsed, { active }));
  const textOf = tokenText(tokenizer, body.return_tokens_as_token_ids);
  return {
    ...headOf(context, body, "cmpl", "text_completion"),
    choices: requests.map(({ prompt, parsed: choice }, index) => {
      const { completion } = sampled[index] ?? nothing(choice);
      const top = choice.logprobs;
      return {
        index,
        text: prompt.echoed + sampledText(tokenizer, body, completion),
        logprobs: top === null ? null : new TextLogprobs(textOf).of([...prompt.places, ...placesOf(completion, top)]),
        ...endOf(completion, { toolCalls: [] }),
        ...prompt.scores,
        ...promptIdsOf(body, choice),
        ...idsOf(body, completion.tokenIds),
      };
    }),
    usage: total(sampled, perPrompt),
  };
}

interface TextToStream {
  body: CompletionBody;
  prompts: readonly Prompt[];
  perPrompt: number;
  tokenizer: Tokenizer;
  active: ActiveRequest;
  reply: FastifyReply;
}

function streamText(
  context: ServerContext,
  { body, prompts, perPrompt, tokenizer, active, reply }: TextToStream,
): Promise<FastifyReply> {
  const head = headOf(context, body, "cmpl", "text_completion");
  const textOf = tokenText(tokenizer, body.return_tokens_as_token_ids);
  const requests = prompts.flatMap((prompt) => prompt.requests);
  const answer = { head, requests, perPrompt, active, reply, samples: !requests.every(samplesNothing) };
  return streamed(context, answer, async ({ index, parsed, chunks, send }) => {
    const prompt = prompts[Math.floor(index / perPrompt)];
    const top = parsed.logprobs;
    const logprobs = new TextLogprobs(textOf);
    const wantsAll = top !== null || body.return_token_ids === true;
    const received: Completion[] = [];
    const { skipSpecialTokens, stop: stops, minTokens: stopAfter } = parsed;
    const stream = tokenizer.decodeStream({ skipSpecialTokens, stop: stops, stopAfter });
    // Only the first chunk has them.
    let promptIds = promptIdsOf(body, parsed);
    const sendText = (text: string, more: object): Promise<void> => {
      const choice = { text, logprobs: null, finish_reason: null, ...promptIds, ...more };
      promptIds = {};
      return send(choice);
    };
    if (prompt !== undefined && prompt.echoed !== "") {
      await sendText(prompt.echoed, prompt.places.length === 0 ? {} : { logprobs: logprobs.of(prompt.places) });
    }
    for await (const chunk of chunks) {
      received.push(chunk);
      const text = Array.from(shownIds(body, chunk), (id) => stream.push(id)).join("");
      if (text === "" && !wantsAll) continue;
      const places = top === null ? null : logprobs.of(placesOf(chunk, top));
      await sendText(text, { logprobs: places, ...idsOf(body, chunk.tokenIds) });
    }
    const completion = received.length === 0 ? nothing(parsed).completion : joinCompletions(received);
    // Text that was held back to the end may complete a stop string.
    const rest = stream.flush();
    const stop = body.include_stop_str_in_output === true ? stream.stopReason : null;
    await sendText(rest + (stop ?? ""), endOf(completion, { toolCalls: [] }));
    return completion;
  });
}

/** Whether the answer has the prompt alone: repeated, or scored. All choices of a request are alike. */
function samplesNothing({ maxTokens }: ParsedRequest): boolean {
  return maxTokens === 0;
}

/** The result of such a request. */
function nothing({ promptTokenIds }: ParsedRequest): Sampled {
  const completion: Completion = {
    tokenIds: new Uint32Array(0),
    logprobs: new Float32Array(0),
    ranking: null,
    policyVersions: [],
    finishReason: "length",
    stopReason: null,
  };
  return { completion, usage: { promptTokens: promptTokenIds.length, completionTokens: 0, cachedTokens: 0 } };
}

function promptCount(prompt: CompletionBody["prompt"]): number {
  return typeof prompt === "string" || typeof prompt[0] === "number" ? 1 : prompt.length;
}

/** The prompts of a request: a text, texts, token ids, or lists of them. All are checked before the first is scored. */
async function promptsOf(
  context: ServerContext,
  body: CompletionBody,
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Promise<Prompt[]> {
  const { prompt } = body;
  const eos = tokenizer.eosTokenId === null ? [] : [tokenizer.eosTokenId];
  const addSpecialTokens = body.add_special_tokens ?? true;
  const given = typeof prompt === "string" ? [prompt] : isTokenIds(prompt) ? [prompt] : prompt;
  const checked = await Promise.all(
    given.map(async (one) => {
      const ids =
        typeof one === "string" ? await tokenizer.encodeAsync(one, { addSpecialTokens }) : Uint32Array.from(one);
      const requests = toGenerate(body, ids, eos, context.limits);
      const isWhole = requests[0]?.promptTokenIds.length === ids.length;
      return { requests, text: typeof one === "string" && isWhole ? one : null };
    }),
  );
  return Promise.all(
    checked.map(async ({ requests, text }) => {
      const [first] = requests;
      if (first === undefined) throw badRequest("n", "must be at least 1");
      const ids = first.promptTokenIds;
      const echoes = body.echo === true;
      const textOf = tokenText(tokenizer, body.return_tokens_as_token_ids);
      return {
        requests,
        echoed: echoes ? (text ?? tokenizer.decode(ids)) : "",
        places: echoes && first.logprobs !== null ? await promptPlaces(context, ids, first.logprobs, signal) : [],
        scores: await promptLogprobsOf(context, ids, { top: first.promptLogprobs, textOf, signal }),
      };
    }),
  );
}

function isTokenIds(prompt: string[] | number[] | number[][]): prompt is number[] {
  return typeof prompt[0] === "number";
}
