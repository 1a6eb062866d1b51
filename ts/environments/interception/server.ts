/**
 * The interception server: a model endpoint for agent programs, in three dialects, for any number of rollouts at the same time.
 *
 * The key of a request names the rollout. A stream sends a reply as it is sampled, as far as it is certain, and calls of tools at its end;
 * between them it sends signs of life. A reply that fails is in no trace, even if the agent has got a part of it. Every error is in the
 * dialect and makes SDKs not try again, because useful retries were already made. Bodies are bounded, each and together; a request ends with its rollout.
 * This file knows no sandbox.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { exactJson, parseExact, rounded } from "../../exact-json.ts";
import { checkOptions, number, only } from "../../options.ts";
import {
  type AgentRequest,
  chatCompletions,
  type Dialect,
  eventText,
  messages,
  openaiError,
  responses,
  type StreamEvent,
} from "../../dialects/index.ts";
import { BodyRoom } from "./body-room.ts";
import { toProblem } from "./problem.ts";
import { type AnswerOnItsWay, InterceptionSession, type SessionParts } from "./session.ts";

export interface InterceptionOptions {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default: a free port. */
  port?: number;
  /** Limit of a request's body. Default 32 MiB. */
  maxBodyBytes?: number;
  /**
   * Limit of the bodies of all requests that are not answered yet, and a quarter of it, or one body, for those of one rollout: further requests wait.
   * Default 512 MiB.
   */
  maxOpenBytes?: number;
  /** How often a stream without new text sends a sign of life. Default 3000. */
  keepAliveMs?: number;
  /** How long a body may take to arrive, from when it has room on. Default 120,000. */
  bodyMs?: number;
}

const optionsSchema = only<InterceptionOptions>({
  host: z.string().optional(),
  port: number.optional(),
  maxBodyBytes: number.optional(),
  maxOpenBytes: number.optional(),
  keepAliveMs: number.optional(),
  bodyMs: number.optional(),
});

/** An agent program's way to the policy. */
export interface Interception {
  readonly session: InterceptionSession;
  /** Refuses every request from now on. */
  readonly close: () => void;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_OPEN_BYTES = 16 * MAX_BODY_BYTES;
/** The bound of one rollout, whose program must not keep out those of the others. */
const SHARE_OF_ONE = 1 / 4;
const KEEP_ALIVE_MS = 3_000;
const BODY_MS = 120_000;
const DIALECTS: Readonly<Record<string, Dialect>> = {
  "/chat/completions": chatCompletions,
  "/responses": responses,
  "/messages": messages,
};
/** The one model that an agent sees. */
const POLICY = { id: "policy", object: "model", created: 0, owned_by: "prl" };
const COUNT_TOKENS = "/messages/count_tokens";
const SSE = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

/** The bound of all agents of an env worker. `BodyRoom` bounds the bytes of their requests. */
const MOST_CONNECTIONS = 4_096;

export class InterceptionServer {
  readonly #server: Server;
  readonly #sessions = new Map<string, InterceptionSession>();
  readonly #maxBodyBytes: number;
  readonly #room: BodyRoom;
  readonly #keepAliveMs: number;
  readonly #bodyMs: number;

  private constructor(options: InterceptionOptions) {
    const { maxBodyBytes = MAX_BODY_BYTES, maxOpenBytes = MAX_OPEN_BYTES, keepAliveMs = KEEP_ALIVE_MS } = options;
    this.#maxBodyBytes = maxBodyBytes;
    const most = Math.max(maxBodyBytes, maxOpenBytes);
    this.#room = new BodyRoom(most, Math.max(maxBodyBytes, SHARE_OF_ONE * most));
    this.#keepAliveMs = keepAliveMs;
    this.#bodyMs = options.bodyMs ?? BODY_MS;
    // Node's limit would count the time in which a request waits for room, and answer in no dialect.
    this.#server = createServer({ requestTimeout: 0 }, (request, response) => {
      // A request that is refused is answered before its body has come.
      response.once("finish", () => this.#endWhenLate(request));
      void this.#handle(request, response);
    });
    this.#server.maxConnections = MOST_CONNECTIONS;
    // The server must not keep alive a program that waits for nothing else.
    this.#server.unref();
  }

  /** Errors: PRL_IO when it cannot listen. */
  static async start(options: InterceptionOptions = {}): Promise<InterceptionServer> {
    checkOptions("PRL_ENVIRONMENT_INVALID", "InterceptionServer.start", optionsSchema, options);
    const { host = "127.0.0.1", port = 0 } = options;
    const interception = new InterceptionServer(options);
    await new Promise<void>((resolve, reject) => {
      interception.#server.once("error", (cause) => {
        reject(new PrlError("PRL_IO", `the interception server cannot listen on ${host}:${port}`, { cause }));
      });
      interception.#server.listen(port, host, resolve);
    });
    return interception;
  }

  /** `host:port`. */
  get address(): string {
    const { address, port, family } = this.#server.address() as AddressInfo;
    return family === "IPv6" ? `[${address}]:${port}` : `${address}:${port}`;
  }

  /** Base address for Anthropic's SDKs; OpenAI's want `/v1` behind it. */
  get url(): string {
    return `http://${this.address}`;
  }

  open(parts: SessionParts): Interception {
    const session = new InterceptionSession(parts);
    this.#sessions.set(session.key, session);
    return { session, close: () => void this.#sessions.delete(session.key) };
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request);
    const dialect = DIALECTS[path] ?? (path === COUNT_TOKENS ? messages : chatCompletions);
    try {
      await this.#route(request, response, path, dialect);
    } catch (error) {
      sendJson(response, statusOf(error), dialect.error(toProblem(error)));
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse, path: string, dialect: Dialect): Promise<void> {
    const isModels = request.method === "GET" && path === "/models";
    const isCount = path === COUNT_TOKENS;
    if (!isModels && (request.method !== "POST" || (DIALECTS[path] === undefined && !isCount))) {
      const known = [...Object.keys(DIALECTS), COUNT_TOKENS].map((one) => `POST /v1${one}`).join(", ");
      const message = `${request.method ?? ""} ${path} is not served here; there are ${known}`;
      sendJson(response, 404, openaiError({ status: 404, code: "PRL_AGENT_UNSUPPORTED", message }));
      return;
    }
    const session = this.#sessionOf(request);
    if (isModels) {
      sendJson(response, 200, { object: "list", data: [POLICY] });
      return;
    }
    const body = await this.#readBody(request, response, session);
    // The rollout may have ended while the body came, and takes no turn while it is scored.
    this.#sessionOf(request);
    const asked = withRoundedNumbers(dialect.read(parseJson(body)));
    if (isCount) {
      sendJson(response, 200, { input_tokens: await session.countTokens(asked) });
      return;
    }
    const arrival = {
      digest: InterceptionSession.digest(dialect.name, body),
      idempotencyKey: headerOf(request, "idempotency-key"),
      isRetry: Number(headerOf(request, "x-stainless-retry-count") ?? 0) > 0,
      isContinued: dialect === responses,
    };
    const left = new Promise<boolean>((resolve) => {
      response.once("close", () => resolve(response.writableFinished));
    });
    const coming = session.answer(asked, arrival, left);
    if (asked.stream) await this.#stream(response, dialect, asked, coming);
    else sendJson(response, 200, dialect.answer(await coming.reply));
  }

  /** The body, which has room until the connection is done with the answer. */
  async #readBody(request: IncomingMessage, response: ServerResponse, session: object): Promise<Buffer> {
    const said = Number(headerOf(request, "content-length") ?? this.#maxBodyBytes);
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const room = await this.#room.enter(session, Math.min(said, this.#maxBodyBytes), gone.signal);
    if (gone.signal.aborted) room.leave();
    else gone.signal.addEventListener("abort", () => room.leave(), { once: true });
    const stop = this.#endWhenLate(request);
    try {
      const body = await readBody(request, this.#maxBodyBytes);
      room.shrink(body.byteLength);
      return body;
    } finally {
      stop();
    }
  }

  /** Ends the connection of a request whose body does not come to its end in time; the returned function takes that back. */
  #endWhenLate(request: IncomingMessage): () => void {
    if (request.complete) return () => undefined;
    const timer = setTimeout(() => request.destroy(), this.#bodyMs).unref();
    const stop = (): void => clearTimeout(timer);
    request.once("close", stop);
    return stop;
  }

  /** Errors: PRL_AGENT_KEY. */
  #sessionOf(request: IncomingMessage): InterceptionSession {
    const session = this.#sessions.get(keyOf(request));
    if (session !== undefined) return session;
    throw new PrlError(
      "PRL_AGENT_KEY",
      "the key is of no rollout that is under way; it goes into authorization or x-api-key",
    );
  }

  /** Errors before the first sign of life are sent with their HTTP status. */
  async #stream(
    response: ServerResponse,
    dialect: Dialect,
    request: AgentRequest,
    { head, reply, progress }: AnswerOnItsWay,
  ): Promise<void> {
    const send = (text: string): void => {
      if (response.destroyed) return;
      if (!response.headersSent) response.writeHead(200, SSE);
      response.write(text);
    };
    const writer = dialect.stream(head, request);
    const alive = setInterval(() => send(": alive\n\n"), this.#keepAliveMs);
    response.once("close", () => clearInterval(alive));
    const stopListening = progress.listen((soFar) => send(eventText(writer.grow(soFar))));
    let events: readonly StreamEvent[];
    try {
      events = writer.end(await reply);
    } catch (error) {
      if (!response.headersSent) throw error;
      events = [dialect.errorEvent(toProblem(error))];
    } finally {
      clearInterval(alive);
      stopListening();
    }
    if (!response.headersSent) response.writeHead(200, SSE);
    response.end(eventText(events));
  }
}

/** The path without the version, which only some SDKs put before it. */
function pathOf(request: IncomingMessage): string {
  const [path = "/"] = (request.url ?? "/").split("?");
  return path.replace(/^(\/v\d+)+(?=\/)/u, "").replace(/(?<=.)\/+$/u, "");
}

function headerOf(request: IncomingMessage, name: string): string | null {
  return [request.headers[name]].flat()[0] ?? null;
}

function keyOf(request: IncomingMessage): string {
  const bearer = /^bearer\s+(.*)$/iu.exec(headerOf(request, "authorization") ?? "")?.[1];
  return (bearer ?? headerOf(request, "x-api-key") ?? "").trim();
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const encoding = headerOf(request, "content-encoding") ?? "identity";
  if (encoding !== "identity") throw new PrlError("PRL_AGENT_UNSUPPORTED", `content-encoding: ${encoding}`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new BodyTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

class BodyTooLarge extends PrlError {
  constructor(maxBytes: number) {
    super("PRL_AGENT_REQUEST", `body: larger than ${maxBytes} bytes`);
  }
}

function statusOf(error: unknown): number {
  return error instanceof BodyTooLarge ? 413 : toProblem(error).status;
}

function parseJson(body: Buffer): unknown {
  try {
    return parseExact(body.toString("utf8"));
  } catch (cause) {
    throw new PrlError("PRL_AGENT_REQUEST", "body: it is no JSON", { cause });
  }
}

/** Rounds numbers of what becomes a part of the rollout's record, which is plain JSON; arguments of calls are texts. */
function withRoundedNumbers(asked: AgentRequest): AgentRequest {
  return { ...asked, tools: rounded(asked.tools), format: rounded(asked.format) };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const retry = status >= 400 ? { "x-should-retry": "false" } : {};
  // The rest of a body that is too large is not read, so the connection is closed.
  const rest = status === 413 ? { connection: "close" } : {};
  response.writeHead(status, { "content-type": "application/json", ...retry, ...rest });
  response.end(exactJson(body));
}
