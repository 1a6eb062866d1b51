/**
 * Answers a hub's `GET /-/v1/search` from its index, and leaves every other request to the registry; notes the requests that change a package.
 *
 * Readers of a private hub prove themselves to the registry: it is asked who they are with their own header.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";

import { explain } from "../../errors.ts";
import { type HubIndex, type IndexedPackage, packageOfPath } from "./hub-index.ts";

const SEARCH = "/-/v1/search";
const WHO_AM_I = "-/whoami";
const WHO_AM_I_MS = 10_000;
const READS = ["GET", "HEAD", "OPTIONS"];

export interface SearchRoute {
  readonly index: HubIndex;
  /** Only readers with a token may search. */
  readonly isPrivate: boolean;
  /** Address of the registry, known when it listens. */
  readonly url: () => string;
}

/** Puts the search before what a server does with a request. The server has not listened yet. */
export function addSearch(server: Server, route: SearchRoute): void {
  const registry = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    // It is not parsed as a URL: "//" is a path that clients send, and no URL.
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    if (request.method === "GET" && path === SEARCH) {
      void answer(route, new URLSearchParams(query), request, response);
      return;
    }
    const name = READS.includes(request.method ?? "") ? null : packageOfPath(path);
    if (name !== null) response.once("close", route.index.changing(name));
    for (const listener of registry) listener.call(server, request, response);
  });
}

async function answer(
  { index, isPrivate, url }: SearchRoute,
  asked: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (isPrivate && !(await isKnown(url(), request.headers.authorization))) {
      sendJson(response, 401, { error: "authorization required to search this hub" });
      return;
    }
    const { found, total } = await index.search(asked.get("text") ?? "", number(asked, "from"), number(asked, "size"));
    sendJson(response, 200, { objects: found.map(objectOf), total, time: new Date().toUTCString() });
  } catch (error) {
    sendJson(response, 500, { error: explain(error) });
  }
}

/** One result, in the form of npm's registries; nothing here weighs packages, so all scores are 1. */
function objectOf(found: IndexedPackage): object {
  const { name } = found;
  const scope = name.startsWith("@") ? name.slice(1, name.indexOf("/")) : "unscoped";
  const score = { final: 1, detail: { quality: 1, popularity: 1, maintenance: 1 } };
  return { package: { ...found, scope, links: {} }, score, searchScore: 1 };
}

async function isKnown(url: string, authorization: string | undefined): Promise<boolean> {
  if (authorization === undefined) return false;
  const signal = AbortSignal.timeout(WHO_AM_I_MS);
  const response = await fetch(new URL(WHO_AM_I, url), { headers: { authorization }, signal });
  if (!response.ok) return false;
  const { username } = (await response.json()) as { username?: unknown };
  return typeof username === "string" && username !== "" && username !== "anonymous";
}

function number(asked: URLSearchParams, name: string): number | undefined {
  const value = asked.get(name);
  return value !== null && /^\d{1,9}$/u.test(value) ? Number(value) : undefined;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(body));
}
