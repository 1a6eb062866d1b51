/** What goes into a run and what comes out of it (design section 12). Types only. */

/** How a run ended; the first kill wins. Only INFRA may be retried or masked out of a loss. */
export type RunCause =
  | "EXITED"
  | "SIGNALED"
  | "WALL_TIMEOUT"
  | "CPU_TIMEOUT"
  | "OOM"
  | "PIDS"
  | "OUTPUT_LIMIT"
  | "DISK_FULL"
  | "POLICY"
  | "CANCELLED"
  | "INFRA";

/** Limits of one run; what is left out takes the default. */
export interface RunLimits {
  /** Default 10000. */
  wallMs?: number;
  /** CPU time of the whole tree. Default 10000. */
  cpuMs?: number;
  /** Of the whole tree, tmpfs and shared memory included. Default 512 MiB. */
  memoryBytes?: number;
  /** Default 64. */
  processes?: number;
  /** Default 256. */
  openFiles?: number;
  /** Kept per stream, head and tail. Default 1 MiB. */
  outputBytes?: number;
  /** A program that writes more than this to a stream is killed: OUTPUT_LIMIT. Default 64 MiB. */
  outputKillBytes?: number;
  /** Default 256 MiB. */
  diskBytes?: number;
  /** Default 10000. */
  inodes?: number;
  /** Over all collected files. Default 16 MiB. */
  collectBytes?: number;
}

/**
 * How well a run is kept apart, from the weakest: landlock, seccomp and rlimits; namespaces too; limits of the whole tree by control
 * groups too.
 */
export type Isolation = "process" | "rootless" | "full";

/** Text is sent as UTF-8; bytes are copied before the call returns. */
export type FileContent = string | Uint8Array;

/** One program to run in a sandbox of its own. */
export interface RunRequest {
  /** Program and arguments; no shell in between. */
  command: readonly string[];
  /** Default: end of file at once. */
  stdin?: FileContent;
  /** Written to the working directory before the start: relative path to content, with permission bits when they matter. */
  files?: Readonly<Record<string, FileContent | { content: FileContent; mode: number }>>;
  /** Globs, relative to the working directory, of files to bring back. */
  collect?: readonly string[];
  /** Added to the sandbox's own small environment. */
  env?: Readonly<Record<string, string>>;
  /** Absolute, or relative to the work directory; made when missing. Default: the work directory. */
  cwd?: string;
  limits?: RunLimits;
  /** Only "none" (own loopback) is implemented. */
  network?: "none";
  /** Longest wait for a free sandbox, then INFRA with reason `overloaded`. Default 30000. */
  queueMs?: number;
  /** Refuse (PRL_SANDBOX_ISOLATION) rather than run with less than this and the pool's. */
  minIsolation?: Isolation;
  labels?: Readonly<Record<string, string>>;
  /** Aborting it kills the run: CANCELLED. */
  signal?: AbortSignal;
  /**
   * Names this execution: one key runs at most once per daemon, and asking again gives the same result. Default: a new one per call.
   */
  key?: string;
}

/** What a run used; null is what the machine's tier cannot observe. */
export interface RunUsage {
  cpuMs: number | null;
  peakMemoryBytes: number | null;
  /** Most processes and threads at the same time. */
  processes: number | null;
}

/** Where the time went. */
export interface RunTimings {
  /** Waiting for a free sandbox. */
  queueMs: number;
  /** Making it and writing the files. */
  setupMs: number;
  /** The program. */
  runMs: number;
  /** From its end until the last byte of output and files was in. */
  drainMs: number;
}

/** A limit that a run came up against. */
export type LimitName = "wall" | "cpu" | "memory" | "processes" | "output" | "disk" | "inodes" | "collect";

/** How one run ended, with everything that it left. */
export interface RunResult {
  cause: RunCause;
  /**
   * With INFRA one word for programs: `overloaded`, `draining`, `connection_lost`, `daemon_exited`, `daemon_restarted`, `deadline`,
   * `protocol`, or the daemon's own. Else for people, and possibly empty.
   */
  reason: string;
  /** With INFRA, for people; else null. */
  detail: string | null;
  /** Limits that the run came up against, whether or not they ended it. */
  limitsHit: LimitName[];
  /** Null unless the program exited by itself. */
  exitCode: number | null;
  /** Name of the signal that ended the program (`SIGSEGV`); null when none did. */
  signal: string | null;
  /** Head and tail of what was written, joined. */
  stdout: Buffer;
  stderr: Buffer;
  /** Bytes dropped between head and tail; 0 when nothing is missing. */
  stdoutGap: number;
  stderrGap: number;
  /** Where in `stdout` the gap is; its length when nothing is missing. */
  stdoutGapAt: number;
  stderrGapAt: number;
  /** Collected files by path. */
  files: Record<string, Buffer>;
  /** What matched `collect` and did not come, and why. */
  uncollected: { path: string; reason: string }[];
  usage: RunUsage;
  timings: RunTimings;
  /** What the run had; null when it did not take place. */
  isolation: Isolation | null;
  /** The kept result of an earlier call with the same key. */
  replayed: boolean;
  /** With INFRA `overloaded`: when to try again. */
  retryAfterMs: number | null;
}

/** What a daemon can enforce and observe on its machine. */
export interface SandboxCapabilities {
  /** The tier that results; null when nothing can be run. */
  isolation: Isolation | null;
  cgroups: "v2" | "v1" | "hybrid" | "none";
  /** Kernel facilities: what was found, or what is missing and how to get it. */
  facilities: { name: string; available: boolean; detail: string }[];
  /** Causes that this daemon cannot observe here. */
  unobservable: RunCause[];
  defaultLimits: Required<RunLimits>;
  /** Runs at the same time; further ones wait. */
  maxRunning: number;
  /** Most that wait; further ones are refused as overloaded. */
  maxQueued: number;
  version: string;
}

/** How busy a daemon is. */
export interface SandboxHealth {
  /** Whether it takes work. */
  serving: boolean;
  running: number;
  queued: number;
  /** Sandboxes made in advance. */
  parked: number;
  /** Runs that ended since its start. */
  completed: number;
  /** Names the daemon's process: another one after a restart. */
  instanceId: string;
}
