/** `/v1/chat/completions`, whole and streamed. */
import type { FastifyInstance, FastifyReply } from "fastify";

import type { ChatMessage, ReplyDelta, Tokenizer } from "../../renderers/index.ts";
import { type ActiveRequest, whileActive } from "../requests/active-request.ts";
import { joinCompletions } from "../requests/completion.ts";
import type { ServerContext } from "../context.ts";
import { badRequest } from "../errors.ts";
import { readAs } from "../read-as.ts";
import { headOf, streamed, total } from "../openai/answer.ts";
import { endOf, idsOf, promptIdsOf, readReply } from "../openai/choice.ts";
import { chatLogprobs, promptLogprobsOf, tokenText } from "../openai/logprobs.ts";
import { renderChat, type RenderedChat, requestsOf } from "../openai/rendered-chat.ts";
import { chatSchema, type ChatBody, logprobsOf, refuseUnsupportedChat, samplesPerPrompt } from "../openai/request.ts";
import type { ParsedRequest } from "../requests/request.ts";
import { wholeChoices } from "../requests/sample.ts";
import type { Completion } from "../requests/response.ts";

export function registerChat(app: FastifyInstance, context: ServerContext): void {
  app.post("/v1/chat/completions", async (request, reply) => {
    const body = readAs("body", chatSchema, request.body);
    refuseUnsupportedChat(body);
    return whileActive(context, reply, (active) => chat(context, body, active, reply));
  });
}

async function chat(
  context: ServerContext,
  body: ChatBody,
  active: ActiveRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const rendered = await renderChat(context, body);
  const { renderer, tokenizer, options, messages } = rendered;
  const choices = samplesPerPrompt(body);
  const requests = requestsOf(context, rendered);
  const [first] = requests;
  if (first === undefined) throw badRequest("n", "must be at least 1");
  const echoed = echoOf(body, messages);
  if (body.stream === true) {
    const parts = { ...rendered, requests, echoed };
    return context.admission.during(requests.length, () => streamChat(context, parts, active, reply));
  }
  const prompt = await active.race(promptScores(context, body, { parsed: first, tokenizer, active }));
  const sampled = await context.admission.during(requests.length, () => wholeChoices(context, requests, { active }));
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
          content: calls.length > 0 && content === "" && echoed === "" ? null : echoed + content,
          refusal: null,
          ...(reasoning === null ? {} : { reasoning, reasoning_content: reasoning }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        ...tokensOf(tokenizer, body, completion),
        ...endOf(completion, { toolCalls }),
      };
    }),
    ...promptIdsOf(body, first),
    ...prompt,
    usage: total(sampled, choices),
  };
}

/** vLLM's `prompt_logprobs`; as there an echo has them without being asked. */
function promptScores(
  context: ServerContext,
  body: ChatBody,
  { parsed, tokenizer, active }: { parsed: ParsedRequest; tokenizer: Tokenizer; active: ActiveRequest },
): Promise<object> {
  const top = parsed.promptLogprobs ?? (body.echo === true ? (body.top_logprobs ?? 0) : null);
  const textOf = tokenText(tokenizer, body.return_tokens_as_token_ids);
  return promptLogprobsOf(context, parsed.promptTokenIds, { top, textOf, signal: active.signal });
}

/** The text that an echo puts before the reply: that of the last message, if it is the assistant's too. */
function echoOf(body: ChatBody, messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  return body.echo === true && last?.role === "assistant" && typeof last.content === "string" ? last.content : "";
}

interface ChatStream extends RenderedChat {
  requests: readonly ParsedRequest[];
  echoed: string;
}

/** Streams content and thinking as they become certain, and whole calls at the end. */
function streamChat(
  context: ServerContext,
  { body, requests, renderer, tokenizer, options, echoed }: ChatStream,
  active: ActiveRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const head = headOf(context, body, "chatcmpl", "chat.completion.chunk");
  const wantsAll = body.logprobs === true || body.return_token_ids === true;
  const answer = { head, requests, perPrompt: requests.length, active, reply };
  return streamed(context, answer, async ({ index, parsed, chunks, send }) => {
    const received: Completion[] = [];
    const sendDelta = (delta: object, more: object = {}, beside: object = {}): Promise<void> =>
      send({ delta, logprobs: null, finish_reason: null, ...more }, beside);
    await sendDelta({ role: "assistant", content: "" }, {}, index === 0 ? promptIdsOf(body, parsed) : {});
    if (echoed !== "") await sendDelta({ content: echoed });
    const growing = renderer.grow({ thinks: options.thinks, tools: options.tools, stop: parsed.stop });
    for await (const chunk of chunks) {
      const begun = received.length === 0 ? options.begun : [];
      received.push(chunk);
      // The last chunk waits, because a stop string may have to be cut off.
      const delta = chunk.finishReason === null ? growing.push([...begun, ...chunk.tokenIds]) : null;
      if (delta !== null || wantsAll) await sendDelta(wireDelta(delta ?? {}), tokensOf(tokenizer, body, chunk));
    }
    const completion = joinCompletions(received);
    const final = readReply(renderer, completion, { ...options, id: `${options.id}_${index}` });
    const rest = growing.rest(final);
    if (rest !== null) await sendDelta(wireDelta(rest));
    if (final.toolCalls.length > 0) await sendDelta({ tool_calls: final.toolCalls });
    await sendDelta({}, endOf(completion, final));
    return completion;
  });
}

/** The fields about sampled tokens besides their text. */
function tokensOf(tokenizer: Tokenizer, body: ChatBody, completion: Completion): object {
  const top = logprobsOf(body);
  const textOf = tokenText(tokenizer, body.return_tokens_as_token_ids);
  return {
    logprobs: top === null ? null : chatLogprobs(completion, top, textOf),
    ...idsOf(body, completion.tokenIds),
  };
}

function wireDelta({ content, reasoning }: ReplyDelta): object {
  return {
    ...(content !== undefined && { content }),
    ...(reasoning !== undefined && { reasoning, reasoning_content: reasoning }),
  };
}
