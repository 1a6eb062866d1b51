/**
 * Notices a sandbox daemon that hangs. It has no lifeline, so it is asked for its health, over the socket and the service that env workers use: an answer
 * has gone through its main loop.
 *
 * This only waits: the process that started the daemon ends it.
 */
import { setTimeout as sleep } from "node:timers/promises";

import { messageOf } from "../../errors.ts";
import { SandboxPool } from "../../sandbox/index.ts";

/** As often as the heartbeats of other processes come. */
const INTERVAL_MS = 1_000;
/** A tick this late means that this process itself stood still, as on a laptop that slept: then the daemon could not be heard. */
const STANDSTILL_MS = 5_000;

export interface DaemonWatch {
  /** `unix:/path` */
  readonly address: string;
  /** Longest silence. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** Gets the reason once when a daemon that has answered gives no answer. */
  readonly note: (text: string) => void;
}

/** Resolves to true when the daemon, which is ready, has been silent for `limitMs`; to false when the signal is aborted. */
export async function daemonHangs(watch: DaemonWatch): Promise<boolean> {
  const { limitMs, signal } = watch;
  const over = new AbortController();
  const last = { answer: performance.now() };
  // Its last question may wait for an answer that does not come.
  void askAgainAndAgain({ ...watch, signal: AbortSignal.any([signal, over.signal]) }, () => {
    last.answer = performance.now();
  });
  try {
    for (let before = performance.now(); !signal.aborted; before = performance.now()) {
      await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
      const now = performance.now();
      if (now - before > STANDSTILL_MS) last.answer = now;
      else if (now - last.answer > limitMs && !signal.aborted) return true;
    }
    return false;
  } finally {
    over.abort();
  }
}

async function askAgainAndAgain({ address, signal, note }: DaemonWatch, answered: () => void): Promise<void> {
  let pool: SandboxPool | null = null;
  let isSilent = false;
  while (!signal.aborted) {
    try {
      pool ??= await SandboxPool.connect({ addresses: [address] });
      await pool.health();
      answered();
      isSilent = false;
    } catch (error) {
      if (!isSilent && !signal.aborted) note(`the sandbox daemon gives no answer: ${messageOf(error)}`);
      isSilent = true;
    }
    await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
  await pool?.close();
}
