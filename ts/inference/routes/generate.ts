/** `POST /inference/v1/generate`: token ids in, token ids and log-probabilities out, whole or as server-sent events. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import { type ActiveRequest, whileActive } from "../requests/active-request.ts";
import { CompletionCursor, joinCompletions } from "../requests/completion.ts";
import type { ServerContext } from "../context.ts";
import { controlGuard } from "../control-guard.ts";
import { badRequest, HttpError } from "../errors.ts";
import { openEventStream } from "../requests/event-stream.ts";
import { parseGenerateRequest, type ParsedRequest } from "../requests/request.ts";
import { sample } from "../requests/sample.ts";
import { chunkJson, promptLogprobsJson, responseJson, type Completion, type Usage } from "../requests/response.ts";

const JSON_TYPE = "application/json; charset=utf-8";
/** Most attempts of a scoring during which the weights were swapped. */
const SCORE_ATTEMPTS = 3;

export function registerGenerate(app: FastifyInstance, context: ServerContext): void {
  app.post("/inference/v1/generate", async (request: FastifyRequest, reply: FastifyReply) => {
    const parsed = parseGenerateRequest(request.body, context.limits);
    return whileActive(context, reply, (active) =>
      context.cuts.during(parsed.requestId, async (cut) => {
        if (parsed.stream) return stream(context, parsed, { active, cut, reply });
        const json = await active.race(answer(context, parsed, active.signal, cut));
        return reply.header("content-type", JSON_TYPE).send(json);
      }),
    );
  });

  // As in vLLM, the requests with these ids are answered with the tokens so far, `finish_reason: "abort"`. It belongs to sampling, so
  // it needs no key.
  app.post("/abort_requests", { onRequest: controlGuard(null) }, (request: FastifyRequest) => {
    const { request_ids: ids, ...others } = (request.body ?? {}) as Record<string, unknown>;
    if (Object.keys(others).length > 0) throw badRequest("body", "has nothing but request_ids");
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string"))
      throw badRequest("request_ids", "must be a list of strings");
    context.cuts.cut(ids);
    return {};
  });
}

async function answer(
  context: ServerContext,
  parsed: ParsedRequest,
  signal: AbortSignal,
  cut: AbortSignal,
): Promise<string> {
  const id = context.nextId();
  const requestId = parsed.requestId ?? `generate-${id}`;
  const { logprobs: topLogprobs } = parsed;
  const scored = parsed.promptLogprobs ? await scorePrompt(context, parsed.promptTokenIds) : null;
  if (scored !== null && parsed.maxTokens === 0) {
    const completion = nothingSampled(scored.version);
    return responseJson({
      requestId,
      completion,
      topLogprobs,
      promptLogprobs: scored.json,
      usage: usageOf(parsed, 0, 0),
    });
  }
  const cursor = new CompletionCursor();
  const chunks: Completion[] = [];
  for await (const chunk of sample(context, { parsed, id, cursor, signal, cut })) chunks.push(chunk);
  const completion = joinCompletions(chunks);
  const usage = usageOf(parsed, completion.tokenIds.length, cursor.cachedTokens);
  return responseJson({ requestId, completion, topLogprobs, promptLogprobs: scored?.json ?? null, usage });
}

/** The answer is taken over from fastify at the first chunk; errors before it have their own status. */
async function stream(
  context: ServerContext,
  parsed: ParsedRequest,
  { active, cut, reply }: { active: ActiveRequest; cut: AbortSignal; reply: FastifyReply },
): Promise<FastifyReply> {
  const id = context.nextId();
  const requestId = parsed.requestId ?? `generate-${id}`;
  const cursor = new CompletionCursor();
  const chunks = sample(context, { parsed, id, cursor, signal: active.signal, cut });
  let next = await active.race(chunks.next());
  const events = openEventStream(reply, active.signal);
  let sampled = 0;
  await events.end(async () => {
    for (; next.done !== true; next = await active.race(chunks.next())) {
      sampled += next.value.tokenIds.length;
      const usage = parsed.continuousUsage ? usageOf(parsed, sampled, cursor.cachedTokens) : null;
      await events.write(chunkJson(requestId, next.value, parsed.logprobs, usage));
    }
    if (parsed.includeUsage)
      await events.write(chunkJson(requestId, null, null, usageOf(parsed, sampled, cursor.cachedTokens)));
  });
  return reply;
}

/** Log-probabilities of a prompt at temperature 1, all under one version of the weights. */
async function scorePrompt(context: ServerContext, ids: Uint32Array): Promise<{ json: string; version: number }> {
  for (let attempt = 0; attempt < SCORE_ATTEMPTS; attempt++) {
    const { version, digest } = context.model.stats();
    const logprobs = await context.model.logprobs(ids, Uint32Array.of(0, ids.length));
    const after = context.model.stats();
    if (after.version === version && after.digest === digest)
      return { json: promptLogprobsJson(ids, logprobs), version };
  }
  throw new HttpError(
    503,
    "PRL_INFERENCE_FAILED",
    "the weights changed each time while the prompt was scored: try again",
  );
}

/** The choice of a request with `max_tokens` 0; its one version is that of the prompt's log-probabilities. */
function nothingSampled(version: number): Completion {
  return {
    tokenIds: new Uint32Array(0),
    logprobs: new Float32Array(0),
    policyVersions: [[0, version]],
    finishReason: "length",
    stopReason: null,
  };
}

function usageOf(parsed: ParsedRequest, completionTokens: number, cachedTokens: number): Usage {
  return { promptTokens: parsed.promptTokenIds.length, completionTokens, cachedTokens };
}
