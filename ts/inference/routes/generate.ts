/** `POST /inference/v1/generate`: token ids in, token ids and log-probabilities out, whole or as server-sent events. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import type { DecodeStream } from "../../renderers/index.ts";
import { ActiveRequest } from "../active-request.ts";
import { CompletionCursor, endWithStopString, joinCompletions } from "../completion.ts";
import type { ServerContext } from "../context.ts";
import { HttpError, toWire } from "../errors.ts";
import { parseGenerateRequest, type ParsedRequest } from "../request.ts";
import { chunkJson, promptLogprobsJson, responseJson, type Completion, type Usage } from "../response.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const EVENT_STREAM_HEADERS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };
/** Scoring is repeated when the weights were swapped under it, but not for ever. */
const SCORE_ATTEMPTS = 3;

export function registerGenerate(app: FastifyInstance, context: ServerContext): void {
  app.post("/inference/v1/generate", async (request: FastifyRequest, reply: FastifyReply) => {
    const parsed = parseGenerateRequest(request.body, context.limits);
    if (context.closing) throw new HttpError(503, "PRL_INFERENCE_FAILED", "the server is stopping");
    const active = new ActiveRequest(reply.raw, context.deadlines.generateMs);
    context.active.add(active);
    try {
      if (parsed.stream) return await stream(context, parsed, active, reply);
      const json = await active.race(answer(context, parsed, active.signal));
      return reply.header("content-type", JSON_TYPE).send(json);
    } finally {
      active.end();
      context.active.delete(active);
    }
  });
}

async function answer(context: ServerContext, parsed: ParsedRequest, signal: AbortSignal): Promise<string> {
  const id = context.nextId();
  const requestId = parsed.requestId ?? `generate-${id}`;
  const scored = parsed.promptLogprobs ? await scorePrompt(context, parsed.promptTokenIds) : null;
  if (scored !== null && parsed.maxTokens === 0) {
    return responseJson(requestId, nothingSampled(scored.version), parsed.logprobs, scored.json, usageOf(parsed, 0, 0));
  }
  const cursor = new CompletionCursor();
  const chunks: Completion[] = [];
  for await (const chunk of sample(context, parsed, id, cursor, signal)) chunks.push(chunk);
  const completion = joinCompletions(chunks);
  const usage = usageOf(parsed, completion.tokenIds.length, cursor.cachedTokens);
  return responseJson(requestId, completion, parsed.logprobs, scored?.json ?? null, usage);
}

/** The answer is hijacked from fastify once the first chunk is there; errors before it have their own status. */
async function stream(
  context: ServerContext,
  parsed: ParsedRequest,
  active: ActiveRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const id = context.nextId();
  const requestId = parsed.requestId ?? `generate-${id}`;
  const cursor = new CompletionCursor();
  const chunks = sample(context, parsed, id, cursor, active.signal);
  let next = await active.race(chunks.next());
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, EVENT_STREAM_HEADERS);
  let sampled = 0;
  try {
    for (; next.done !== true; next = await active.race(chunks.next())) {
      sampled += next.value.tokenIds.length;
      const usage = parsed.continuousUsage ? usageOf(parsed, sampled, cursor.cachedTokens) : null;
      await writeEvent(raw, chunkJson(requestId, next.value, parsed.logprobs, usage), active.signal);
    }
    if (parsed.includeUsage) {
      const usage = usageOf(parsed, sampled, cursor.cachedTokens);
      await writeEvent(raw, chunkJson(requestId, null, null, usage), active.signal);
    }
  } catch (error) {
    if (!raw.writableEnded && !raw.destroyed) raw.write(`data: ${JSON.stringify(toWire(error).body)}\n\n`);
  }
  if (!raw.destroyed) raw.end("data: [DONE]\n\n");
  return reply;
}

async function writeEvent(raw: ServerResponse, json: string, signal: AbortSignal): Promise<void> {
  if (!raw.write(`data: ${json}\n\n`)) await once(raw, "drain", { signal });
}

/** Samples a completion in the chunks that the engine gives, cut at the first stop string. */
async function* sample(
  context: ServerContext,
  parsed: ParsedRequest,
  id: string,
  cursor: CompletionCursor,
  signal: AbortSignal,
): AsyncGenerator<Completion> {
  const text = parsed.stop.length === 0 ? null : await stopStream(context, parsed.stop);
  const request = {
    id,
    promptTokenIds: parsed.promptTokenIds,
    maxTokens: parsed.maxTokens,
    minTokens: parsed.minTokens,
    temperature: parsed.temperature,
    topP: parsed.topP,
    topK: parsed.topK,
    seed: parsed.seed ?? context.nextSeed(),
    stopTokenIds: parsed.stopTokenIds,
    ignoreEos: parsed.ignoreEos,
    priority: parsed.priority,
    finalOnly: !parsed.stream && text === null,
    ...(parsed.cacheSalt === null ? {} : { cacheSalt: parsed.cacheSalt }),
  };
  for await (const increment of context.model.generate([request], { signal })) {
    if (increment.error !== undefined) throw increment.error;
    const chunk = cursor.next(increment);
    const stopped = text === null ? null : cutAtStop(text, chunk);
    yield stopped ?? chunk;
    if (stopped !== null) return;
  }
}

/** The chunk up to the token that completes a stop string, or null when none does. */
function cutAtStop(text: DecodeStream, chunk: Completion): Completion | null {
  for (const [index, id] of chunk.tokenIds.entries()) {
    text.push(id);
    if (text.stopReason !== null) return endWithStopString(chunk, index + 1, text.stopReason);
  }
  return null;
}

async function stopStream(context: ServerContext, stop: readonly string[]): Promise<DecodeStream> {
  const tokenizer = await context.tokenizer();
  return tokenizer.decodeStream({ skipSpecialTokens: true, stop });
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
