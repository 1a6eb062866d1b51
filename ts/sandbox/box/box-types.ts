/** Inputs and outputs of boxes. Types only. */

import type { FileContent, Files, Isolation, Network, RunLimits, RuntimeName } from "../types.ts";

/** A request for a box. */
export interface BoxRequest {
  /** The warm runtime that its execs of that interpreter use. Default: none is kept warm. */
  profile?: RuntimeName;
  /** The box ends after this time in any case. Default: never; see `Box.setTimeout`. */
  ttlMs?: number;
  /** The box outlives this process, or a broken connection, by this time. Default 60000; the pool renews it while the box is in use. */
  leaseMs?: number;
  /** Labels for finding the box. */
  labels?: Readonly<Record<string, string>>;
  /** Files to begin with. */
  from?: Snapshot | string;
  /** Limits of the whole box: memory, processes, disk, inodes, open files. Wall, CPU and output are the defaults of its execs. */
  limits?: RunLimits;
  /** Default: none. */
  network?: Network;
  /** Environment variables of all its execs. */
  env?: Readonly<Record<string, string>>;
  /** Written to its work directory. */
  files?: Files;
  /** Name of an image that the daemon knows. */
  image?: string;
  /** Refuse (PRL_SANDBOX_ISOLATION) rather than give less than this and the pool's. */
  minIsolation?: Isolation;
  /** Longest wait for a free place, then PRL_SANDBOX_OVERLOADED. Default 30000. */
  queueMs?: number;
  /** 1 to 128 letters, digits, `-`, `_`, `.`; never used before. Default: a new one. */
  id?: string;
  /** Aborting it gives up waiting: `create` rejects with its reason, and a box that is made all the same is closed. */
  signal?: AbortSignal;
}

/** A box as its daemon describes it. */
export interface BoxInfo {
  id: string;
  labels: Record<string, string>;
  createdAt: Date;
  leaseMs: number;
  /** Time until its lifetime ends; null: it has no end. */
  remainingMs: number | null;
  isolation: Isolation | null;
  /** The warm runtime; null without. */
  profile: RuntimeName | null;
}

/** A copy of a box's files, kept by its daemon until it is deleted. */
export interface Snapshot {
  id: string;
  bytes: number;
  createdAt: Date;
  labels: Record<string, string>;
}

/** Output as it comes. The program waits while a promise of it is pending, so that nothing piles up here. */
export type OutputListener = (data: Buffer) => void | Promise<void>;

/** How a command runs in a box. */
export interface ExecOptions {
  /** Default: end of file at once. */
  stdin?: FileContent;
  /** Variables in addition to the box's. */
  env?: Readonly<Record<string, string>>;
  /** Default: the work directory. */
  cwd?: string;
  /** The same as `limits.wallMs`. */
  timeoutMs?: number;
  /** Limits of wall time, CPU time and output; the other limits are the box's. */
  limits?: RunLimits;
  /** `sandbox` owns the work directory; `nobody` cannot write there. Default `sandbox`. */
  user?: "sandbox" | "nobody";
  /** Default: the box's profile where the command fits it. */
  runtime?: RuntimeName;
  onStdout?: OutputListener;
  onStderr?: OutputListener;
  /** Aborting it kills the command and everything that it started: CANCELLED. */
  signal?: AbortSignal;
  /** Names this execution: one key runs at most once. Default: a new one per call. */
  key?: string;
}

/** How a process is started in a box. */
export interface StartProcessOptions extends Pick<ExecOptions, "env" | "cwd" | "limits" | "user"> {
  /** The whole input. Default: the input stays open for `BoxProcess.write`. */
  stdin?: FileContent;
  /** The same as `limits.wallMs`. Default: none, and so for CPU time: it may run as long as its box lives. */
  timeoutMs?: number;
  /** Id for attaching to it again. Default: a new one. */
  id?: string;
  /** Runs it on a terminal of this size (true: 24 by 80); its errors come with its output. */
  pty?: boolean | PtySize;
  /** The program waits while its output is not read. Default false: the last MiB of each stream is kept for late readers. */
  lossless?: boolean;
}

export interface PtySize {
  rows: number;
  columns: number;
}

/** A process as its daemon describes it. */
export interface BoxProcessInfo {
  id: string;
  /** Inside the box. */
  pid: number;
  command: string[];
  running: boolean;
}

/** Output of a process. */
export interface ProcessChunk {
  stream: "stdout" | "stderr";
  /** Position of the first byte; more than expected when bytes were dropped. */
  offset: number;
  data: Buffer;
}

/** A file, directory or link in a box. */
export interface FileInfo {
  path: string;
  kind: "file" | "directory" | "symlink" | "other";
  bytes: number;
  /** Permission bits. */
  mode: number;
  modifiedAt: Date;
  /** Target of a symlink; else null. */
  linkTarget: string | null;
}

/** A change of a watched directory. With `overflow` some changes were lost: read the directory again. */
export interface FileChange {
  kind: "created" | "modified" | "removed" | "overflow";
  path: string;
}
