/** OpenAI's `/v1/responses` and Anthropic's `/v1/messages`: each is answered as a chat, in the dialect that agents in rollouts use, too. */
import { randomUUID } from "node:crypto";

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import {
  type AgentReply,
  continued,
  type Dialect,
  eventText,
  messages,
  type Problem,
  ReplyProgress,
  type ReplyHead,
  RESPONSE_PREFIX,
  responses,
  withoutBegun,
} from "../../dialects/index.ts";
import type { ServerContext } from "../context.ts";
import { type DialectCall } from "../dialects/call.ts";
import { readCount, readMessages } from "../dialects/messages.ts";
import { readResponses } from "../dialects/responses.ts";
import { StoredResponses } from "../dialects/stored-responses.ts";
import { HttpError, toWire, unsupported, type WireError } from "../errors.ts";
import { type ChatReply, endOf, readReply } from "../openai/choice.ts";
import { renderChat, type RenderedChat, requestsOf } from "../openai/rendered-chat.ts";
import { type ActiveRequest, whileActive } from "../requests/active-request.ts";
import { CompletionCursor, joinCompletions } from "../requests/completion.ts";
import { openEventStream, type StreamEnd } from "../requests/event-stream.ts";
import { servedAdapter, type ParsedRequest } from "../requests/request.ts";
import type { Completion } from "../requests/response.ts";
import { sample, type Sampled, sampledOf, wholeChoices } from "../requests/sample.ts";
import { sendError } from "../send-error.ts";

export function registerDialects(app: FastifyInstance, context: ServerContext): void {
  const defaultModel = context.modelNames[0] ?? "";
  const kept = new StoredResponses();

  app.post("/v1/responses", (request, reply) => {
    const call = continuing(kept, readResponses(request.body, defaultModel));
    return answer(context, { dialect: responses, call, kept }, reply);
  });
  app.get("/v1/responses/:id", (request) => {
    const id = idOf(request);
    return kept.get(id)?.answer ?? refuseUnknown(id);
  });
  app.delete("/v1/responses/:id", (request) => {
    const id = idOf(request);
    if (!kept.remove(id)) refuseUnknown(id);
    return { id: RESPONSE_PREFIX + id, object: "response", deleted: true };
  });

  const errorHandler = (error: unknown, _request: FastifyRequest, reply: FastifyReply): void => {
    void sendError(reply, error, (wire) => messages.error(problemOf(wire)));
  };
  app.post("/v1/messages", { errorHandler }, (request, reply) => {
    const call = readMessages(request.body, defaultModel);
    return answer(context, { dialect: messages, call, kept }, reply);
  });
  app.post("/v1/messages/count_tokens", { errorHandler }, (request) =>
    countTokens(context, readCount(request.body, defaultModel)),
  );
}

async function countTokens(context: ServerContext, call: DialectCall): Promise<{ input_tokens: number }> {
  servedAdapter(call.body.model, context.limits);
  const { promptIds } = await rendered(context, call);
  return { input_tokens: promptIds.length };
}

/** Errors: PRL_INFERENCE_UNSUPPORTED where the model shall not think, and its template opens its thinking. */
async function rendered(context: ServerContext, { body, asked, withoutThinking }: DialectCall): Promise<RenderedChat> {
  const chat = await renderChat(context, body, asked.begun);
  if (!withoutThinking || !chat.options.thinks) return chat;
  throw unsupported("thinking: the model's template has no variable enable_thinking that switches it off");
}

/** The id of a request's path without its prefix. */
function idOf({ params }: FastifyRequest): string {
  return (params as { id: string }).id.replace(RESPONSE_PREFIX, "");
}

function refuseUnknown(id: string): never {
  const why = "it was not stored here, was deleted, or has made place for newer ones";
  throw new HttpError(404, "PRL_INFERENCE_REQUEST", `there is no response "${RESPONSE_PREFIX}${id}": ${why}`);
}

/** The request with the conversation that it continues. Errors: 404 for a response that is not kept. */
function continuing(kept: StoredResponses, call: DialectCall): DialectCall {
  const { follows, messages: added } = call.asked;
  if (follows === null) return call;
  const { conversation } = kept.get(follows) ?? refuseUnknown(follows);
  const whole = continued(conversation, added);
  return { ...call, asked: { ...call.asked, messages: whole }, body: { ...call.body, messages: [...whole] } };
}

interface DialectAnswer {
  readonly dialect: Dialect;
  readonly call: DialectCall;
  /** Takes answers that may be continued. */
  readonly kept: StoredResponses;
}

/** A request in its rendered form, with what is known of its answer. */
interface Asked extends DialectAnswer {
  readonly chat: RenderedChat;
  readonly parsed: ParsedRequest;
  readonly head: ReplyHead;
}

function answer(context: ServerContext, wanted: DialectAnswer, reply: FastifyReply): Promise<unknown> {
  const { call } = wanted;
  return whileActive(context, reply, async (active) => {
    const chat = await rendered(context, call);
    const [parsed] = requestsOf(context, chat);
    if (parsed === undefined) throw new TypeError("a chat has one choice at least");
    const head = {
      id: randomUUID().replaceAll("-", ""),
      created: Math.floor(Date.now() / 1000),
      model: call.asked.model,
      promptTokens: parsed.promptTokenIds.length,
      echoed: call.echoed,
    };
    const asked = { ...wanted, chat, parsed, head };
    return context.admission.during(1, async () => {
      if (call.asked.stream) return stream(context, asked, active, reply);
      const [sampled] = await wholeChoices(context, [parsed], { active });
      if (sampled === undefined) throw new TypeError("the engine gave no choice");
      const { answer: whole } = await finished(asked, sampled);
      return whole;
    });
  });
}

/** Thinking and text as they become certain, calls at the end. */
async function stream(
  context: ServerContext,
  asked: Asked,
  active: ActiveRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { dialect, call, chat, parsed, head } = asked;
  const cursor = new CompletionCursor();
  const { signal } = active;
  const sampling = sample(context, { parsed, id: context.nextId(), cursor, signal });
  let next = await active.race(sampling.next());
  const writer = dialect.stream(head, call.asked);
  const events = openEventStream(reply, signal, endOfStream(dialect));
  await events.end(async () => {
    const received: Completion[] = [];
    const progress = new ReplyProgress(call.asked.begun);
    let pending = "";
    progress.listen((soFar) => void (pending += eventText(writer.grow(soFar))));
    const growing = chat.renderer.grow({ thinks: chat.options.thinks, tools: chat.options.tools, stop: parsed.stop });
    try {
      for (; next.done !== true; next = await active.race(sampling.next())) {
        const chunk = next.value;
        const begun = received.length === 0 ? chat.options.begun : [];
        received.push(chunk);
        // The last chunk waits, because a stop string may have to be cut off.
        const delta = chunk.finishReason === null ? growing.push([...begun, ...chunk.tokenIds]) : null;
        if (delta !== null) progress.grow(delta);
        if (pending !== "") await events.send(pending);
        pending = "";
      }
    } finally {
      // A failure may leave the engine at work. Its own clean-up fails where the request was aborted.
      sampling.return(undefined).catch(() => undefined);
    }
    const { said } = await finished(asked, sampledOf(parsed, joinCompletions(received), cursor));
    await events.send(eventText(writer.end(said)));
  });
  return reply;
}

/** The whole reply and its answer, which is kept where the request wants it. */
async function finished(asked: Asked, { completion, usage }: Sampled): Promise<{ said: AgentReply; answer: unknown }> {
  const { dialect, call, chat, head, kept } = asked;
  const read = readReply(chat.renderer, completion, { ...chat.options, id: head.id });
  const said = await replyOf(asked, read, completion, usage);
  const whole = dialect.answer(said);
  if (call.store) {
    const message = { ...said.message, content: read.content };
    kept.keep(head.id, { answer: whole as object, conversation: [...call.asked.messages, message] });
  }
  return { said, answer: whole };
}

async function replyOf(
  { call, chat, head, parsed }: Asked,
  read: ChatReply,
  completion: Completion,
  usage: Sampled["usage"],
): Promise<AgentReply> {
  const { content, reasoning, toolCalls } = read;
  const { finish_reason: finish } = endOf(completion, read);
  const calls = toolCalls.map(({ index: _place, ...one }) => one);
  return {
    ...head,
    message: {
      role: "assistant",
      content: withoutBegun(content, call.asked.begun),
      ...(reasoning === null ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    finishReason: finish === "length" || finish === "tool_calls" ? finish : "stop",
    stopSequence: parsed.stop.find((one) => one === completion.stopReason) ?? null,
    usage: {
      ...usage,
      reasoningTokens: reasoning === null ? 0 : (await chat.tokenizer.encodeAsync(reasoning)).length,
    },
  };
}

function endOfStream(dialect: Dialect): StreamEnd {
  return { failed: (error) => eventText([dialect.errorEvent(problemOf(toWire(error)))]), last: "" };
}

function problemOf({ status, body }: WireError): Problem {
  const { message, code } = body.error;
  return { status, code, message };
}
