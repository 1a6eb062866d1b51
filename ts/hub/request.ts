/** One request to the hub: its token, its retries, and the codes of its failures. */
import { setTimeout as sleep } from "node:timers/promises";

import { messageOf, PrlError } from "../errors.ts";
import { proxiedFetch } from "../proxied-fetch.ts";
import type { HubSettings } from "./settings.ts";

export interface HubRequest {
  readonly url: string;
  /** Name of the requested thing, for messages: `the dataset owner/name`. */
  readonly what: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses besides 200 that are answers. */
  readonly accept?: readonly number[];
  readonly signal?: AbortSignal | undefined;
}

/** A failure that may disappear when the request is tried again. */
export class PassingFailure extends Error {
  readonly waitMs: number;

  constructor(message: string, { waitMs = 0, cause }: { waitMs?: number; cause?: unknown } = {}) {
    super(message, { cause });
    this.waitMs = waitMs;
  }
}

/**
 * Repeats `work` while it fails with a `PassingFailure`. `progress()` resets the count of failures.
 * Errors: PRL_HUB_UNREACHABLE after too many in a row; any other error of `work`; the signal's reason.
 */
export async function withRetries<Result>(
  settings: HubSettings,
  what: string,
  signal: AbortSignal | undefined,
  work: (progress: () => void) => Promise<Result>,
): Promise<Result> {
  let failures = 0;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await work(() => (failures = 0));
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof PassingFailure)) throw error;
      failures += 1;
      if (failures >= settings.attempts) {
        const advice =
          "HF_ENDPOINT names another hub, HF_HUB_OFFLINE=1 takes what the cache has, a local file needs none";
        const message = `${what}: ${settings.endpoint} does not give it (${failures} attempts): ${error.message}; ${advice}`;
        throw new PrlError("PRL_HUB_UNREACHABLE", message, { cause: error.cause });
      }
      const doubled = settings.backoffMs * 2 ** (failures - 1);
      const wait = Math.max(error.waitMs, doubled * (0.5 + Math.random() / 2));
      await sleep(Math.min(wait, settings.longestWaitMs), undefined, signal === undefined ? {} : { signal });
    }
  }
}

/**
 * The answer's head has come; the body has not. Redirects are followed, the token stays with the hub's own host.
 * Throws PassingFailure, PRL_HUB_AUTH, PRL_HUB_UNKNOWN, PRL_HUB_ANSWER, PRL_CONFIG_ENVIRONMENT (a proxy that is none).
 */
export async function request(settings: HubSettings, asked: HubRequest): Promise<Response> {
  const { url, what, headers = {}, accept = [] } = asked;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), settings.answerMs);
  const signal = asked.signal === undefined ? late.signal : AbortSignal.any([asked.signal, late.signal]);
  const authorization = settings.token === null ? {} : { authorization: `Bearer ${settings.token}` };
  let response: Response;
  try {
    response = await proxiedFetch(settings.proxies, url, { headers: { ...headers, ...authorization }, signal });
  } catch (cause) {
    asked.signal?.throwIfAborted();
    if (cause instanceof PrlError) throw cause;
    const why = late.signal.aborted ? `no answer within ${settings.answerMs} ms` : connectionText(cause);
    throw new PassingFailure(why, { cause });
  } finally {
    clearTimeout(timer);
  }
  if (response.status === 200 || accept.includes(response.status)) return response;
  await response.body?.cancel();
  throw failureOf(response, what);
}

/** The socket's error is the cause of the cause. */
function connectionText(cause: unknown): string {
  const inner = cause instanceof Error ? cause.cause : undefined;
  return `the connection failed${inner instanceof Error ? ` (${messageOf(inner)})` : ""}`;
}

function failureOf(response: Response, what: string): Error {
  const { status } = response;
  const reason = response.headers.get("x-error-message") ?? response.statusText;
  const code = response.headers.get("x-error-code");
  // The hub answers 401 for a missing dataset, too, to hide which private ones exist.
  if (code === "RepoNotFound" || code === "RevisionNotFound" || code === "EntryNotFound" || status === 404) {
    return new PrlError(
      "PRL_HUB_UNKNOWN",
      `${what}: there is none (${status} ${reason}); check the name, or set HF_TOKEN`,
    );
  }
  if (status === 401 || status === 403) {
    return new PrlError(
      "PRL_HUB_AUTH",
      `${what}: the hub refuses (${status} ${reason}); set HF_TOKEN to one that may read it`,
    );
  }
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const seconds = Number(response.headers.get("retry-after") ?? "0");
    return new PassingFailure(`${status} ${reason}`, { waitMs: Number.isFinite(seconds) ? 1000 * seconds : 0 });
  }
  return new PrlError("PRL_HUB_ANSWER", `${what}: the hub answers ${status} ${reason}`);
}

/** The next piece of a body, null at its end. Throws PassingFailure when it stalls or breaks. */
export async function nextPiece(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  stallMs: number,
): Promise<Uint8Array | null> {
  let timer: NodeJS.Timeout | undefined;
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new PassingFailure(`nothing came for ${stallMs} ms`)), stallMs);
  });
  try {
    const { done, value } = await Promise.race([reader.read(), stalled]);
    return done ? null : value;
  } catch (cause) {
    if (cause instanceof PassingFailure) throw cause;
    throw new PassingFailure("the connection broke", { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** A JSON answer of at most 64 MiB. Throws as `withRetries`; PRL_HUB_ANSWER when it is not JSON. */
export async function requestJson(
  settings: HubSettings,
  asked: HubRequest,
): Promise<{ readonly value: unknown; readonly headers: Headers }> {
  return withRetries(settings, asked.what, asked.signal, async () => {
    const response = await request(settings, asked);
    const reader = response.body?.getReader();
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    try {
      for (;;) {
        const piece = reader === undefined ? null : await nextPiece(reader, settings.stallMs);
        if (piece === null) break;
        pieces.push(piece);
        bytes += piece.length;
        if (bytes > LARGEST_JSON) throw new PrlError("PRL_HUB_ANSWER", `${asked.what}: the hub's answer has no end`);
      }
    } finally {
      await reader?.cancel().catch(() => undefined);
    }
    try {
      return { value: JSON.parse(Buffer.concat(pieces).toString("utf8")) as unknown, headers: response.headers };
    } catch (cause) {
      throw new PrlError("PRL_HUB_ANSWER", `${asked.what}: the hub's answer is no JSON`, { cause });
    }
  });
}

const LARGEST_JSON = 64 * 1024 * 1024;
