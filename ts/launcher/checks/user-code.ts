/**
 * Checks user code by path in a child before a run starts: a module that never returns, ends its process or crashes ends only the child, and
 * becomes an error that names the key. Built-in environments are checked in this process.
 */
import { type ChildProcess, spawn } from "node:child_process";

import { placeOf, type Provenance } from "../../config/index.ts";
import { checkCode, type CodeCheck, type EnvironmentFacts, isBuiltin, keyOf } from "../../environments/run-start.ts";
import { isErrorCode, PrlError } from "../../errors.ts";
import { describeExit } from "../processes/child-process.ts";
import { selfCommand } from "../../self-command.ts";
import { untilInterrupted } from "../run/stage.ts";

/** Deadline for one module, its imports included. */
const DEADLINE_MS = 60_000;
const STDERR_CHARACTERS = 2_000;

/** Message to the child. */
export interface CodeQuestion {
  checks: readonly CodeCheck[];
  provenance: Provenance | undefined;
  deadlineMs: number;
}

/** Message from the child about the check of an index: that it begins, and how it ended. */
export type CodeAnswer = { index: number } & (
  | { type: "begins" }
  | { type: "facts"; facts: EnvironmentFacts | null }
  | { type: "error"; code: string; message: string; cause: string | null }
);

export interface UserCodeOptions {
  provenance: Provenance | undefined;
  signal?: AbortSignal | undefined;
  deadlineMs?: number;
}

/**
 * The facts of each environment, null for each function, in the order of `checks`.
 *
 * @throws PrlError those of `checkCode`; `PRL_USER_MODULE` for code that ends its process; `PRL_USER_DEADLINE` for code that does not return
 */
export async function checkUserCode(
  checks: readonly CodeCheck[],
  options: UserCodeOptions,
): Promise<(EnvironmentFacts | null)[]> {
  const found = new Map<CodeCheck, EnvironmentFacts | null>();
  const inChild = checks.filter((check) => check.kind === "function" || !isBuiltin(check.env));
  for (const check of checks)
    if (!inChild.includes(check)) found.set(check, await checkCode(check, options.provenance));
  const childFacts = inChild.length === 0 ? [] : await askChild(inChild, options);
  inChild.forEach((check, i) => found.set(check, childFacts[i] ?? null));
  return checks.map((check) => found.get(check) ?? null);
}

async function askChild(
  checks: readonly CodeCheck[],
  { provenance, signal, deadlineMs = DEADLINE_MS }: UserCodeOptions,
): Promise<(EnvironmentFacts | null)[]> {
  const { command, args } = selfCommand();
  // The child leads a new process group, which is ended as a whole, because a module may start programs.
  const child = spawn(command, [...args, "check-code"], {
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    serialization: "advanced",
  });
  const end = (): void => endGroup(child);
  process.once("exit", end);
  try {
    const answered = answers(child, { checks, provenance, deadlineMs });
    return await (signal === undefined ? answered : untilInterrupted(signal, answered));
  } finally {
    process.off("exit", end);
    end();
  }
}

function answers(child: ChildProcess, question: CodeQuestion): Promise<(EnvironmentFacts | null)[]> {
  const { checks, provenance, deadlineMs } = question;
  const found: (EnvironmentFacts | null)[] = [];
  let stderr = "";
  let timer: NodeJS.Timeout | undefined;
  const place = (): string => {
    const check = checks[found.length];
    return check === undefined ? "user code" : placeOf(keyOf(check), provenance);
  };
  const said = (): string => (stderr.trim() === "" ? "" : `; it said:\n${stderr.trim()}`);
  return new Promise<(EnvironmentFacts | null)[]>((resolve, reject) => {
    const restartTimer = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const what = `${place()}: the module was not loaded within ${deadlineMs / 1000} s`;
        reject(new PrlError("PRL_USER_DEADLINE", `${what}: mend what never ends at its top level${said()}`));
      }, deadlineMs);
    };
    restartTimer();
    child.stderr?.on("data", (chunk) => (stderr = (stderr + String(chunk)).slice(-STDERR_CHARACTERS)));
    child.on("message", (answer: CodeAnswer) => {
      if (answer.index !== found.length) return;
      restartTimer();
      if (answer.type === "error") reject(errorOf(answer));
      if (answer.type !== "facts") return;
      found.push(answer.facts);
      if (found.length === checks.length) resolve(found);
    });
    child.once("exit", () => endGroup(child));
    child.once("error", (cause) => reject(new PrlError("PRL_PROCESS_DIED", "cannot start a process", { cause })));
    child.once("close", (code, signal) => {
      const how = describeExit({ code, signal });
      const advice = "a module that is imported must not end the process: mend or move that call";
      reject(new PrlError("PRL_USER_MODULE", `${place()}: its code ended the process (${how}); ${advice}${said()}`));
    });
    child.send(question, () => undefined);
  }).finally(() => clearTimeout(timer));
}

function errorOf({ code, message, cause }: CodeAnswer & { type: "error" }): PrlError {
  const known = isErrorCode(code) ? code : "PRL_USER_MODULE";
  return new PrlError(known, message, cause === null ? {} : { cause: new Error(cause) });
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause;
  }
}
