/**
 * One process of a run from the launcher's side: starts it, watches it, ends it.
 *
 * It leads a new process group, so the terminal's Ctrl-C does not reach it, and a signal to the group reaches the processes that it started. Its
 * output goes to a file. Its lifeline is a socket pair inherited as fd 3: it sends a line once a second, and it ends when this process is gone.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";

import { messageOf, PrlError } from "../../errors.ts";
import { END_REQUEST, HeartbeatReader, LIFELINE_FD, type Standstill } from "../../monitors/index.ts";

export interface ChildSpec {
  /** `trainer`, `inference`, ... */
  component: string;
  index: number;
  command: string;
  args: readonly string[];
  /** Variables that it gets beside those of this process; undefined: one of these that it does not get. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Folder for its log file. */
  logs: string;
  /** True: it ends with exit code 0 when its part is done. False: every exit before `stop` is a failure. */
  finishes: boolean;
  /** It holds the run's state, and can end with a checkpoint (`askToEnd`), together with the others that can. Default: no. */
  checkpoints?: boolean;
  /** Advice for the error's message, asked for when its end fails the run. */
  advice?: () => string;
  /** Called when it ends before `stop`: true when the end is handled and does not fail the run. Unset: the end is a failure. */
  onExit?: (exit: ChildExit) => Promise<boolean>;
}

export interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Why this process killed it, if it did. */
  reason?: string;
}

const LOG_TAIL_LINES = 15;
const LOG_TAIL_BYTES = 16 * 1024;

export class RunChild {
  readonly component: string;
  readonly index: number;
  /** Name in its files, `trainer-0`. */
  readonly name: string;
  readonly logPath: string;
  readonly finishes: boolean;
  readonly checkpoints: boolean;
  readonly onExit: ChildSpec["onExit"];
  readonly advice: ChildSpec["advice"];
  /** Resolves when the process has ended or could not be started. */
  readonly exited: Promise<ChildExit>;
  /** When the last heartbeat came, or the start; on the clock of `performance.now()`. */
  lastHeartbeat = performance.now();
  readonly #heartbeats = new HeartbeatReader();
  readonly #process: ChildProcess;
  #exit: ChildExit | null = null;
  #reason: string | undefined;

  constructor(spec: ChildSpec) {
    this.component = spec.component;
    this.index = spec.index;
    this.name = `${spec.component}-${spec.index}`;
    this.finishes = spec.finishes;
    this.checkpoints = spec.checkpoints ?? false;
    this.onExit = spec.onExit;
    this.advice = spec.advice;
    this.logPath = join(spec.logs, `${this.name}.log`);
    const log = openLog(this.logPath);
    try {
      this.#process = spawn(spec.command, spec.args, {
        detached: true,
        env: { ...process.env, ...spec.env },
        stdio: ["ignore", log, log, "pipe"],
      });
    } finally {
      closeSync(log);
    }
    this.exited = new Promise((resolve) => {
      const settle = (exit: ChildExit): void => {
        this.#exit ??= exit;
        resolve(this.#exit);
      };
      this.#process.once("exit", (code, signal) => {
        // Processes that it left behind are in its group; the group's id is in use until the last of them is gone.
        this.signal("SIGKILL");
        settle({ code, signal, ...(this.#reason !== undefined && { reason: this.#reason }) });
      });
      this.#process.once("error", () => {
        if (this.#process.pid === undefined) settle({ code: null, signal: null });
      });
    });
    const lifeline = this.#lifeline;
    lifeline?.on("data", (bytes: Uint8Array) => {
      this.lastHeartbeat = performance.now();
      this.#heartbeats.push(Buffer.from(bytes).toString("latin1"));
    });
    // The child's side of the socket breaks when it dies; its exit reports that.
    lifeline?.on("error", () => lifeline.destroy());
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Its native work that does not get on, by its heartbeats (`HeartbeatReader.standstill`). */
  get standstill(): Standstill | null {
    return this.#heartbeats.standstill;
  }

  /** How it ended; null while it runs. */
  get exit(): ChildExit | null {
    return this.#exit;
  }

  /** Asks it to end with a checkpoint. */
  askToEnd(): void {
    this.#lifeline?.write(END_REQUEST);
  }

  get #lifeline(): Duplex | null | undefined {
    return this.#process.stdio[LIFELINE_FD] as Duplex | null | undefined;
  }

  /** Signals its whole process group; a group that is gone is no error. */
  signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch (cause) {
      if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) {
        throw new PrlError("PRL_PROCESS_DIED", `cannot send ${signal} to ${this.name}`, { cause });
      }
    }
  }

  /** Sends SIGKILL to its group; `reason` becomes part of its exit. */
  kill(reason: string): void {
    this.#reason = reason;
    this.signal("SIGKILL");
  }

  /** The last lines of its log, for error messages. */
  async logTail(): Promise<string> {
    return readTail(this.logPath);
  }
}

/** `exit code 3`, `signal SIGKILL`. */
export function describeExit(exit: ChildExit): string {
  if (exit.reason !== undefined) return exit.reason;
  if (exit.signal !== null) return `signal ${exit.signal}`;
  return exit.code === null ? "it could not be started" : `exit code ${exit.code}`;
}

/** The end of a text file: at most 15 lines of at most 16 KiB; a note when there is nothing. */
export async function readTail(path: string): Promise<string> {
  let text: string;
  try {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const from = Math.max(0, size - LOG_TAIL_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
      text = buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (cause) {
    return `(its log cannot be read: ${messageOf(cause)})`;
  }
  const lines = text.trimEnd().split("\n").slice(-LOG_TAIL_LINES);
  return text.trim() === "" ? "(its log is empty)" : lines.join("\n");
}

function openLog(path: string): number {
  try {
    return openSync(path, "a");
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot open the log file ${path}`, { cause });
  }
}
