/** A model behind a foreign endpoint, as the policy of rollouts. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { checkOptions, number, only } from "../../options.ts";
import type { Reply, ReplyClient, ReplyRequest } from "../rollout/reply-client.ts";
import { ANTHROPIC_VERSION, messagesBody, readMessage } from "./anthropic.ts";
import { EndpointHttp } from "./http.ts";
import { anthropicJoiner, openaiJoiner } from "./stream-joiners.ts";
import { chatBody, readChat, readText, textBody } from "./openai.ts";

/**
 * `openai`: messages go to chat completions, texts unchanged to text completions. `chat`: a text is one user message.
 * `anthropic`: messages of Anthropic's API.
 */
export type EndpointApi = "openai" | "chat" | "anthropic";

export interface EndpointOptions {
  /** Base address with its version, `http://127.0.0.1:8000/v1`; Anthropic's may be without. */
  readonly url: string;
  readonly model: string;
  /** Default `openai`. */
  readonly api?: EndpointApi;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields that are added to every body and replace ours; null removes one of our fields. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** How often one call is sent again. Default 5. */
  readonly maxRetries?: number;
  /** Time for one attempt of a call. Default 600000. */
  readonly timeoutMs?: number;
  /** First wait before a retry, doubled with each. Default 500. */
  readonly backoffMs?: number;
  /**
   * Stream the answers: a slow endpoint can then be distinguished from a dead one, and `onText` of a request gets the text. Default
   * false.
   */
  readonly stream?: boolean;
  /** Longest silence in a stream. Default 120000. */
  readonly idleTimeoutMs?: number;
}

const texts = z.record(z.string(), z.string());
const optionsSchema = only<EndpointOptions>({
  url: z.string(),
  model: z.string(),
  api: z.enum(["openai", "chat", "anthropic"]).optional(),
  apiKey: z.string().optional(),
  headers: texts.optional(),
  extraBody: z.record(z.string(), z.unknown()).optional(),
  maxRetries: number.optional(),
  timeoutMs: number.optional(),
  backoffMs: number.optional(),
  stream: z.boolean().optional(),
  idleTimeoutMs: number.optional(),
});

export interface Endpoint extends ReplyClient {
  close(): Promise<void>;
}

/** Makes the endpoint, without a connection yet. */
export function openEndpoint(options: EndpointOptions): Endpoint {
  checkOptions("PRL_ENVIRONMENT_INVALID", "openEndpoint", optionsSchema, options);
  const { model, api = "openai", apiKey, headers = {}, extraBody = {} } = options;
  const { maxRetries = 5, timeoutMs = 600_000, backoffMs = 500, stream = false, idleTimeoutMs = 120_000 } = options;
  const url =
    api === "anthropic" && !/\/v\d+\/*$/u.test(options.url) ? `${options.url.replace(/\/+$/u, "")}/v1` : options.url;
  const http = new EndpointHttp({
    url,
    headers: { ...authorization(api, apiKey), ...headers },
    maxRetries,
    timeoutMs,
    backoffMs,
  });
  const call = (
    path: string,
    body: Record<string, unknown>,
    { signal, onText }: ReplyRequest,
    read: (text: string) => Reply,
  ): Promise<Reply> => {
    const streamed = stream ? streamBody(api) : {};
    const fields = Object.entries({ ...body, ...streamed, ...extraBody }).filter(([, value]) => value !== null);
    const joiner = api === "anthropic" ? anthropicJoiner : openaiJoiner;
    const streaming = { joiner, idleTimeoutMs, ...(onText === undefined ? {} : { onText }) };
    const reading = { signal, read, ...(stream ? { stream: streaming } : {}) };
    return http.post(path, Object.fromEntries(fields), reading);
  };
  return {
    reply(request) {
      const { prompt, jsonSchema, textFormat } = request;
      if (textFormat !== undefined)
        throw new PrlError("PRL_ENVIRONMENT_UNSUPPORTED", "textFormat: not behind an endpoint");
      if (jsonSchema !== undefined && (api === "anthropic" || typeof prompt === "string"))
        throw new PrlError(
          "PRL_ENVIRONMENT_UNSUPPORTED",
          "jsonSchema: only for conversations behind OpenAI's chat API",
        );
      if (api === "anthropic") return call("/messages", messagesBody(model, request), request, readMessage);
      if (api === "openai" && typeof prompt === "string")
        return call("/completions", textBody(model, prompt, request), request, readText);
      return call("/chat/completions", chatBody(model, request), request, readChat);
    },
    close: () => http.close(),
  };
}

/** Anthropic always reports usage. */
function streamBody(api: EndpointApi): Record<string, unknown> {
  return api === "anthropic" ? { stream: true } : { stream: true, stream_options: { include_usage: true } };
}

function authorization(api: EndpointApi, apiKey: string | undefined): Record<string, string> {
  if (api === "anthropic")
    return { "anthropic-version": ANTHROPIC_VERSION, ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) };
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}
