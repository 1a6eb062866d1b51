/** An endpoint as an environment's `args` name it: who plays an opponent, a user or a judge. */
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
  stream: z.boolean().default(false).describe("let answers come in pieces, so that a slow one is told from a dead one"),
  timeout_s: z.number().positive().default(600).describe("for one attempt of a call"),
});

export type EndpointConfig = z.output<typeof endpointConfig>;

/** Opens what a config names; no connection yet. Throws PRL_CONFIG_ENVIRONMENT when the key's variable is not set. */
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

/** One endpoint per config, so that its connections and its waits are shared by all who ask. */
const OPENED = new WeakMap<EndpointConfig, Endpoint>();

/** A client as it is; a config is opened once and lives as long as the arguments that it stands in. */
export function replyClientOf(endpoint: EndpointConfig | ReplyClient): ReplyClient {
  if ("reply" in endpoint) return endpoint;
  const known = OPENED.get(endpoint) ?? openConfiguredEndpoint(endpoint);
  OPENED.set(endpoint, known);
  return known;
}
