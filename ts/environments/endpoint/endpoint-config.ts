/** An endpoint in an environment's `args`: the model of an opponent, a user or a judge. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import type { ReplyClient } from "../rollout/reply-client.ts";
import { type Endpoint, openEndpoint } from "./endpoint.ts";

/** For `config` of an environment: `opponent: endpointConfig.nullable().default(null)`. */
export const endpointConfig = z.strictObject({
  url: z.url().describe("base address with its version, http://127.0.0.1:8000/v1"),
  model: z.string().min(1).describe("model to ask for"),
  api: z.enum(["openai", "chat", "anthropic"]).default("openai").describe("its dialect"),
  api_key_var: z.string().nullable().default(null).describe("environment variable that holds the key"),
  max_retries: z.int().nonnegative().default(5).describe("how often one call is sent again"),
  stream: z
    .boolean()
    .default(false)
    .describe("stream the answers, so that a slow endpoint can be distinguished from a dead one"),
  timeout_s: z.number().positive().default(600).describe("time limit for one attempt of a call"),
});

export type EndpointConfig = z.output<typeof endpointConfig>;

/** Makes the endpoint of a config, without a connection yet. Throws PRL_CONFIG_ENVIRONMENT when the key's variable is not set. */
export function openConfiguredEndpoint({ url, model, api, stream, ...config }: EndpointConfig): Endpoint {
  const { api_key_var: variable, max_retries: maxRetries, timeout_s: timeoutS } = config;
  const apiKey = variable === null ? undefined : process.env[variable];
  if (variable !== null && (apiKey === undefined || apiKey === "")) {
    throw new PrlError(
      "PRL_CONFIG_ENVIRONMENT",
      `endpoint ${url}: the environment variable ${variable}, which should hold the key, is not set`,
    );
  }
  const key = apiKey === undefined ? {} : { apiKey };
  return openEndpoint({ url, model, api, stream, maxRetries, timeoutMs: timeoutS * 1000, ...key });
}

/** One endpoint per config, so that all callers share its connections and its waits. */
const OPENED = new WeakMap<EndpointConfig, Endpoint>();

/** Returns a client unchanged; a config is opened once and kept as long as the arguments that hold it. */
export function replyClientOf(endpoint: EndpointConfig | ReplyClient): ReplyClient {
  if ("reply" in endpoint) return endpoint;
  const known = OPENED.get(endpoint) ?? openConfiguredEndpoint(endpoint);
  OPENED.set(endpoint, known);
  return known;
}
