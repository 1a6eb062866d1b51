/** A process of a box: it outlives the call that started it, and can be attached to again by its id. */

import { constants } from "node:os";
import { onAbort } from "../../async/aborted.ts";
import { nativeAsync, type NativeSandboxProcess } from "../../native/index.ts";
import type { BoxProcessInfo, OutputListener, ProcessChunk, PtySize } from "./box-types.ts";
import { KeptOutput } from "./kept-output.ts";
import { bytesOf, count, knownKeys, wrong } from "../request-checks.ts";
import { toRunResult } from "../run-result.ts";
import type { FileContent, RunResult } from "../types.ts";

/** Bytes kept per stream for the result of `wait`. */
export const KEPT_BYTES = 1 << 20;

export interface WaitOptions {
  onStdout?: OutputListener;
  onStderr?: OutputListener;
  /** Aborting it kills the process: CANCELLED. */
  signal?: AbortSignal;
  /** Output from these positions on. Default: all that is kept. */
  stdoutFrom?: number;
  stderrFrom?: number;
  /** Head and tail kept per stream for the result. Default 1 MiB. */
  outputBytes?: number;
}

const WAIT: Readonly<Record<keyof WaitOptions, true>> = {
  onStdout: true,
  onStderr: true,
  signal: true,
  stdoutFrom: true,
  stderrFrom: true,
  outputBytes: true,
};

export class BoxProcess {
  readonly #process: NativeSandboxProcess;
  readonly #info: BoxProcessInfo;
  #written = 0;
  /** Inputs are sent one after the other; each has its offset in the whole input. */
  #writing: Promise<void> = Promise.resolve();

  /** @internal */
  constructor(process: NativeSandboxProcess) {
    this.#process = process;
    this.#info = process.info();
  }

  get id(): string {
    return this.#info.id;
  }

  /** Process id inside the box; null when it was attached to by its id alone. */
  get pid(): number | null {
    return this.#info.pid === 0 ? null : this.#info.pid;
  }

  /**
   * Appends to its input; resolves when it was accepted into a bounded buffer. After attaching again, `offset` says how much of the
   * input is known to have gone before. Errors: PRL_SANDBOX_UNKNOWN, PRL_SANDBOX_FILE when it has no open input.
   */
  async write(data: FileContent, options: { offset?: number } = {}): Promise<void> {
    knownKeys(options, { offset: true }, "");
    const bytes = bytesOf(data, "data");
    if (options.offset !== undefined) this.#written = count(options.offset, "offset", 0);
    await this.#send(bytes, false);
  }

  /** Ends its input. */
  async end(): Promise<void> {
    await this.#send(new Uint8Array(0), true);
  }

  async #send(bytes: Uint8Array, end: boolean): Promise<void> {
    const offset = this.#written;
    this.#written += bytes.length;
    const before = this.#writing;
    const sent = before.then(async () => this.#deliver(offset, bytes, end));
    // The caller gets the failure of its write; later writes fail by themselves.
    this.#writing = sent.catch(() => undefined);
    await sent;
  }

  async #deliver(offset: number, bytes: Uint8Array, end: boolean): Promise<void> {
    for (let done = 0; ;) {
      const accepted = await nativeAsync(() => this.#process.input(offset + done, bytes.subarray(done), end));
      done = accepted - offset;
      if (done >= bytes.length) return;
    }
  }

  /** Sends a signal (`SIGINT`, or its number) to it and everything that it started. */
  async signal(signal: NodeJS.Signals | number): Promise<void> {
    const number = typeof signal === "number" ? signal : constants.signals[signal];
    if (number === undefined) throw wrong("signal", `no signal is called ${JSON.stringify(signal)}`);
    await nativeAsync(() => this.#process.signal(count(number, "signal", 1)));
  }

  /** Ends it and everything that it started. */
  async kill(): Promise<void> {
    await this.signal("SIGKILL");
  }

  /** Tells its terminal a new size. */
  async resize(size: PtySize): Promise<void> {
    const [rows, columns] = [count(size.rows, "rows", 1), count(size.columns, "columns", 1)];
    await nativeAsync(() => this.#process.resize(rows, columns));
  }

  /** Its output from these positions on, until its end. Leaving the loop early leaves the process running. */
  async *output(
    from: { stdoutFrom?: number; stderrFrom?: number } = {},
  ): AsyncGenerator<ProcessChunk, RunResult, void> {
    knownKeys(from, { stdoutFrom: true, stderrFrom: true }, "");
    const stdoutFrom = count(from.stdoutFrom ?? 0, "stdoutFrom", 0);
    const stderrFrom = count(from.stderrFrom ?? 0, "stderrFrom", 0);
    const output = this.#process.output(stdoutFrom, stderrFrom);
    try {
      for (;;) {
        const event = await nativeAsync(() => output.next());
        if (event === null || event === undefined) throw wrong("output", "it is being read no more");
        if (event.result !== null && event.result !== undefined) return toRunResult(event.result);
        yield { stream: event.kind as ProcessChunk["stream"], offset: event.offset, data: event.data };
      }
    } finally {
      output.close();
    }
  }

  /**
   * Waits for its end. The result has the head and the tail of the output that came while waiting; a process that is gone with its box or
   * daemon is INFRA. Rejects when a listener does, and leaves the process running then.
   */
  async wait(options: WaitOptions = {}): Promise<RunResult> {
    knownKeys(options, WAIT, "");
    const { onStdout, onStderr, signal, stdoutFrom = 0, stderrFrom = 0, outputBytes = KEPT_BYTES } = options;
    const kept = { stdout: new KeptOutput(outputBytes), stderr: new KeptOutput(outputBytes) };
    const from = { stdout: stdoutFrom, stderr: stderrFrom };
    // A process that cannot be killed any more has ended; the result says how.
    const release = onAbort(signal, () => void this.kill().catch(() => undefined));
    try {
      const output = this.output({ stdoutFrom, stderrFrom });
      for (;;) {
        const next = await output.next();
        if (next.done === true) return this.#ended(next.value, kept, signal);
        const { stream, offset, data } = next.value;
        kept[stream].add(offset - from[stream], data);
        await (stream === "stdout" ? onStdout : onStderr)?.(data);
      }
    } finally {
      release();
    }
  }

  #ended(
    result: RunResult,
    kept: { stdout: KeptOutput; stderr: KeptOutput },
    signal: AbortSignal | undefined,
  ): RunResult {
    const [stdout, stderr] = [kept.stdout.result(), kept.stderr.result()];
    const isCancelled = signal?.aborted === true && result.cause === "SIGNALED" && result.signal === "SIGKILL";
    return {
      ...result,
      ...(isCancelled ? { cause: "CANCELLED" as const, reason: "aborted" } : {}),
      stdout: stdout.data,
      stderr: stderr.data,
      stdoutGap: stdout.gap,
      stderrGap: stderr.gap,
      stdoutGapAt: stdout.gapAt,
      stderrGapAt: stderr.gapAt,
    };
  }
}
