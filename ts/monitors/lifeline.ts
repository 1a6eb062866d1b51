/**
 * The child's end of the lifeline: a socket on fd 3 that ties a process of a run to its launcher.
 *
 * The child sends heartbeats, one line each second (`heartbeat.ts`). The launcher sends at most one thing, `END_REQUEST`: the process is to end with a
 * checkpoint. End of file or an error means that the launcher is gone, and this process ends within `LAUNCHER_GONE_EXIT_MS`, whatever it is doing. A
 * process without a launcher has no socket on fd 3; then only the ready file is written. This code never keeps the process alive.
 */
import { fstatSync } from "node:fs";
import { Socket } from "node:net";

import { PrlError } from "../errors.ts";
import { writeFailureNotesTo } from "../failure-note.ts";
import { heartbeatLine, type Standstill } from "./heartbeat.ts";
import { type ReadyInfo, readyFilePath, writeReadyFile } from "./ready-file.ts";

/** The file descriptor that the launcher's socket pair is inherited on. */
export const LIFELINE_FD = 3;
/**
 * A process that `prl host-part` starts has the number of a descriptor in this variable: a socket whose end is held there. It is no lifeline: the process
 * has no launcher beside it. But it ends in the same way when its parent is gone.
 */
export const TETHER = { variable: "PRL_TETHER_FD", fd: 4 } as const;
export const HEARTBEAT_INTERVAL_MS = 1_000;
/** The launcher sends this to the processes that hold the run's state: they make a checkpoint together, and end. */
export const END_REQUEST = "end\n";
/** After this long without its launcher a process ends itself; the promise to users is 10 s. */
export const LAUNCHER_GONE_EXIT_MS = 8_000;

export interface JoinRunOptions {
  /** Process kind: `inference`, `env-worker`, `trainer`, `orchestrator`, `sft`. */
  component: string;
  /** Which of the processes of this kind, from 0. */
  index: number;
  /** The run directory; the ready file goes to its `run/` folder. */
  runDir: string;
  /** Called once when the launcher is gone. Unset: this process sends itself SIGTERM, so that its ordinary graceful stop runs. */
  onLauncherGone?: () => void;
  /** The native work of this process that has not got on for the longest time; null when none is under way. */
  standstill?: () => Standstill | null;
  /** Lifeline to use instead of fd 3; null for none. */
  fd?: number | null;
}

export interface RunMember {
  /** True when a launcher holds the other end. */
  readonly supervised: boolean;
  /** Aborted when the launcher is gone. */
  readonly launcherGone: AbortSignal;
  /** Aborted when the launcher asks for an end with a checkpoint; other processes than those that hold the run's state are never asked. */
  readonly endAsked: AbortSignal;
  /** Publishes `run/<component>-<index>.json` atomically: from now on others may use this process. */
  ready(info?: ReadyInfo): Promise<void>;
  /** Ends the heartbeats; for a process that goes on after its part in the run. */
  leave(): void;
}

/** Joins the run as one of its processes: heartbeats start at once, `ready()` announces it, `noteFailure` records its failure. */
export function joinRun(options: JoinRunOptions): RunMember {
  writeFailureNotesTo(options);
  const gone = new AbortController();
  const asked = new AbortController();
  const fd = options.fd === undefined ? LIFELINE_FD : options.fd;
  const socket = fd !== null && isSocket(fd) ? new Socket({ fd, readable: true, writable: true }) : null;
  let heartbeat: NodeJS.Timeout | undefined;

  const leave = (): void => {
    clearInterval(heartbeat);
    for (const end of [socket, tether]) {
      end?.removeAllListeners();
      end?.on("error", ignoreAfterLeaving);
      end?.destroy();
    }
  };

  const onGone = (): void => {
    if (gone.signal.aborted) return;
    leave();
    setTimeout(() => process.exit(1), LAUNCHER_GONE_EXIT_MS).unref();
    gone.abort();
    if (options.onLauncherGone === undefined) process.kill(process.pid, "SIGTERM");
    else options.onLauncherGone();
  };
  const tether = socket === null && options.fd === undefined ? tetherSocket() : null;
  for (const end of [socket, tether]) {
    end?.on("end", onGone).on("error", onGone).on("close", onGone);
    end?.resume();
    end?.unref();
  }
  if (socket !== null) {
    socket.once("data", () => asked.abort(new PrlError("PRL_RUN_INTERRUPTED", "the launcher ends the run")));
    const beat = (): void => void socket.write(heartbeatLine(options.standstill?.() ?? null));
    beat();
    heartbeat = setInterval(beat, HEARTBEAT_INTERVAL_MS);
    heartbeat.unref();
  }

  return {
    supervised: socket !== null,
    launcherGone: gone.signal,
    endAsked: asked.signal,
    async ready(info = {}) {
      await writeReadyFile(readyFilePath(options.runDir, options.component, options.index), info);
    },
    leave,
  };
}

/** The tether of a part on a host; null for any other process. Processes that it starts inherit neither the socket nor the variable. */
function tetherSocket(): Socket | null {
  const fd = Number(process.env[TETHER.variable]);
  delete process.env[TETHER.variable];
  return fd === TETHER.fd && isSocket(fd) ? new Socket({ fd, readable: true, writable: true }) : null;
}

/** Errors of a socket that was destroyed on purpose are ignored. */
function ignoreAfterLeaving(): void {}

function isSocket(fd: number): boolean {
  try {
    return fstatSync(fd).isSocket();
  } catch {
    // EBADF: the descriptor does not exist, so there is no launcher.
    return false;
  }
}
