/**
 * Runs one stage of processes under supervision, and follows their metrics as they are written.
 *
 * The caller starts children and waits for them in `body`; whatever happens there, no child is left when it returns, and every line
 * of `metrics.jsonl` has been handed on.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { untilAborted } from "../../async/deadline.ts";

import { PrlError } from "../../errors.ts";
import { type MetricsLine, MetricsTail, readRunLoad, type RunLoad } from "../../monitors/index.ts";
import { Supervisor, SUPERVISOR_TIMES } from "../processes/supervisor.ts";

const POLL_INTERVAL_MS = 100;
/** Native work may go so many times as long as a main loop without a sign: one large file may be synced to a slow disk. */
const STANDSTILL_SILENCES = 10;
/** The run's load, and whether its directory is in its place, are checked once in this many polls. */
const POLLS_PER_LOOK = 5;

export interface StageOptions {
  runDir: string;
  /** Rejects when the run directory is no longer where it was. */
  checkDirectory?: () => Promise<void>;
  tail: MetricsTail;
  onLine: (line: MetricsLine) => void;
  /** Called with the run's load whenever that has changed. */
  onLoad?: (load: RunLoad) => void;
  /** Called with the supervisor before anything runs. */
  onSupervisor?: (supervisor: Supervisor) => void;
  signal: AbortSignal;
  /** A process that is ready and silent for this long is killed; Infinity: none is. Default: 30 s. */
  silenceMs?: number;
  /** When it is aborted, processes that are being stopped are killed at once. */
  hurry?: AbortSignal;
  /** The last checkpoint of a run that is interrupted. Absent: it makes none. */
  lastCheckpoint?: LastCheckpoint;
}

export interface LastCheckpoint {
  /** How long it may take. */
  limitMs: number;
  /** Called when the processes are asked for it. */
  onAsked: () => void;
  /** Called with whether they have made it. */
  onEnd: (isMade: boolean) => Promise<void>;
}

/**
 * Runs `body` with a supervisor; rejects with what fails first: the body, a child, or the signal (`PRL_RUN_INTERRUPTED`).
 */
export async function runStage<T>(options: StageOptions, body: (supervisor: Supervisor) => Promise<T>): Promise<T> {
  const { heartbeatTimeoutMs } = SUPERVISOR_TIMES;
  const silenceMs = options.silenceMs ?? heartbeatTimeoutMs;
  const times = { ...SUPERVISOR_TIMES, heartbeatTimeoutMs: silenceMs, standstillMs: STANDSTILL_SILENCES * silenceMs };
  const supervisor = new Supervisor(options.runDir, times);
  options.onSupervisor?.(supervisor);
  const following = new AbortController();
  const followed = follow(options, supervisor, following.signal);
  followed.catch(() => undefined);
  const kill = (): void => supervisor.kill();
  options.hurry?.addEventListener("abort", kill, { once: true });
  try {
    return await untilInterrupted(options.signal, () =>
      Promise.race([body(supervisor), supervisor.failure, never(followed)]),
    );
  } catch (error) {
    if (options.signal.aborted) await endWithCheckpoint(options, supervisor);
    throw error;
  } finally {
    try {
      await supervisor.stop();
    } finally {
      // Also when a child is not gone: what follows the metrics would never end.
      options.hurry?.removeEventListener("abort", kill);
      following.abort();
      await followed;
    }
  }
}

async function endWithCheckpoint({ hurry, lastCheckpoint }: StageOptions, supervisor: Supervisor): Promise<void> {
  if (lastCheckpoint === undefined || hurry?.aborted === true) return;
  const { limitMs, onAsked, onEnd } = lastCheckpoint;
  let isAsked = false;
  const isMade = await supervisor.endWithCheckpoint(limitMs, () => {
    isAsked = true;
    onAsked();
  });
  if (isAsked) await onEnd(isMade);
}

/**
 * Settles as `work` does, or rejects with `PRL_RUN_INTERRUPTED` as soon as the signal is aborted. A function is not called where it is aborted
 * already.
 */
export async function untilInterrupted<T>(signal: AbortSignal, work: Promise<T> | (() => Promise<T>)): Promise<T> {
  try {
    return await untilAborted(work, signal);
  } catch (error) {
    throw signal.aborted ? interruption(signal) : error;
  }
}

function interruption(signal: AbortSignal): PrlError {
  const by = typeof signal.reason === "string" ? ` by ${signal.reason}` : "";
  return new PrlError("PRL_RUN_INTERRUPTED", `the run was interrupted${by}`);
}

async function follow(options: StageOptions, { furthest }: Supervisor, end: AbortSignal): Promise<void> {
  let shown = "";
  for (let poll = 0; ; poll++) {
    const isLast = end.aborted;
    for await (const line of options.tail.poll()) {
      options.onLine(line);
      // Files from before the stage belong to an earlier attempt, which may have come further.
      if (poll > 0) furthest.note(line);
    }
    if (isLast) return;
    const looks = poll % POLLS_PER_LOOK === 0;
    if (looks) await options.checkDirectory?.();
    if (options.onLoad !== undefined && looks) {
      const load = await readRunLoad(options.runDir);
      const text = JSON.stringify(load);
      if (load !== null && text !== shown) options.onLoad(load);
      shown = text;
    }
    // A race with a promise that lasts as long as the run would keep something of each poll.
    await sleep(POLL_INTERVAL_MS, undefined, { signal: end }).catch(() => undefined);
  }
}

/** Takes only the rejection of a promise; when it resolves, the result stays pending. */
function never(work: Promise<void>): Promise<never> {
  return new Promise((_, reject) => {
    work.catch(reject);
  });
}
