/**
 * One HTTP exchange with an inference server: JSON out, JSON in, a deadline, errors with our codes.
 *
 * The sampling client and the admin client use it, each with its own connection pool.
 */
import type { Dispatcher } from "undici";

import { untilAborted } from "../async/deadline.ts";
import { PrlError, type ErrorCode } from "../errors.ts";
import { EventStreamParser } from "./server-events.ts";

export interface Exchange {
  method: "GET" | "POST";
  /** Path and query. */
  path: string;
  /** JSON text of the body. */
  body?: string;
  headers?: Record<string, string>;
  /** Deadline of the whole exchange. */
  deadlineMs: number;
  signal?: AbortSignal | undefined;
  /** How often it is sent again when the server could not be reached or the connection broke. Set it only where a repetition is safe. */
  retries: number;
  /** Called with the data of each server-sent event of a 2xx answer; after the first call nothing is sent again. */
  onEvent?: (data: string) => void;
}

/** An answer other than 2xx. */
export class InferenceHttpError extends PrlError {
  readonly status: number;
  /** The server's own code, if it sent one. */
  readonly serverCode: string | null;

  constructor(code: ErrorCode, message: string, status: number, serverCode: string | null) {
    super(code, message);
    this.status = status;
    this.serverCode = serverCode;
  }
}

const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 2_000;
/** Failures of undici and Node that mean: no answer, whether or not the request arrived. */
const CONNECTION_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_DESTROYED",
  "UND_ERR_CLOSED",
]);

/**
 * The body of a 2xx answer as text, empty where `onEvent` got it. Errors: PRL_INFERENCE_UNREACHABLE (no connection),
 * PRL_INFERENCE_TIMEOUT (the deadline), PRL_INFERENCE_CONTEXT (a prompt that is too long), PRL_INFERENCE_RATE_LIMIT (429), PRL_INFERENCE_AUTH (401),
 * PRL_INFERENCE_REQUEST (other 4xx), PRL_INFERENCE_UNSUPPORTED (501), PRL_INFERENCE_FAILED (other); an abort rejects with its reason.
 */
export async function exchange(dispatcher: Dispatcher, url: string, request: Exchange): Promise<string> {
  const { signal } = request;
  signal?.throwIfAborted();
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, request.deadlineMs);
  const what = `${request.method} ${url}${request.path}`;
  try {
    // undici hears of an abort only when the request has a connection, for which it may wait behind others.
    return await untilAborted(sendWithRetries(dispatcher, url, request, controller.signal), controller.signal);
  } catch (error) {
    if (timedOut)
      throw new PrlError("PRL_INFERENCE_TIMEOUT", `${what}: no answer within ${request.deadlineMs} ms`, {
        cause: error,
      });
    if (signal?.aborted === true) throw signal.reason;
    throw explained(error, what);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

async function sendWithRetries(
  dispatcher: Dispatcher,
  url: string,
  request: Exchange,
  signal: AbortSignal,
): Promise<string> {
  const { onEvent } = request;
  let heard = false;
  const hearing = onEvent && { onEvent: (data: string) => ((heard = true), onEvent(data)) };
  for (let attempt = 0; ; attempt++) {
    try {
      return await send(dispatcher, url, { ...request, ...hearing }, signal);
    } catch (error) {
      if (heard || attempt >= request.retries || signal.aborted || !isConnectionError(error)) throw error;
      await backoff(attempt, signal);
    }
  }
}

async function send(dispatcher: Dispatcher, url: string, request: Exchange, signal: AbortSignal): Promise<string> {
  const response = await dispatcher.request({
    origin: url,
    method: request.method,
    path: request.path,
    headers:
      request.body === undefined ? { ...request.headers } : { "content-type": "application/json", ...request.headers },
    body: request.body ?? null,
    signal,
    // The exchange has its own deadline.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  if (request.onEvent !== undefined && response.statusCode === 200) {
    const events = new EventStreamParser();
    for await (const bytes of response.body as AsyncIterable<Uint8Array>)
      for (const { data } of events.push(bytes)) request.onEvent(data);
    return "";
  }
  const text = await response.body.text();
  if (response.statusCode >= 200 && response.statusCode < 300) return text;
  throw httpError(`${request.method} ${url}${request.path}`, response.statusCode, text);
}

/** Codes of our server that say more than its status: what is wrong with weights, and with a key. */
const OWN_CODES: ReadonlySet<string | null> = new Set<ErrorCode>([
  "PRL_INFERENCE_AUTH",
  "PRL_INFERENCE_FOLDER",
  "PRL_WEIGHTS_SUPERSEDED",
  "PRL_WEIGHTS_MANIFEST",
  "PRL_WEIGHTS_DIGEST",
  "PRL_WEIGHTS_IO",
]);

function isOwn(code: string | null): code is ErrorCode {
  return OWN_CODES.has(code);
}

/** vLLM has no code for a prompt that is too long. */
const VLLM_CONTEXT = /maximum context length|longer than the maximum model length/iu;

/** The error in an answer other than 2xx, or in an event of a stream that the server ends early. */
export function httpError(what: string, status: number, text: string): InferenceHttpError {
  const { code, message } = errorBody(text);
  const ours: ErrorCode =
    status === 501
      ? "PRL_INFERENCE_UNSUPPORTED"
      : status === 504
        ? "PRL_INFERENCE_TIMEOUT"
        : status === 429
          ? "PRL_INFERENCE_RATE_LIMIT"
          : isOwn(code)
            ? code
            : status === 401
              ? "PRL_INFERENCE_AUTH"
              : status < 400 || status >= 500
                ? "PRL_INFERENCE_FAILED"
                : code === "PRL_INFERENCE_CONTEXT" || VLLM_CONTEXT.test(message)
                  ? "PRL_INFERENCE_CONTEXT"
                  : "PRL_INFERENCE_REQUEST";
  const detail = code === null ? message : `[${code}] ${message}`;
  return new InferenceHttpError(ours, `${what}: status ${status}: ${detail}`, status, code);
}

const SHOWN_CHARACTERS = 500;

function errorBody(text: string): { code: string | null; message: string } {
  try {
    const body = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
    const code = typeof body.error?.code === "string" ? body.error.code : null;
    if (typeof body.error?.message === "string") return { code, message: body.error.message };
  } catch {
    // Not JSON: a proxy, or another server. The text is shown as it is.
  }
  return { code: null, message: text.slice(0, SHOWN_CHARACTERS) };
}

function explained(error: unknown, what: string): unknown {
  if (error instanceof PrlError) return error;
  if (isConnectionError(error)) {
    return new PrlError("PRL_INFERENCE_UNREACHABLE", `${what}: the server does not answer`, { cause: error });
  }
  return new PrlError("PRL_INFERENCE_FAILED", `${what} failed`, { cause: error });
}

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error && typeof error.code === "string" && CONNECTION_CODES.has(error.code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isConnectionError);
  return isConnectionError(error.cause);
}

/** Full jitter: a uniform share of a wait that doubles. What is sampled does not depend on retries, so the wait may be random. */
async function backoff(attempt: number, signal: AbortSignal): Promise<void> {
  const longest = Math.min(FIRST_BACKOFF_MS * 2 ** attempt, LONGEST_BACKOFF_MS);
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, Math.random() * longest);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
