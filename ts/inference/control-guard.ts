/**
 * Allows pausing an engine and changing its weights only to callers with the key, where there is one, and never to a web page in a
 * browser of this machine.
 *
 * A server that other machines can reach needs a key, as the transports of batches and weights do; sampling needs none.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

import type { FastifyRequest } from "fastify";

import { explain } from "../errors.ts";
import { HttpError } from "./errors.ts";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/**
 * The problem with listening on `host`, a name or an address; null when there is none. Without a key each of its addresses has to be
 * one that other machines cannot reach.
 */
export async function hostProblem(host: string, key: string | null): Promise<string | null> {
  const bare = host.replace(/^\[(.*)\]$/u, "$1");
  let addresses: { address: string; family: number }[];
  try {
    addresses = isIP(bare) === 0 ? await lookup(bare, { all: true }) : [{ address: bare, family: isIP(bare) }];
  } catch (error) {
    return `${host} is no address of this machine (${explain(error)})`;
  }
  if (key !== null || addresses.every(({ address, family }) => isLoopback(address, family))) return null;
  const why = `from ${host} other machines could pause the engine and give it other weights`;
  return `${why}: set PRL_TRANSPORT_TOKEN, here and for who controls it, or listen on 127.0.0.1`;
}

function isLoopback(address: string, family: number): boolean {
  return LOOPBACK.check(address, family === 6 ? "ipv6" : "ipv4");
}

/** The hook of control routes. Errors: 403 for a call from a web page, 401 for one without the key. */
export function controlGuard(key: string | null): (request: FastifyRequest) => Promise<void> {
  const isAllowed = bearerOf(key === null ? [] : [key]);
  return async ({ headers, url }) => {
    if (headers.origin !== undefined) {
      throw new HttpError(403, "PRL_INFERENCE_AUTH", `${url} is not for web pages: the call has an Origin header`);
    }
    if (isAllowed(headers.authorization)) return;
    const advice = "send authorization: Bearer with the server's PRL_TRANSPORT_TOKEN";
    throw new HttpError(401, "PRL_INFERENCE_AUTH", `${url} needs the key of the server: ${advice}`);
  };
}

/** Paths that need an API key, where there is one. As in vLLM the status routes and `/tokenize` need none. */
const SAMPLING_PATHS = /^\/(v1|inference)\/|^\/abort_requests(\?|$)/u;

/** The hook of all routes: those that sample need one of `keys`. Errors: 401 for a call without. */
export function apiKeyGuard(keys: readonly string[]): (request: FastifyRequest) => Promise<void> {
  const isAllowed = bearerOf(keys);
  return async ({ headers, routeOptions, url }) => {
    // Anthropic's clients send the key in a header without a scheme.
    const { "x-api-key": bare } = headers;
    const given = headers.authorization ?? (typeof bare === "string" ? `Bearer ${bare}` : undefined);
    if (isAllowed(given) || !SAMPLING_PATHS.test(routeOptions.url ?? url)) return;
    throw new HttpError(
      401,
      "PRL_INFERENCE_AUTH",
      `${url} needs the API key: send authorization: Bearer <key>, or x-api-key`,
    );
  };
}

/** Whether a header has one of the keys as bearer; everything has where there is no key. Takes equally long for every header. */
function bearerOf(keys: readonly string[]): (header: string | undefined) => boolean {
  const wanted = keys.map((key) => digest(`Bearer ${key}`));
  if (wanted.length === 0) return () => true;
  return (header) => {
    const given = digest(header ?? "");
    return wanted.map((one) => timingSafeEqual(given, one)).includes(true);
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
