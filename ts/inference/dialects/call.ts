/** A request of another API as the chat that answers it. */
import { z } from "zod";

import type { AgentRequest } from "../../dialects/index.ts";
import { PrlError } from "../../errors.ts";
import { badRequest, unsupported } from "../errors.ts";
import { type ChatBody, chatSchema, refuseUnsupportedChat } from "../openai/request.ts";
import { readAs } from "../read-as.ts";

export interface DialectCall {
  readonly asked: AgentRequest;
  readonly body: ChatBody;
  /** Fields of the request that the answer repeats. */
  readonly echoed: Readonly<Record<string, unknown>>;
  /** Whether a later request may continue from the answer. */
  readonly store: boolean;
  /** The model must not think. */
  readonly withoutThinking: boolean;
}

const { shape } = chatSchema;

/** Sampling parameters that neither OpenAI nor Anthropic has here: they act as in chat completions. */
export const EXTRA_FIELDS = {
  min_tokens: shape.min_tokens,
  min_p: shape.min_p,
  presence_penalty: shape.presence_penalty,
  frequency_penalty: shape.frequency_penalty,
  repetition_penalty: shape.repetition_penalty,
  logit_bias: shape.logit_bias,
  allowed_token_ids: shape.allowed_token_ids,
  bad_words: shape.bad_words,
  seed: shape.seed,
  stop_token_ids: shape.stop_token_ids,
  ignore_eos: shape.ignore_eos,
  priority: shape.priority,
  cache_salt: shape.cache_salt,
  chat_template_kwargs: shape.chat_template_kwargs,
} as const;

/** Any value. */
export const anything = z.unknown().optional();

/** Reads with a dialect, whose errors name a field, as this server's do. Errors: PRL_INFERENCE_REQUEST, PRL_INFERENCE_UNSUPPORTED. */
export function readDialect(read: () => AgentRequest): AgentRequest {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof PrlError)) throw error;
    const [field = "body", ...rest] = error.message.split(": ");
    if (error.code === "PRL_AGENT_REQUEST") throw badRequest(field, rest.join(": "));
    if (error.code === "PRL_AGENT_UNSUPPORTED") throw unsupported(error.message);
    throw error;
  }
}

/** The chat that answers a request; `sampling` are its parameters under the names of chat completions. */
export function chatOf(asked: AgentRequest, sampling: Readonly<Record<string, unknown>>): ChatBody {
  const { messages, tools, toolChoice, maxTokens, oneCall, stop, model } = asked;
  const forced = typeof toolChoice === "string" ? toolChoice : { type: "function", function: toolChoice };
  const fields = {
    ...sampling,
    model,
    messages,
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== null && { tool_choice: forced }),
    ...(maxTokens !== null && { max_completion_tokens: maxTokens }),
    ...(oneCall && { parallel_tool_calls: false }),
    ...(stop.length > 0 && { stop }),
    stream: asked.stream,
  };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const body = readAs("body", chatSchema, Object.fromEntries(given));
  refuseUnsupportedChat(body);
  return body;
}
