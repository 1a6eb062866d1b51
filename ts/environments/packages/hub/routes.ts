/**
 * The requests that a hub answers itself: the search of npm's registries, `GET /-/v1/search`, and its pages, below `/-/hub/`, to which `/` leads. Every other
 * request is the registry's. Requests that change a package are noted in the index.
 *
 * Readers of a private hub prove themselves to the registry: it is asked who they are with their own header.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";

import { explain } from "../../../errors.ts";
import { type HubIndex, type IndexedPackage, packageOfPath } from "./package-index.ts";
import { CONTENT_POLICY } from "./page/document.ts";
import { LISTING_PATH } from "./page/paths.ts";
import { sitePage } from "./page/site.ts";

const SEARCH = "/-/v1/search";
const PAGES = "/-/hub/";
const WHO_AM_I = "-/whoami";
const WHO_AM_I_MS = 10_000;
const READS = ["GET", "HEAD", "OPTIONS"];

export interface HubRoutes {
  readonly index: HubIndex;
  /** Only readers with a token may search and see pages. */
  readonly isPrivate: boolean;
  /** Searches are answered from the index; false: by the registry, which asks another one too. */
  readonly searches: boolean;
  /** Address of the registry, known when it listens. */
  readonly url: () => string;
}

/** An answer that is not made yet, for a reader who may have it. */
type Answer = (response: ServerResponse) => Promise<void>;

/** Puts the hub's answers before what a server does with a request. The server has not listened yet. */
export function addRoutes(server: Server, routes: HubRoutes): void {
  const registry = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    // It is not parsed as a URL: "//" is a path that clients send, and no URL.
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    const answer = request.method === "GET" ? answerTo(routes, path, query) : null;
    if (answer !== null) {
      void answerReader(routes, { request, response, answer });
      return;
    }
    const name = READS.includes(request.method ?? "") ? null : packageOfPath(path);
    if (name !== null) response.once("close", routes.index.changing(name));
    for (const listener of registry) listener.call(server, request, response);
  });
}

function answerTo(routes: HubRoutes, path: string, query: string): Answer | null {
  if (path === SEARCH)
    return routes.searches ? (response) => search(routes, new URLSearchParams(query), response) : null;
  if (path === "/")
    return async (response) => void response.writeHead(302, { location: `${PAGES}${LISTING_PATH}` }).end();
  return path.startsWith(PAGES) ? (response) => page(routes, path.slice(PAGES.length), response) : null;
}

async function answerReader(
  { isPrivate, url }: HubRoutes,
  { request, response, answer }: { request: IncomingMessage; response: ServerResponse; answer: Answer },
): Promise<void> {
  try {
    if (isPrivate && !(await isKnown(url(), request.headers.authorization))) {
      // A browser asks for the name and the password of an account.
      response.setHeader("www-authenticate", 'Basic realm="hub of environments"');
      sendJson(response, 401, { error: "this hub is read with an account: prl env login" });
      return;
    }
    await answer(response);
  } catch (error) {
    sendJson(response, 500, { error: explain(error) });
  }
}

async function search({ index }: HubRoutes, asked: URLSearchParams, response: ServerResponse): Promise<void> {
  const { found, total } = await index.search(asked.get("text") ?? "", number(asked, "from"), number(asked, "size"));
  sendJson(response, 200, { objects: found.map(objectOf), total, time: new Date().toUTCString() });
}

async function page({ index, url }: HubRoutes, path: string, response: ServerResponse): Promise<void> {
  const text = await sitePage(decoded(path), { index, registry: url() });
  if (response.destroyed) return;
  response.writeHead(text === null ? 404 : 200, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": CONTENT_POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  });
  response.end(text ?? "<!doctype html><title>Not found</title><p>This hub has no such page.</p>");
}

/** A path that is wrongly encoded names no page. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** One result, in the form of npm's registries; nothing here weighs packages, so all scores are 1. */
function objectOf({ name, version, description, keywords }: IndexedPackage): object {
  const scope = name.startsWith("@") ? name.slice(1, name.indexOf("/")) : "unscoped";
  const score = { final: 1, detail: { quality: 1, popularity: 1, maintenance: 1 } };
  return { package: { name, version, description, keywords, scope, links: {} }, score, searchScore: 1 };
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
