/**
 * Who may ask what of a server.
 *
 * - Control routes pause the engine and change its weights: callers with the control key, never a web page in a browser of this machine.
 * - A server that other machines can reach tells a caller without a key only its health: an API key opens what is no control route, the
 *   control key everything. Such a server without a control key cannot be controlled.
 * - A server that only this machine can reach demands a key where it has one: API keys for sampling, the control key for control routes.
 */
import { createHash, timingSafeEqual } from "node:crypto";

import type { FastifyRequest } from "fastify";

import { explain } from "../errors.ts";
import { isWide } from "../loopback.ts";
import type { ServerContext } from "./context.ts";
import { HttpError } from "./errors.ts";

/** What a part of a run needs before it listens for other machines. */
export const TOKEN_ADVICE = "set PRL_TRANSPORT_TOKEN, here and for who controls it, or listen on 127.0.0.1";

/** The problem with listening on `host`; null when there is none. `advice` ends the message about a key that is not there. */
export async function hostProblem(host: string, hasKey: boolean, advice = TOKEN_ADVICE): Promise<string | null> {
  let wide: boolean;
  try {
    wide = await isWide(host);
  } catch (error) {
    return `${host} is no address of this machine (${explain(error)})`;
  }
  if (hasKey || !wide) return null;
  return `from ${host} other machines could sample, pause the engine and give it other weights: ${advice}`;
}

/** The hook of routes that need no control key, and are not for web pages either. Errors: 403. */
export async function refuseWebPages({ headers, url }: Pick<FastifyRequest, "headers" | "url">): Promise<void> {
  if (headers.origin === undefined) return;
  throw new HttpError(403, "PRL_INFERENCE_AUTH", `${url} is not for web pages: the call has an Origin header`);
}

type Doors = Pick<ServerContext, "controlKey" | "apiKeys" | "isWide">;

/** The hook of control routes. Errors: 403 for a call from a web page, 401 for one without the key. */
export function controlGuard(doors: Doors): (request: FastifyRequest) => Promise<void> {
  const { controlKey: key } = doors;
  const isAllowed = bearerOf(key === null ? [] : [key]);
  return async (request) => {
    const { headers, url } = request;
    await refuseWebPages(request);
    if (key === null ? !doors.isWide : isAllowed(headers.authorization)) return;
    const advice = "send authorization: Bearer with the server's PRL_TRANSPORT_TOKEN";
    const problem = key === null ? "is closed: the server was started without PRL_TRANSPORT_TOKEN" : advice;
    throw new HttpError(401, "PRL_INFERENCE_AUTH", `${url} needs the key of the server: ${problem}`);
  };
}

/** Paths that need an API key, where there is one. As in vLLM the status routes and `/tokenize` need none. */
const SAMPLING_PATHS = /^\/(v1|inference)\/|^\/abort_requests(\?|$)/u;
/** Paths that need none on any server: they say whether it is at work. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(["/health", "/liveness", "/ping"]);

/** The hook of all routes. Errors: 401 for a call without a key that the route needs. */
export function apiKeyGuard(doors: Doors): (request: FastifyRequest) => Promise<void> {
  const { apiKeys, controlKey } = doors;
  const isAllowed = bearerOf(controlKey === null ? apiKeys : [...apiKeys, controlKey]);
  return async ({ headers, routeOptions, url }) => {
    const route = routeOptions.url ?? url;
    const needsKey = doors.isWide ? !HEALTH_PATHS.has(route) : apiKeys.length > 0 && SAMPLING_PATHS.test(route);
    if (!needsKey) return;
    // Anthropic's clients send the key in a header without a scheme.
    const { "x-api-key": bare } = headers;
    if (isAllowed(headers.authorization ?? (typeof bare === "string" ? `Bearer ${bare}` : undefined))) return;
    throw new HttpError(
      401,
      "PRL_INFERENCE_AUTH",
      `${url} needs the API key: send authorization: Bearer <key>, or x-api-key`,
    );
  };
}

/** Whether a header has one of the keys as bearer. Takes equally long for every header. */
function bearerOf(keys: readonly string[]): (header: string | undefined) => boolean {
  const wanted = keys.map((key) => digest(`Bearer ${key}`));
  return (header) => {
    const given = digest(header ?? "");
    return wanted.map((one) => timingSafeEqual(given, one)).includes(true);
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
