/** Results as users see them, from what crosses the border. */

import { constants } from "node:os";
import type { NativeRunResult, NativeSandboxCapabilities } from "../native/index.ts";
import type { Isolation, LimitName, RunCause, RunResult, SandboxCapabilities } from "./types.ts";

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));
/** Signals that share a number go by the name that programs print. */
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
  };
}

/** The result of a run that was called off before it began. */
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
  };
}

export function toCapabilities(native: NativeSandboxCapabilities): SandboxCapabilities {
  const { defaultLimits, ...rest } = native;
  const limit = (value: number | null): number => value ?? Number.POSITIVE_INFINITY;
  return {
    ...rest,
    isolation: isolationOf(native.isolation),
    cgroups: native.cgroups as SandboxCapabilities["cgroups"],
    unobservable: native.unobservable as RunCause[],
    defaultLimits: {
      wallMs: limit(defaultLimits.wallMs),
      cpuMs: limit(defaultLimits.cpuMs),
      memoryBytes: limit(defaultLimits.memoryBytes),
      processes: limit(defaultLimits.processes),
      openFiles: limit(defaultLimits.openFiles),
      outputBytes: limit(defaultLimits.outputBytes),
      outputKillBytes: limit(defaultLimits.outputKillBytes),
      diskBytes: limit(defaultLimits.diskBytes),
      inodes: limit(defaultLimits.inodes),
      collectBytes: limit(defaultLimits.collectBytes),
    },
  };
}

/** `PRL_SANDBOX_DAEMON_EXITED` is `daemon_exited`. */
function infraReason(errorCode: string): string {
  return (errorCode.startsWith(CODE_PREFIX) ? errorCode.slice(CODE_PREFIX.length) : errorCode).toLowerCase();
}

function signalName(number: number): string {
  return SIGNAL_NAMES.get(number) ?? `SIG${number}`;
}

function isolationOf(name: string): Isolation | null {
  return name === "none" ? null : (name as Isolation);
}
