/**
 * JSON calls to a foreign model endpoint: with a budget of retries, waits at rate limits, and bounds of time and bytes.
 *
 * Safe failures are retried: a lost connection, a broken answer, 408, 429 and 5xx. Waits double and are jittered; a wait that the endpoint
 * asks for holds back every call to it. Calls go through the proxies that the environment names. This file knows no dialect.
 */
import type { Dispatcher } from "undici";

import { type ErrorCode, messageOf, PrlError } from "../../errors.ts";
import { yieldInTurn } from "../../async/yield.ts";
import { LinkedAbort } from "../../async/linked-abort.ts";
import { Connections, EventStreamParser } from "../../inference-client/index.ts";
import { proxiesOf, proxyAgent } from "../../proxied-fetch.ts";
import { type StreamJoiner, StreamError } from "./stream-joiners.ts";
import { askedWait, pause, RateGate } from "./rate-gate.ts";

export interface HttpOptions {
  /** Base address, to which paths are added. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How often one call is sent again. */
  readonly maxRetries: number;
  /** Time for one attempt. */
  readonly timeoutMs: number;
  /** First wait before a retry; it doubles with each. */
  readonly backoffMs: number;
}

/** How a streamed answer is read. */
export interface StreamReading {
  /** Makes a new joiner for each attempt. */
  readonly joiner: () => StreamJoiner;
  /** Longest silence between two pieces. */
  readonly idleTimeoutMs: number;
  /** Called with the reply's text as it comes. A call that has passed text on is not tried again. */
  readonly onText?: (text: string) => void;
}

/** How one call is answered. */
export interface CallReading<Result> {
  readonly signal: AbortSignal;
  /** Reads the answer's text; an exception counts as a broken answer. */
  readonly read: (text: string) => Result;
  /** Absent: the answer comes as a whole. */
  readonly stream?: StreamReading;
}

const LONGEST_BACKOFF_MS = 30_000;
/** An endpoint that asks for a longer wait counts as closed. */
const LONGEST_ASKED_WAIT_MS = 300_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const SHOWN_CHARACTERS = 500;

/** A failed attempt, and whether and when it may be retried. */
class Failure extends PrlError {
  readonly retryable: boolean;
  readonly waitMs: number | null;

  constructor(
    code: ErrorCode,
    message: string,
    { retryable, waitMs = null, cause }: { retryable: boolean; waitMs?: number | null; cause?: unknown },
  ) {
    super(code, message, { cause });
    this.retryable = retryable;
    this.waitMs = waitMs;
  }
}

export class EndpointHttp {
  readonly #options: HttpOptions;
  readonly #connections: Promise<Dispatcher>;
  readonly #origin: string;
  /** Path of the base address. */
  readonly #base: string;
  readonly #gate = new RateGate();

  constructor(options: HttpOptions) {
    const url = options.url.replace(/\/+$/u, "");
    this.#options = { ...options, url };
    const { origin, pathname, search } = new URL(url);
    this.#base = pathname.replace(/\/+$/u, "") + search;
    this.#origin = origin;
    this.#connections = connectionsTo(origin);
    // The first call rejects with it.
    this.#connections.catch(() => undefined);
  }

  /**
   * Sends `body` and resolves to the result of `read`.
   * Errors: PRL_INFERENCE_UNREACHABLE, _TIMEOUT, _AUTH (401, 403), _RATE_LIMIT (429), _REQUEST (other 4xx), _UNSUPPORTED (501), _FAILED
   * (other 5xx), _ANSWER (half an answer, or nonsense), PRL_CONFIG_ENVIRONMENT when a variable names no proxy; an abort rejects with its reason.
   */
  async post<Result>(path: string, body: unknown, reading: CallReading<Result>): Promise<Result> {
    const { signal } = reading;
    const text = JSON.stringify(body);
    for (let attempt = 0; ; attempt++) {
      await this.#gate.pass(signal);
      try {
        return await this.#attempt(path, text, reading);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Failure) || !error.retryable) throw error;
        const waitMs = error.waitMs ?? jittered(this.#options.backoffMs * 2 ** attempt);
        if (attempt >= this.#options.maxRetries || waitMs > LONGEST_ASKED_WAIT_MS) throw gaveUp(error, attempt, waitMs);
        if (error.code === "PRL_INFERENCE_RATE_LIMIT" || error.waitMs !== null) this.#gate.shut(waitMs);
        else await pause(waitMs, signal);
      }
    }
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    const connections = await this.#connections.catch(() => null);
    await connections?.destroy();
  }

  async #attempt<Result>(path: string, body: string, reading: CallReading<Result>): Promise<Result> {
    const { signal, read, stream = null } = reading;
    const { url, headers, timeoutMs } = this.#options;
    const connections = await this.#connections;
    const what = `POST ${url}${path}`;
    const time = new LinkedAbort(signal).abortAfter(timeoutMs, () => new DOMException("too late", "TimeoutError"));
    let status: number | null = null;
    let text: string;
    try {
      const answer = await connections.request({
        origin: this.#origin,
        method: "POST",
        path: this.#base + path,
        headers: {
          "content-type": "application/json",
          accept: stream === null ? "application/json" : "text/event-stream",
          ...headers,
        },
        body,
        signal: time.signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      status = answer.statusCode;
      // A server that does not stream answers as a whole.
      const isStream = stream !== null && status < 300 && isEventStream(answer.headers["content-type"]);
      text = isStream ? await joinStream(answer.body, what, stream) : await readText(answer.body, what);
      const waitMs = askedWait(answer.headers, Date.now());
      if (status < 200 || status >= 300) throw refusal(what, status, text, waitMs);
      if (waitMs !== null) this.#gate.shut(Math.min(waitMs, LONGEST_ASKED_WAIT_MS));
    } catch (cause) {
      if (cause instanceof Failure) throw cause;
      if (time.isLate)
        throw new Failure("PRL_INFERENCE_TIMEOUT", `${what}: no answer within ${timeoutMs} ms`, {
          retryable: true,
          cause,
        });
      if (status !== null)
        throw new Failure("PRL_INFERENCE_ANSWER", `${what}: the answer broke off`, { retryable: true, cause });
      throw new Failure("PRL_INFERENCE_UNREACHABLE", `${what}: the server does not answer`, { retryable: true, cause });
    } finally {
      time.release();
    }
    // Answers arrive in bursts, so each is handled in a separate turn of the event loop.
    await yieldInTurn();
    try {
      return read(text);
    } catch (cause) {
      const problem = messageOf(cause);
      const message = `${what}: the answer makes no sense: ${problem.slice(0, SHOWN_CHARACTERS)}`;
      throw new Failure("PRL_INFERENCE_ANSWER", message, { retryable: true, cause });
    }
  }
}

async function connectionsTo(origin: string): Promise<Dispatcher> {
  const proxied = await proxyAgent(proxiesOf(process.env), origin);
  return proxied ?? new Connections(origin, { connections: Infinity, keepAliveTimeout: 30_000 });
}

async function readText(body: Dispatcher.ResponseData["body"], what: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bounded(body, what)) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

async function* bounded(body: Dispatcher.ResponseData["body"], what: string): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES)
      throw new Failure("PRL_INFERENCE_ANSWER", `${what}: the answer is larger than ${MAX_ANSWER_BYTES} bytes`, {
        retryable: false,
      });
    yield chunk;
  }
}

function isEventStream(type: string | string[] | undefined): boolean {
  return [type].flat()[0]?.trim().toLowerCase().startsWith("text/event-stream") ?? false;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

/** The whole answer. An abort of the attempt rejects with its own error. */
async function joinStream(
  body: Dispatcher.ResponseData["body"],
  what: string,
  { joiner, idleTimeoutMs, onText }: StreamReading,
): Promise<string> {
  const parser = new EventStreamParser();
  const joined = joiner();
  let isHeard = false;
  const failed = (code: ErrorCode, problem: string, cause?: unknown): Failure =>
    new Failure(code, `${what}: ${problem}`, { retryable: !isHeard, cause });
  const timer = setTimeout(() => {
    body.destroy(failed("PRL_INFERENCE_TIMEOUT", `the stream was silent for ${idleTimeoutMs} ms`));
  }, idleTimeoutMs);
  try {
    for await (const chunk of bounded(body, what)) {
      timer.refresh();
      for (const event of parser.push(chunk)) {
        const text = joined.push(event);
        if (text === "" || onText === undefined) continue;
        isHeard = true;
        onText(text);
      }
    }
    return joined.whole();
  } catch (cause) {
    if (cause instanceof Failure || (isAbort(cause) && !isHeard)) throw cause;
    if (isAbort(cause)) throw failed("PRL_INFERENCE_TIMEOUT", "the stream did not end in time", cause);
    const problem = messageOf(cause);
    if (cause instanceof StreamError) throw failed("PRL_INFERENCE_FAILED", `in its stream: ${problem}`, cause);
    throw failed("PRL_INFERENCE_ANSWER", `the stream broke off or makes no sense: ${problem}`, cause);
  } finally {
    clearTimeout(timer);
  }
}

/** Codes for a prompt that is too long, in our server and OpenAI's API; texts in vLLM and Anthropic's API. */
const CONTEXT_CODES: ReadonlySet<string> = new Set(["PRL_INFERENCE_CONTEXT", "context_length_exceeded"]);
const TOO_LONG = /maximum context length|longer than the maximum model length|prompt is too long/iu;

function refusal(what: string, status: number, text: string, waitMs: number | null): Failure {
  const { message, code, type } = errorBody(text);
  const outOfMoney = code === "insufficient_quota" || type === "insufficient_quota";
  const retryable =
    status === 408 || (status === 429 && !outOfMoney) || (status >= 500 && status !== 501 && status !== 505);
  const isTooLong = status === 400 && (CONTEXT_CODES.has(String(code)) || TOO_LONG.test(message));
  return new Failure(isTooLong ? "PRL_INFERENCE_CONTEXT" : codeOf(status), `${what}: status ${status}: ${message}`, {
    retryable,
    waitMs: retryable ? waitMs : null,
  });
}

function codeOf(status: number): ErrorCode {
  if (status === 401 || status === 403) return "PRL_INFERENCE_AUTH";
  if (status === 408 || status === 504) return "PRL_INFERENCE_TIMEOUT";
  if (status === 429) return "PRL_INFERENCE_RATE_LIMIT";
  if (status === 501) return "PRL_INFERENCE_UNSUPPORTED";
  return status >= 400 && status < 500 ? "PRL_INFERENCE_REQUEST" : "PRL_INFERENCE_FAILED";
}

/** OpenAI's and Anthropic's `{error: {message, code?, type?}}`, else the plain text. */
function errorBody(text: string): { message: string; code?: unknown; type?: unknown } {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown; code?: unknown; type?: unknown } };
    if (typeof error?.message === "string") return { ...error, message: error.message.slice(0, SHOWN_CHARACTERS) };
  } catch {
    // Not JSON: a proxy's page.
  }
  return { message: text.slice(0, SHOWN_CHARACTERS) };
}

/** A random time between half of the wait and all of it. What is sampled does not depend on it. */
function jittered(ms: number): number {
  return Math.min(ms, LONGEST_BACKOFF_MS) * (0.5 + Math.random() / 2);
}

function gaveUp(error: Failure, retries: number, waitMs: number): PrlError {
  const seconds = Math.round(waitMs / 1000);
  const why = waitMs > LONGEST_ASKED_WAIT_MS ? `it asks to wait ${seconds} s` : `given up after ${retries} retries`;
  return new PrlError(error.code, `${error.message} (${why})`, { cause: error.cause });
}
