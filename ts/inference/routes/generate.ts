/** `POST /inference/v1/generate`: token ids in, token ids and log-probabilities out, whole or as server-sent events. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";

import { type ActiveRequest, whileActive } from "../requests/active-request.ts";
import { CompletionCursor } from "../requests/completion.ts";
import type { ServerContext } from "../context.ts";
import { refuseWebPages } from "../control-guard.ts";
import { readAs } from "../read-as.ts";
import { choicesOf } from "../requests/choices.ts";
import { merged } from "../requests/merged.ts";
import { scorePrompt } from "../requests/prompt-scores.ts";
import { openEventStream } from "../requests/event-stream.ts";
import { parseGenerateRequest, type ParsedRequest } from "../requests/request.ts";
import { sample, wholeChoices } from "../requests/sample.ts";
import {
  chunkJson,
  promptLogprobsJson,
  rankedPromptLogprobsJson,
  responseJson,
  type Completion,
  type Usage,
} from "../requests/response.ts";

const abortSchema = z.strictObject({ request_ids: z.array(z.string()) });
const JSON_TYPE = "application/json; charset=utf-8";

export function registerGenerate(app: FastifyInstance, context: ServerContext): void {
  app.post("/inference/v1/generate", async (request: FastifyRequest, reply: FastifyReply) => {
    const parsed = parseGenerateRequest(request.body, context.limits);
    return whileActive(context, reply, (active) =>
      context.cuts.during(parsed.requestId, (cut) =>
        context.admission.during(parsed.choices, async () => {
          if (parsed.stream) return stream(context, parsed, { active, cut, reply });
          const json = await active.race(answer(context, parsed, { active, cut }));
          return reply.header("content-type", JSON_TYPE).send(json);
        }),
      ),
    );
  });

  // As in vLLM, the requests with these ids are answered with the tokens so far, `finish_reason: "abort"`. It belongs to sampling, so
  // it needs no key.
  app.post("/abort_requests", { onRequest: refuseWebPages }, (request: FastifyRequest) => {
    const { request_ids: ids } = readAs("body", abortSchema, request.body);
    context.cuts.cut(ids);
    return {};
  });
}

async function answer(
  context: ServerContext,
  parsed: ParsedRequest,
  { active, cut }: { active: ActiveRequest; cut: AbortSignal },
): Promise<string> {
  const requestId = parsed.requestId ?? `generate-${context.nextId()}`;
  const { logprobs: topLogprobs } = parsed;
  const scored = await scoredPrompt(context, parsed, active.signal);
  const promptLogprobs = scored?.json ?? null;
  if (scored !== null && parsed.maxTokens === 0) {
    const completions = choicesOf(parsed).map(() => nothingSampled(scored.version));
    return responseJson({ requestId, completions, topLogprobs, promptLogprobs, usage: usageOf(parsed, 0, 0) });
  }
  const sampled = await wholeChoices(context, choicesOf(parsed), { active, cut });
  const completions = sampled.map(({ completion }) => completion);
  const tokens = completions.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  const usage = usageOf(parsed, tokens, sampled[0]?.usage.cachedTokens ?? 0);
  return responseJson({ requestId, completions, topLogprobs, promptLogprobs, usage });
}

/** The answer is taken over from fastify at the first chunk; errors before it have their own status. */
async function stream(
  context: ServerContext,
  parsed: ParsedRequest,
  { active, cut, reply }: { active: ActiveRequest; cut: AbortSignal; reply: FastifyReply },
): Promise<FastifyReply> {
  const requestId = parsed.requestId ?? `generate-${context.nextId()}`;
  const { signal } = active;
  const choices = choicesOf(parsed).map((choice) => ({ choice, cursor: new CompletionCursor() }));
  const cachedTokens = () => choices[0]?.cursor.cachedTokens ?? 0;
  const parts = merged(
    choices.map(({ choice, cursor }) => sample(context, { parsed: choice, id: context.nextId(), cursor, signal, cut })),
  );
  let next = await active.race(parts.next());
  const events = openEventStream(reply, signal);
  let sampled = 0;
  await events.end(async () => {
    try {
      for (; next.done !== true; next = await active.race(parts.next())) {
        const { index, value: completion } = next.value;
        sampled += completion.tokenIds.length;
        const usage = parsed.continuousUsage ? usageOf(parsed, sampled, cachedTokens()) : null;
        await events.write(chunkJson(requestId, { index, completion }, parsed.logprobs, usage));
      }
    } finally {
      // A failure may leave the engine at work.
      parts.return(undefined).catch(() => undefined);
    }
    if (parsed.includeUsage)
      await events.write(chunkJson(requestId, null, null, usageOf(parsed, sampled, cachedTokens())));
  });
  return reply;
}

/** The prompt's log-probabilities as JSON; null when the request has none. 0 gives no ranks, which saves scorers their cost. */
async function scoredPrompt(
  context: ServerContext,
  { promptLogprobs: top, promptTokenIds }: ParsedRequest,
  signal: AbortSignal,
): Promise<{ json: string; version: number } | null> {
  if (top === null) return null;
  const { ranking, ...scores } = await scorePrompt(context, promptTokenIds, top === 0 ? null : top, signal);
  const json =
    ranking === null
      ? promptLogprobsJson(promptTokenIds, scores.logprobs)
      : rankedPromptLogprobsJson({ ...scores, ranking }, top, null);
  return { json, version: scores.version };
}

/** The choice of a request with `max_tokens` 0; its one version is that of the prompt's log-probabilities. */
function nothingSampled(version: number): Completion {
  return {
    tokenIds: new Uint32Array(0),
    logprobs: new Float32Array(0),
    ranking: null,
    policyVersions: [[0, version]],
    finishReason: "length",
    stopReason: null,
  };
}

/** `cachedTokens` of the first choice, which is the one that computes the prompt. */
function usageOf(parsed: ParsedRequest, completionTokens: number, cachedTokens: number): Usage {
  return { promptTokens: parsed.promptTokenIds.length, completionTokens, cachedTokens };
}
