/** A gate where all calls to one endpoint wait while it takes no requests. */
import { setTimeout as sleep } from "node:timers/promises";

/** Waiting calls start spread over this time. */
const SPREAD_MS = 500;

export class RateGate {
  #opensAt = 0;

  /** Resolves when the gate is open; rejects with the signal's reason. */
  async pass(signal: AbortSignal): Promise<void> {
    for (let wait = this.#opensAt - performance.now(); wait > 0; wait = this.#opensAt - performance.now()) {
      await pause(wait + Math.random() * Math.min(wait, SPREAD_MS), signal);
    }
  }

  /** Keeps the gate shut for this long from now, or longer when it was already shut for longer. */
  shut(ms: number): void {
    this.#opensAt = Math.max(this.#opensAt, performance.now() + ms);
  }
}

/** A wait that ends early, with the signal's reason, when it is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/**
 * How long the headers of an answer ask to wait (milliseconds), null when they do not: `retry-after-ms`, `retry-after` in seconds or as a
 * date, and the reset times of OpenAI and Anthropic once no request is left.
 */
export function askedWait(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  now: number,
): number | null {
  const header = (name: string): string | undefined => [headers[name]].flat()[0];
  const ms = Number(header("retry-after-ms") ?? Number.NaN);
  if (ms >= 0) return ms;
  const after = header("retry-after");
  if (after !== undefined) return /^\s*\d+(\.\d+)?\s*$/u.test(after) ? Number(after) * 1000 : untilDate(after, now);
  if (header("x-ratelimit-remaining-requests") === "0") return duration(header("x-ratelimit-reset-requests") ?? "");
  if (header("anthropic-ratelimit-requests-remaining") === "0")
    return untilDate(header("anthropic-ratelimit-requests-reset") ?? "", now);
  return null;
}

function untilDate(text: string, now: number): number | null {
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `6m0s`, `1.5s`, `20ms`. */
function duration(text: string): number | null {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gu)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return null;
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit ?? ""] ?? 0), 0);
}
