/** Inputs and outputs of a run (ARCHITECTURE.md, "Sandbox ends"). Types only. */

/** How a run ended; the first kill wins. Only INFRA may be retried or masked out of a loss. */
export type RunCause =
  | "EXITED"
  | "SIGNALED"
  | "WALL_TIMEOUT"
  | "CPU_TIMEOUT"
  | "OOM"
  | "PIDS"
  | "OUTPUT_LIMIT"
  /** The files of the request could not be written, so nothing was run; `reason` says which and why. */
  | "DISK_FULL"
  | "POLICY"
  | "CANCELLED"
  | "INFRA";

/** Limits of one run; missing ones have their defaults. */
export interface RunLimits {
  /** Default 10000. */
  wallMs?: number;
  /** CPU time of the whole tree. Default 10000. */
  cpuMs?: number;
  /** Memory of the whole tree, with tmpfs and shared memory. Default 512 MiB. */
  memoryBytes?: number;
  /** Default 64. */
  processes?: number;
  /** Default 256. */
  openFiles?: number;
  /** Output kept per stream, as head and tail. Default 1 MiB. */
  outputBytes?: number;
  /** A program that writes more than this to a stream is killed: OUTPUT_LIMIT. Default 64 MiB. */
  outputKillBytes?: number;
  /** Default 256 MiB. */
  diskBytes?: number;
  /** Default 10000. */
  inodes?: number;
  /** Bytes of all collected files. Default 16 MiB. */
  collectBytes?: number;
}

/**
 * How strongly a run is isolated, from the weakest: landlock, seccomp and rlimits; then also namespaces; then also limits of the whole
 * tree by control groups.
 */
export type Isolation = "process" | "rootless" | "full";

/** Text is sent as UTF-8; bytes are copied before the call returns. */
export type FileContent = string | Uint8Array;

/** Relative path to content, with permission bits when they matter. */
export type Files = Readonly<Record<string, FileContent | { content: FileContent; mode: number }>>;

/** A port of a sandbox's loopback and the one service behind it. */
export interface Forward {
  listen: number;
  /** `host:port` or `unix:/path`, as the side sees it that connects. */
  to: string;
  /**
   * Who connects. `caller`: this process, which gets each connection through the daemon, for services that the daemon's machine does not reach;
   * only in a box, as long as this process holds it. Default: `daemon`.
   */
  by?: "daemon" | "caller";
}

/** The network that a sandbox reaches besides its own loopback, with name resolution. */
export type Network =
  | "none"
  | {
      /**
       * `host:port`, `host` (ports 80 and 443) or `*.host:port`, through a proxy on the loopback that HTTP_PROXY, HTTPS_PROXY and
       * ALL_PROXY name. Private addresses only by themselves: `10.0.0.1:80`.
       */
      allow?: readonly string[];
      /** Ports of the loopback that reach one service each. */
      forward?: readonly Forward[];
    };

/** The runtime of a program: `exec` always executes it, the others are warm interpreters; more are profiles of `preload`. */
export type RuntimeName = "exec" | "python" | "numpy" | "node" | (string & {});

/** Options of both runs and tests. */
export interface ProgramOptions {
  /** Written to the working directory before the start. */
  files?: Files;
  /** Variables in addition to the sandbox's own small environment. */
  env?: Readonly<Record<string, string>>;
  /** Absolute, or relative to the work directory; made when missing. Default: the work directory. */
  cwd?: string;
  /** Default: none. */
  network?: Network;
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
  /** Default: the command decides. A runtime that the daemon lacks is PRL_SANDBOX_ISOLATION or PRL_SANDBOX_UNSUPPORTED. */
  runtime?: RuntimeName;
  /** Name of an image that the daemon knows. Default: the machine's own system directories. */
  image?: string;
}

/** One program to run in a new sandbox. */
export interface RunRequest extends ProgramOptions {
  /** Program and arguments; no shell in between. */
  command: readonly string[];
  /** Default: end of file at once. */
  stdin?: FileContent;
  /** Globs, relative to the working directory, of files to bring back. */
  collect?: readonly string[];
  limits?: RunLimits;
}

/** Many tests of one program in one sandbox: each case is a new process on a clean writable layer. */
export interface TestsRequest extends ProgramOptions {
  /** Program and arguments; no shell in between. */
  program: readonly string[];
  /** `args` are appended to the program's. */
  cases: readonly { stdin?: FileContent; args?: readonly string[] }[];
  /** Limits of each case; those of disk and inodes hold for the files and the build, too. */
  limitsPerCase?: RunLimits;
  /** Begin no case after one that did not exit with 0. Default false. */
  stopOnFailure?: boolean;
  /** Program and arguments, run once before the cases, for example a compiler; when it does not exit with 0 no case is run. */
  build?: readonly string[];
  buildLimits?: RunLimits;
  /** Names this execution, so that nothing of it runs twice. Default: none; a case whose sandbox was lost is then begun again. */
  key?: string;
}

/** How tests ended. */
export interface TestsResult {
  /** Null without a build. */
  build: RunResult | null;
  /**
   * In the order of the cases. Null where a case was not begun: after a failure with `stopOnFailure`, or after a build that failed. Where
   * the infrastructure failed or the call was aborted, it is a result that says so.
   */
  results: (RunResult | null)[];
}

/** The resources that a run used; null where the machine's tier cannot observe them. */
export interface RunUsage {
  cpuMs: number | null;
  peakMemoryBytes: number | null;
  /** Most processes and threads at the same time. */
  processes: number | null;
}

/** Times of a run's phases. */
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

/** A limit that a run reached. */
export type LimitName = "wall" | "cpu" | "memory" | "processes" | "output" | "disk" | "inodes" | "collect";

/** The result of one run: how it ended, its output and files. */
export interface RunResult {
  cause: RunCause;
  /**
   * With INFRA one word for programs: `overloaded`, `draining`, `connection_lost`, `daemon_exited`, `daemon_restarted`, `deadline`,
   * `protocol`, `box_ended`, or the daemon's own. Else for people, and possibly empty.
   */
  reason: string;
  /** With INFRA, for people; else null. */
  detail: string | null;
  /** Limits that the run reached, whether or not they ended it. */
  limitsHit: LimitName[];
  /** Null unless the program exited by itself. */
  exitCode: number | null;
  /** Name of the signal that ended the program (`SIGSEGV`); null when none did. */
  signal: string | null;
  /** Head and tail of the output, joined. */
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
  /** Files that matched `collect` and were not collected, and why. */
  uncollected: { path: string; reason: string }[];
  usage: RunUsage;
  timings: RunTimings;
  /** Isolation of the run; null when it did not take place. */
  isolation: Isolation | null;
  /** The kept result of an earlier call with the same key. */
  replayed: boolean;
  /** With INFRA `overloaded`: when to try again. */
  retryAfterMs: number | null;
  /** Runtime of the run; null when it did not take place. */
  runtime: RuntimeName | null;
}

/** The limits and causes that all daemons of a pool can enforce and observe. */
export interface SandboxCapabilities {
  /** The resulting tier; null when nothing can be run. */
  isolation: Isolation | null;
  cgroups: "v2" | "v1" | "hybrid" | "none";
  /** Kernel facilities: what was found, or what is missing and how to get it. */
  facilities: { name: string; available: boolean; detail: string }[];
  /** Causes that a daemon cannot observe. */
  unobservable: RunCause[];
  defaultLimits: Required<RunLimits>;
  /** Runs at the same time, over all daemons; further ones wait. */
  maxRunning: number;
  /** Most that wait, over all daemons; further ones are refused as overloaded. */
  maxQueued: number;
  version: string;
  /** Warm interpreters: their version, the modules loaded in advance, and how many are ready over all daemons. */
  runtimes: { name: string; version: string; preloads: string[]; parked: number }[];
  /** Names to use as `image`. */
  images: string[];
  /** Addresses of the daemons that answered. */
  daemons: string[];
}

/** How busy one daemon is. */
export interface DaemonHealth {
  address: string;
  /** Whether it takes work. */
  serving: boolean;
  running: number;
  queued: number;
  /** Sandboxes made in advance. */
  parked: number;
  /** Held sandboxes. */
  held: number;
  /** Runs that ended since its start. */
  completed: number;
  /** Names the daemon's process: another one after a restart. */
  instanceId: string;
}

/** How busy the daemons of a pool are: sums over those that answered, and each of them. */
export interface SandboxHealth extends Omit<DaemonHealth, "address" | "instanceId"> {
  daemons: DaemonHealth[];
}
