/**
 * Watches the parts of a run over ssh, and ends them: when trainer and orchestrator are done, at the first failure, and when the user stops the run.
 * When it returns, no session is left.
 */
import { join } from "node:path";

import { untilAborted } from "../../async/deadline.ts";
import { PrlError } from "../../errors.ts";
import { failureOfProcess } from "../../failure-note.ts";
import { describeExit, readTail } from "../processes/child-process.ts";
import type { HostSession, PartEnd } from "./host-session.ts";

export interface WatchOptions {
  /** Folder of the logs of the attempt. */
  readonly logs: string;
  readonly signal: AbortSignal;
  /** Aborted: the parts are killed instead of stopped. */
  readonly hurry: AbortSignal;
}

/** Resolves when all parts that work have ended with 0. Errors: that of the first part which failed or was lost, `PRL_RUN_INTERRUPTED`. */
export async function watchParts(sessions: readonly HostSession[], options: WatchOptions): Promise<void> {
  const { signal, hurry, logs } = options;
  const kill = (): void => {
    for (const session of sessions) session.kill();
  };
  hurry.addEventListener("abort", kill, { once: true });
  try {
    const failures = sessions.map((session) => failureOf(session, logs));
    const works = sessions.filter(({ part }) => part.kind === "work").map((session) => successOf(session));
    await untilAborted(Promise.race([...failures, Promise.all(works)]), signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const by = typeof signal.reason === "string" ? ` by ${signal.reason}` : "";
    throw new PrlError("PRL_RUN_INTERRUPTED", `the run was interrupted${by}`);
  } finally {
    await Promise.all(sessions.map((session) => session.stop()));
    hurry.removeEventListener("abort", kill);
  }
}

/** Rejects when the part fails, which for one that serves is any end; never resolves. */
async function failureOf(session: HostSession, logs: string): Promise<never> {
  const { part } = session;
  const end = await session.ended;
  if (end.how === "lost") throw end.error;
  if (part.kind === "work" && end.code === 0) return new Promise<never>(() => undefined);
  throw await endError(session, end, join(logs, `${part.name}.log`));
}

/** Resolves when the part has ended with 0; `failureOf` has its other ends. */
async function successOf({ ended }: HostSession): Promise<void> {
  const end = await ended;
  if (end.how === "lost" || end.code !== 0) await new Promise<never>(() => undefined);
}

async function endError(
  { part }: HostSession,
  end: Extract<PartEnd, { how: "ended" }>,
  log: string,
): Promise<PrlError> {
  const exit = describeExit({ code: end.code, signal: end.signal as NodeJS.Signals | null });
  const tail = await readTail(log);
  const advice = "prl launch ssh ... --resume goes on from the newest checkpoint";
  const died = new PrlError(
    "PRL_PROCESS_DIED",
    `${part.name} on ${part.host.name} ended unexpectedly (${exit}); ${advice}; the end of its log:\n${tail}`,
  );
  return failureOfProcess(`${part.name} on ${part.host.name}`, end.note, died);
}
