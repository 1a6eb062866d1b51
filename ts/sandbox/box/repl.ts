/** An interpreter in a box that keeps its state from one piece of code to the next. */

import { randomUUID } from "node:crypto";
import { onAbort } from "../../async/aborted.ts";
import { nativeAsync, type NativeSandboxPool, type NativeSandboxProcess } from "../../native/index.ts";
import { knownKeys, nativeLimits, wrong } from "../request-checks.ts";
import { toRunResult } from "../run-result.ts";
import type { RunLimits, RunResult } from "../types.ts";

/** The result of a piece of code. */
export interface ReplResult {
  /** EXITED with 0 when it ended, with 1 when it raised; after any other cause the interpreter is gone. */
  run: RunResult;
  /** The repr of the last expression; null when there was none or it was None. */
  value: string | null;
  /** The last line of the exception; null when there was none. */
  error: string | null;
  /** Whether the interpreter takes more. */
  alive: boolean;
}

export interface ReplRunOptions {
  /** The same as `limits.wallMs`. */
  timeoutMs?: number;
  /** Limits of wall time, CPU time and output. */
  limits?: RunLimits;
  /** Aborting it ends the interpreter. */
  signal?: AbortSignal;
}

export class Repl {
  readonly #pool: NativeSandboxPool;
  readonly #process: NativeSandboxProcess;

  /** @internal */
  constructor(pool: NativeSandboxPool, process: NativeSandboxProcess) {
    this.#pool = pool;
    this.#process = process;
  }

  /** Id of the interpreter's process: `Box.process` finds it. */
  get id(): string {
    return this.#process.info().id;
  }

  /** Runs code; calls wait for each other. Code is never sent twice: where the reply is lost, the result is INFRA. */
  async run(code: string, options: ReplRunOptions = {}): Promise<ReplResult> {
    knownKeys(options, { timeoutMs: true, limits: true, signal: true }, "");
    const { signal, limits = {}, timeoutMs } = options;
    if (timeoutMs !== undefined && limits.wallMs !== undefined) throw wrong("timeoutMs", "limits.wallMs is the same");
    const key = randomUUID();
    const wall = timeoutMs === undefined ? {} : { wallMs: timeoutMs };
    const running = nativeAsync(() => this.#process.evaluate(key, code, nativeLimits({ ...limits, ...wall })));
    const release = onAbort(signal, () => this.#pool.cancel(key));
    try {
      const { result, value, error, alive } = await running;
      return {
        run: toRunResult(result),
        value: value === "" ? null : value,
        error: error === "" ? null : error,
        alive,
      };
    } finally {
      release();
    }
  }

  /** Ends the interpreter. */
  async close(): Promise<void> {
    await nativeAsync(() => this.#process.signal(9));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
