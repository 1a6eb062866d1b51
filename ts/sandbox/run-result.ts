/** Turns native results into the results for users. */

import { constants } from "node:os";
import { PrlError } from "../errors.ts";
import type { NativeRunResult, NativeTestsResult } from "../native/index.ts";
import type { Isolation, LimitName, RunCause, RunResult, TestsResult } from "./types.ts";

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));
/** Signals that share a number get the name that programs print. */
for (const name of ["SIGABRT", "SIGIO", "SIGSYS"] as const) SIGNAL_NAMES.set(constants.signals[name], name);
const CODE_PREFIX = "PRL_SANDBOX_";

export function toRunResult(result: NativeRunResult): RunResult {
  const cause = result.cause as RunCause;
  return {
    cause,
    reason: cause === "INFRA" ? infraReason(result.errorCode) : result.reason,
    detail: cause === "INFRA" ? result.reason : null,
    limitsHit: result.limitsHit as LimitName[],
    exitCode: result.exitCode,
    signal: result.signal === null ? null : signalName(result.signal),
    stdout: result.stdout.data,
    stderr: result.stderr.data,
    stdoutGap: result.stdout.gap,
    stderrGap: result.stderr.gap,
    stdoutGapAt: result.stdout.headBytes,
    stderrGapAt: result.stderr.headBytes,
    files: Object.fromEntries(result.files.map(({ path, content }) => [path, content])),
    uncollected: result.uncollected,
    usage: { cpuMs: result.cpuMs, peakMemoryBytes: result.peakMemoryBytes, processes: result.processes },
    timings: { queueMs: result.queueMs, setupMs: result.setupMs, runMs: result.runMs, drainMs: result.drainMs },
    isolation: isolationOf(result.isolation),
    replayed: result.replayed,
    retryAfterMs: result.retryAfterMs,
    runtime: result.runtime === "" ? null : result.runtime,
  };
}

/**
 * Returns the run's own result. Throws PRL_SANDBOX_INFRA when the infrastructure failed or the run was cancelled, which says nothing
 * about the program: the rollout is then tried again and never scored.
 */
export function requireRun(result: RunResult): RunResult {
  const { cause, reason, detail } = result;
  if (cause !== "INFRA" && cause !== "CANCELLED") return result;
  const message = [cause, reason, detail].filter((part) => part !== null && part !== "").join(": ");
  throw new PrlError("PRL_SANDBOX_INFRA", `the sandboxed program has no result: ${message}`);
}

/** A case without a result gets that of the infrastructure's failure, or of the abort; without these it was not begun. */
export function toTestsResult({ build, cases, endedEarly }: NativeTestsResult): TestsResult {
  const early = endedEarly === null ? null : toRunResult(endedEarly);
  return {
    build: build === null ? null : toRunResult(build),
    results: cases.map((one) => (one === null || one === undefined ? early : toRunResult(one))),
  };
}

/** The result of a run that was cancelled before it began. */
export function cancelledResult(): RunResult {
  return {
    cause: "CANCELLED",
    reason: "aborted before it was sent",
    detail: null,
    limitsHit: [],
    exitCode: null,
    signal: null,
    stdout: Buffer.alloc(0),
    stderr: Buffer.alloc(0),
    stdoutGap: 0,
    stderrGap: 0,
    stdoutGapAt: 0,
    stderrGapAt: 0,
    files: {},
    uncollected: [],
    usage: { cpuMs: null, peakMemoryBytes: null, processes: null },
    timings: { queueMs: 0, setupMs: 0, runMs: 0, drainMs: 0 },
    isolation: null,
    replayed: false,
    retryAfterMs: null,
    runtime: null,
  };
}

/** `PRL_SANDBOX_DAEMON_EXITED` is `daemon_exited`. */
function infraReason(errorCode: string): string {
  return (errorCode.startsWith(CODE_PREFIX) ? errorCode.slice(CODE_PREFIX.length) : errorCode).toLowerCase();
}

export function signalName(number: number): string {
  return SIGNAL_NAMES.get(number) ?? `SIG${number}`;
}

export function isolationOf(name: string): Isolation | null {
  return name === "none" ? null : (name as Isolation);
}
