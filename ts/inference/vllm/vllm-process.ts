/**
 * One `vllm serve` and the processes that it starts, as one process group: none of them is left when the server has ended, however it ended,
 * nor when this process is gone, even if it was killed.
 *
 * A shell starts the program: it leaves a process of the group behind that waits for the end of its standard input, whose other end this
 * process holds, and then kills the group. The kernel closes that end when this process is gone.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

import { PrlError } from "../../errors.ts";
import { Printed } from "./printed.ts";

export interface VllmStart {
  interpreter: string;
  args: readonly string[];
  /** Laid over the environment of this process; undefined takes a variable away. */
  env: Readonly<Record<string, string | undefined>>;
  /** Takes what it prints. */
  log: (text: string) => void;
}

/** A background job of a shell has no standard input unless it is given one explicitly. */
const GUARD = 'exec 3<&0 2>&1; (read -r _ <&3; kill -9 -$$) & exec "$@" 3<&- </dev/null';
/** The launcher kills a process that needs more than 6 s to end. */
const STOP_MS = 4_000;
/** Output may still be in the pipe when the program has ended. */
const REST_MS = 1_000;

export class VllmProcess {
  readonly #process: ChildProcess;
  /** How it ended; null while it runs. */
  #end: string | null = null;
  readonly #printed = new Printed();
  /** Resolves when it has ended and its group is killed. */
  readonly ended: Promise<string>;

  constructor({ interpreter, args, env, log }: VllmStart) {
    this.#process = spawn("/bin/sh", ["-c", GUARD, "vllm", interpreter, ...args], {
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
      env: { ...process.env, ...env },
    });
    const child = this.#process;
    // Its end breaks the pipe; the exit reports that.
    child.stdin?.on("error", () => undefined);
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#printed.push(text);
      log(text);
    });
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const exited = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(`it could not be started: ${error.message}`));
      child.once("exit", (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
    this.ended = exited.then(async (how) => {
      this.#end = how;
      this.#signal("SIGKILL");
      await Promise.race([closed, sleep(REST_MS)]);
      return how;
    });
  }

  /** Null while the program cannot be started. */
  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** Its errors and its last lines. */
  get summary(): string {
    return this.#printed.summary();
  }

  /** Rejects with PRL_PROCESS_DIED when it ends; never resolves. */
  async failure(): Promise<never> {
    const how = await this.ended;
    throw new PrlError("PRL_PROCESS_DIED", `vLLM ended (${how}). ${this.summary}`);
  }

  /** Asks it to end, and kills the group when it has not ended after four seconds. */
  async stop(): Promise<void> {
    const { pid } = this.#process;
    if (pid !== undefined && !this.hasEnded) this.#process.kill("SIGTERM");
    const timer = setTimeout(() => this.#signal("SIGKILL"), STOP_MS);
    await this.ended;
    clearTimeout(timer);
    this.#process.stdin?.destroy();
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch (cause) {
      if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause;
    }
  }
}
