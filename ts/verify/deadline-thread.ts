/**
 * A worker thread that does jobs in order, each within its deadline.
 *
 * Only the job at the head is running, so only it has a timer: waiting behind others, a busy main thread, or the start of the thread do
 * not count for any job.
 * A job that is late ends the thread; the next one gets a new one. The thread never keeps the process alive while it has nothing to do.
 */
import { Worker } from "node:worker_threads";

import { PrlError } from "../errors.ts";
import { threadScript } from "../async/thread-script.ts";

/** Message to the thread. */
export interface NumberedJob<Job> {
  readonly id: number;
  readonly job: Job;
}

/** First message from the thread: it has loaded and takes jobs. */
export const READY: NumberedResult<null> = { id: -1, result: null };
/** A thread that has not loaded by then never will. */
const START_MS = 60_000;

/** Answer of the thread, in the order of the jobs. */
export interface NumberedResult<Result> {
  readonly id: number;
  readonly result: Result;
}

interface Waiting<Job, Result> extends NumberedJob<Job> {
  readonly deadlineMs: number;
  readonly resolve: (result: Result | typeof LATE) => void;
  readonly reject: (error: Error) => void;
}

/** Instead of a result: the job did not end in time, or took all the memory. */
export const LATE = Symbol("late");

/** Jobs that the thread holds at a time: enough to keep it busy, few to send again when it is ended. */
const IN_THREAD = 16;
/** Deep brackets need a deep stack. */
const STACK_MB = 32;
const HEAP_MB = 512;

export class DeadlineThread<Job, Result> {
  readonly #script: URL;
  #worker: Worker | null = null;
  #timer: NodeJS.Timeout | undefined;
  #next = 0;
  /** Jobs in order; the first `#sent` are in the thread. */
  readonly #queue: Waiting<Job, Result>[] = [];
  #sent = 0;
  #isReady = false;

  /** `script` says `READY`, then answers each `NumberedJob` with a `NumberedResult`, one after the other. */
  constructor(script: URL) {
    this.#script = script;
  }

  run(job: Job, deadlineMs: number): Promise<Result | typeof LATE> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ id: this.#next++, job, deadlineMs, resolve, reject });
      this.#feed();
    });
  }

  #feed(): void {
    while (this.#sent < IN_THREAD && this.#sent < this.#queue.length) {
      const waiting = this.#queue[this.#sent];
      if (waiting === undefined) return;
      this.#thread().postMessage({ id: waiting.id, job: waiting.job } satisfies NumberedJob<Job>);
      this.#sent++;
      if (this.#sent === 1) this.#watchHead();
    }
  }

  #thread(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(threadScript(this.#script), {
      resourceLimits: { stackSizeMb: STACK_MB, maxOldGenerationSizeMb: HEAP_MB },
      execArgv: [],
    });
    worker.on("message", (answer: NumberedResult<Result>) => this.#answer(worker, answer));
    worker.on("error", (error) => this.#failHead(worker, error));
    this.#worker = worker;
    worker.ref();
    return worker;
  }

  #answer(worker: Worker, { id, result }: NumberedResult<Result>): void {
    if (worker !== this.#worker) return;
    if (id === READY.id) {
      this.#isReady = true;
      this.#watchHead();
      return;
    }
    if (this.#queue[0]?.id !== id) return;
    const head = this.#queue.shift();
    this.#sent--;
    head?.resolve(result);
    this.#watchHead();
    this.#feed();
  }

  #watchHead(): void {
    clearTimeout(this.#timer);
    const [head] = this.#queue;
    if (head === undefined || this.#sent === 0) {
      this.#worker?.unref();
      return;
    }
    this.#worker?.ref();
    if (!this.#isReady) {
      const error = new Error(`it did not start within ${START_MS / 1000} s`);
      this.#timer = setTimeout(() => this.#worker !== null && this.#failHead(this.#worker, error), START_MS);
      return;
    }
    this.#timer = setTimeout(() => {
      // Answers that arrived while this thread was busy are handled first.
      setImmediate(() => {
        if (this.#queue[0] === head) this.#late();
      });
    }, head.deadlineMs);
  }

  #late(): void {
    const head = this.#queue.shift();
    this.#discard();
    head?.resolve(LATE);
    this.#feed();
  }

  /** The thread died while it did the head's job: out of memory, for example. */
  #failHead(worker: Worker, cause: Error): void {
    if (worker !== this.#worker) return;
    const head = this.#queue.shift();
    this.#discard();
    if ((cause as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY") head?.resolve(LATE);
    else head?.reject(new PrlError("PRL_VERIFY_FAILED", `the verification thread ended: ${cause.message}`, { cause }));
    this.#feed();
  }

  #discard(): void {
    clearTimeout(this.#timer);
    void this.#worker?.terminate();
    this.#worker = null;
    this.#sent = 0;
    this.#isReady = false;
  }
}

/** Errors: PRL_VERIFY_OPTIONS for an invalid deadline. */
export function checkDeadline(deadlineMs: number): void {
  if (deadlineMs > 0 && deadlineMs <= 600_000) return;
  throw new PrlError("PRL_VERIFY_OPTIONS", `deadlineMs: expected a number from 1 to 600000, got ${deadlineMs}`);
}
