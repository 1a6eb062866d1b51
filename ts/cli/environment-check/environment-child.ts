/**
 * The child in which `prl env test` and `prl env dev` run an environment's code. Code that never returns, ends its process or crashes ends only the
 * child, and its last attempt says where that was.
 */
import { spawn, type ChildProcess } from "node:child_process";

import type { Attempt } from "../../environments/internal.ts";
import { PrlError } from "../../errors.ts";
import { selfCommand } from "../../self-command.ts";
import type { EnvironmentAnswer, EnvironmentQuestion } from "./messages.ts";

/** Time in addition to the deadline of one call: within it the child itself notices that a call is late. */
const GRACE_MS = 5_000;
/** Time for the child's start, until its first answer. */
const START_MS = 60_000;
const STDERR_CHARACTERS = 2_000;

/** How the child ended before it was done. */
export interface Stopped {
  readonly attempt: Attempt;
  readonly why: string;
}

export interface ChildOptions {
  readonly hear: (answer: EnvironmentAnswer) => void;
  /** Ends the child at once. */
  readonly signal: AbortSignal;
}

/** Null when the child said that it is done. Rejects with the signal's reason, and with PRL_PROCESS_DIED when no child can be started. */
export async function askEnvironment(
  question: EnvironmentQuestion,
  { hear, signal }: ChildOptions,
): Promise<Stopped | null> {
  signal.throwIfAborted();
  const { command, args } = selfCommand();
  // The child leads a process group, which is ended as a whole, because an environment may start programs.
  const child = spawn(command, [...args, "check-environment"], {
    cwd: question.from,
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    serialization: "advanced",
  });
  const end = (): void => endGroup(child);
  process.once("exit", end);
  try {
    return await untilDone(child, question, { hear, signal });
  } finally {
    process.off("exit", end);
    end();
  }
}

function untilDone(
  child: ChildProcess,
  question: EnvironmentQuestion,
  { hear, signal }: ChildOptions,
): Promise<Stopped | null> {
  let attempt: Attempt = { check: "module", split: null, task: null };
  let stderr = "";
  let timer: NodeJS.Timeout | undefined;
  const abort = new AbortController();
  const said = (): string => (stderr.trim() === "" ? "" : `; it wrote: ${stderr.trim()}`);
  return new Promise<Stopped | null>((resolve, reject) => {
    const watch = (ms: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const seconds = question.deadlineMs / 1000;
        resolve({ attempt, why: `its code did not return within ${seconds} s and held up everything else${said()}` });
      }, ms);
    };
    watch(START_MS + question.deadlineMs);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true, signal: abort.signal });
    child.stderr?.on("data", (chunk) => (stderr = (stderr + String(chunk)).slice(-STDERR_CHARACTERS)));
    child.on("message", (answer: EnvironmentAnswer) => {
      watch(question.deadlineMs + GRACE_MS);
      if (answer.type === "begins") attempt = answer.attempt;
      else if (answer.type === "done") resolve(null);
      else hear(answer);
    });
    child.once("error", (cause) => reject(new PrlError("PRL_PROCESS_DIED", "cannot start a process", { cause })));
    child.once("close", (code, killed) => {
      const how = killed === null ? `exit code ${code}` : killed;
      resolve({ attempt, why: `its code ended the process (${how})${said()}` });
    });
    child.send(question, () => undefined);
  }).finally(() => {
    clearTimeout(timer);
    abort.abort();
  });
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause;
  }
}
