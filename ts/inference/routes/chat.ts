/** `/v1/chat/completions`, whole and streamed. */
import type { FastifyInstance, FastifyReply } from "fastify";

import { encodeBeginning, opensThinking, type ReplyDelta, ReplyGrowth, type Tokenizer } from "../../renderers/index.ts";
import { type ActiveRequest, whileActive } from "../active-request.ts";
import { CompletionCursor, joinCompletions } from "../completion.ts";
import type { ServerContext } from "../context.ts";
import { badRequest, unsupported } from "../errors.ts";
import { openEventStream } from "../event-stream.ts";
import { headOf, total, whole } from "../openai/answer.ts";
import { chatLogprobs, endOf, idsOf, readReply, type ReplyOptions } from "../openai/choice.ts";
import { toTemplateMessages } from "../openai/messages.ts";
import { chatSchema, type ChatBody, forcedCall, readBody, refuseUnsupported, toGenerate } from "../openai/request.ts";
import type { ParsedRequest } from "../request.ts";
import type { Completion } from "../response.ts";
import { sample } from "../sample.ts";

export function registerChat(app: FastifyInstance, context: ServerContext): void {
  app.post("/v1/chat/completions", async (request, reply) => {
    const body = readBody(chatSchema, request.body);
    refuseUnsupported(body);
    return whileActive(context, reply, (active) => chat(context, body, active, reply));
  });
}

async function chat(
  context: ServerContext,
  body: ChatBody,
  active: ActiveRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const [renderer, tokenizer] = await Promise.all([
    context.renderer(body.chat_template_kwargs ?? {}),
    context.tokenizer(),
  ]);
  const tools = body.tool_choice === "none" || (body.tools ?? []).length === 0 ? null : (body.tools ?? []);
  const rendered = renderer.render(toTemplateMessages(body.messages), { tools });
  const forced = forcedCall(body);
  const begun = encodeBeginning({ tokenizer, renderer }, rendered, forced === undefined ? {} : { call: forced });
  if (begun === null) throw unsupported("tool_choice: the model's chat format has no calls of tools");
  const promptIds = Uint32Array.of(...rendered, ...begun);
  const choices = body.n ?? 1;
  const requests = Array.from({ length: choices }, (_, choice) =>
    toGenerate(body, promptIds, renderer.stopTokenIds, context.limits, choice),
  );
  const [first] = requests;
  if (first === undefined) throw badRequest("n", "must be at least 1");
  const thinks = opensThinking(tokenizer, promptIds);
  const options = { tools: tools !== null, id: context.nextId(), begun, thinks };
  if (body.stream === true) {
    if (choices > 1) throw badRequest("n", "only 1 when stream is true");
    return streamChat(context, { body, parsed: first, renderer, tokenizer, options }, active, reply);
  }
  const sampled = await active.race(Promise.all(requests.map((parsed) => whole(context, parsed, active))));
  return {
    ...headOf(context, body, "chatcmpl", "chat.completion"),
    choices: sampled.map(({ completion }, index) => {
      const { content, reasoning, toolCalls } = readReply(renderer, completion, {
        ...options,
        id: `${options.id}_${index}`,
      });
      const calls = toolCalls.map(({ index: _place, ...call }) => call);
      return {
        index,
        message: {
          role: "assistant",
          content: calls.length > 0 && content === "" ? null : content,
          refusal: null,
          ...(reasoning === null ? {} : { reasoning, reasoning_content: reasoning }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: body.logprobs === true ? chatLogprobs(tokenizer, completion, body.top_logprobs ?? 0) : null,
        ...endOf(completion, { toolCalls }),
        ...idsOf(body, completion.tokenIds),
      };
    }),
    ...(body.return_token_ids === true && { prompt_token_ids: [...promptIds] }),
    usage: total(sampled, choices),
  };
}

interface ChatStream {
  body: ChatBody;
  parsed: ParsedRequest;
  renderer: Awaited<ReturnType<ServerContext["renderer"]>>;
  tokenizer: Tokenizer;
  options: ReplyOptions;
}

/** Content and thinking as they settle; calls whole at the end. */
async function streamChat(
  context: ServerContext,
  { body, parsed, renderer, tokenizer, options }: ChatStream,
  active: ActiveRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const head = headOf(context, body, "chatcmpl", "chat.completion.chunk");
  const cursor = new CompletionCursor();
  const chunks = sample(context, parsed, context.nextId(), cursor, active.signal);
  let next = await active.race(chunks.next());
  const events = openEventStream(reply, active.signal);
  // In the first chunk only.
  let promptIds: object = body.return_token_ids === true ? { prompt_token_ids: [...parsed.promptTokenIds] } : {};
  const send = (delta: object, sampled: Completion | null = null, more: object = {}): Promise<void> => {
    const wantsLogprobs = sampled !== null && body.logprobs === true;
    const logprobs = wantsLogprobs ? chatLogprobs(tokenizer, sampled, body.top_logprobs ?? 0) : null;
    const ids = sampled === null ? {} : idsOf(body, sampled.tokenIds);
    const choice = { index: 0, delta, logprobs, finish_reason: null, ...ids, ...more };
    return events.write(JSON.stringify({ ...head, ...promptIds, choices: [choice] }));
  };
  const wantsAll = body.logprobs === true || body.return_token_ids === true;
  await events.end(async () => {
    await send({ role: "assistant", content: "" });
    promptIds = {};
    const received: Completion[] = [];
    const growth = new ReplyGrowth([...parsed.stop, ...(options.tools ? ["<tool_call>"] : []), "<think>", "</think>"]);
    for (; next.done !== true; next = await active.race(chunks.next())) {
      received.push(next.value);
      const soFar = readReply(renderer, joinCompletions(received), options);
      const delta = growth.take(soFar);
      if (delta !== null || wantsAll) await send(wireDelta(delta ?? {}), next.value);
    }
    const completion = joinCompletions(received);
    const final = readReply(renderer, completion, options);
    const rest = growth.rest(final);
    if (rest !== null) await send(wireDelta(rest));
    if (final.toolCalls.length > 0) await send({ tool_calls: final.toolCalls });
    await send({}, null, endOf(completion, final));
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

function wireDelta({ content, reasoning }: ReplyDelta): object {
  return {
    ...(content !== undefined && { content }),
    ...(reasoning !== undefined && { reasoning, reasoning_content: reasoning }),
  };
}
