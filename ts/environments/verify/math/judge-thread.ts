/**
 * A worker thread that judges pairs in order, each within its deadline.
 *
 * Only the pair at the head costs time, so only it has a timer: waiting behind others, or a busy main thread, is charged to nobody.
 * A pair that is late ends the thread; the next pair gets a new one. The thread never keeps the process alive.
 */
import { Worker } from "node:worker_threads";

import { PrlError } from "../../../errors.ts";
import type { Judgement, JudgeOptions } from "./judge.ts";
import type { Judged, Pair } from "./worker.ts";

export type TimedJudgement = { correct: boolean; status: Judgement["status"] | "timeout" };

interface Waiting extends Pair {
  readonly deadlineMs: number;
  readonly resolve: (judgement: TimedJudgement) => void;
  readonly reject: (error: Error) => void;
}

/** Pairs that the thread holds at a time: enough to keep it busy, few to send again when it is ended. */
const IN_THREAD = 16;
/** Deep brackets need a deep stack. */
const STACK_MB = 32;
const HEAP_MB = 512;

export class JudgeThread {
  #worker: Worker | null = null;
  #timer: NodeJS.Timeout | undefined;
  #next = 0;
  /** In order; the first `#sent` are in the thread. */
  readonly #queue: Waiting[] = [];
  #sent = 0;

  judge(gold: string, answer: string, options: JudgeOptions, deadlineMs: number): Promise<TimedJudgement> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ id: this.#next++, gold, answer, options, deadlineMs, resolve, reject });
      this.#feed();
    });
  }

  #feed(): void {
    while (this.#sent < IN_THREAD && this.#sent < this.#queue.length) {
      const waiting = this.#queue[this.#sent];
      if (waiting === undefined) return;
      const { id, gold, answer, options } = waiting;
      this.#thread().postMessage({ id, gold, answer, options } satisfies Pair);
      this.#sent++;
      if (this.#sent === 1) this.#watchHead();
    }
  }

  #thread(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(new URL("./worker.js", import.meta.url), {
      resourceLimits: { stackSizeMb: STACK_MB, maxOldGenerationSizeMb: HEAP_MB },
      execArgv: [],
    });
    worker.on("message", (judged: Judged) => this.#answer(worker, judged));
    worker.on("error", (error) => this.#failHead(worker, error));
    this.#worker = worker;
    worker.ref();
    return worker;
  }

  #answer(worker: Worker, { id, correct, status }: Judged): void {
    if (worker !== this.#worker || this.#queue[0]?.id !== id) return;
    const head = this.#queue.shift();
    this.#sent--;
    head?.resolve({ correct, status });
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
    this.#timer = setTimeout(() => {
      // What the thread answered while this thread was busy comes first.
      setImmediate(() => {
        if (this.#queue[0] === head) this.#late();
      });
    }, head.deadlineMs);
  }

  #late(): void {
    const head = this.#queue.shift();
    this.#discard();
    head?.resolve({ correct: false, status: "timeout" });
    this.#feed();
  }

  /** The thread died under its head: out of memory, for example. */
  #failHead(worker: Worker, cause: Error): void {
    if (worker !== this.#worker) return;
    const head = this.#queue.shift();
    this.#discard();
    if ((cause as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY") {
      head?.resolve({ correct: false, status: "timeout" });
    } else {
      head?.reject(new PrlError("PRL_VERIFY_FAILED", `the verification thread ended: ${cause.message}`, { cause }));
    }
    this.#feed();
  }

  #discard(): void {
    clearTimeout(this.#timer);
    void this.#worker?.terminate();
    this.#worker = null;
    this.#sent = 0;
  }
}
