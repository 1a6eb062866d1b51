/**
 * A machine in virtual time: processes whose timers, files and messages are events of one queue.
 *
 * Code runs inside a process (`enter`) and is the product's own. What it waits for, a timer, a file, a call of the addon, a message, is an event with a
 * delay from the seed; time moves from event to event and stands still while code runs. An event of a process that was killed is dropped, so
 * that its code stops where it waits, as after SIGKILL; events of a stopped process wait for SIGCONT. Equal seeds give equal orders of all events.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { closeSync } from "node:fs";

import { createRng, type Rng } from "../../../ts/random/rng.ts";
import { MinHeap } from "../../../ts/simulation/min-heap.ts";

type Action = () => void;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of the machine. */
export interface SimulatedProcess {
  readonly name: string;
  readonly pid: number;
  state: "running" | "stopped" | "dead";
  /** Events of a stopped process. */
  held: Action[];
  /** Descriptors that it has open. */
  readonly files: Set<number>;
  /** Asked to end (SIGTERM). */
  readonly stopping: AbortController;
  readonly onExit: (exit: Exit) => void;
  /** What notices its end: the requests that it has not answered. */
  readonly connections: Set<() => void>;
}

interface Due {
  readonly process: SimulatedProcess | null;
  readonly action: Action;
  isCancelled: boolean;
}

/** No process of the real machine has such a number. */
const FIRST_PID = 1_000_000_000;
/** One for all worlds: Node keeps each storage that ever ran, and every promise pays for all of them. */
const CONTEXT = new AsyncLocalStorage<SimulatedProcess>();
const realImmediate = setImmediate;

export class World {
  readonly rng: Rng;
  /** What happened, for a comparison of two runs of a seed. */
  readonly log: string[] = [];
  readonly processes: SimulatedProcess[] = [];
  events = 0;
  isDiskFull = false;
  /** A folder is removed entry by entry, so that a process may be killed when some are left. */
  removesEntries = false;
  readonly #due = new MinHeap<Due>();
  #calls = 0;
  #failure: { readonly error: unknown } | null = null;
  #now = 0;

  constructor(seed: number) {
    this.rng = createRng(seed);
  }

  /** Milliseconds since the beginning. */
  get now(): number {
    return this.#now;
  }

  /** The process whose code runs; undefined outside of the machine. */
  get current(): SimulatedProcess | undefined {
    const process = CONTEXT.getStore();
    // What an earlier world has left behind does not run in this one.
    return process !== undefined && this.processes[process.pid - FIRST_PID] === process ? process : undefined;
  }

  note(text: string): void {
    this.log.push(`${this.#now.toFixed(3)} ${text}`);
  }

  /** Starts a process; `body` settles with its end, unless it is killed before. */
  spawn(name: string, body: (process: SimulatedProcess) => Promise<number>, onExit: (exit: Exit) => void) {
    const process: SimulatedProcess = {
      name,
      pid: FIRST_PID + this.processes.length,
      state: "running",
      held: [],
      files: new Set(),
      stopping: new AbortController(),
      onExit,
      connections: new Set(),
    };
    this.processes.push(process);
    this.schedule(this.delay(1, 20), process, () => {
      body(process).then(
        (code) => this.#end(process, { code, signal: null }),
        (error: unknown) => this.fail(error),
      );
    });
    return process;
  }

  signal(process: SimulatedProcess, signal: NodeJS.Signals): void {
    if (process.state === "dead") return;
    if (signal === "SIGKILL") this.#end(process, { code: null, signal });
    else if (signal === "SIGSTOP") process.state = "stopped";
    else if (signal === "SIGCONT") this.#go(process);
    else this.schedule(this.delay(0, 5), process, () => process.stopping.abort(signal));
  }

  /** Milliseconds between the two, mostly near the lower one. */
  delay(least: number, most: number): number {
    return least + (most - least) * this.rng.next() ** 3;
  }

  /** Calls the action in the process after that time (ms). Returns what cancels it. */
  schedule(ms: number, process: SimulatedProcess | null, action: Action): () => void {
    const due = { process, action, isCancelled: false };
    this.#due.push(this.#now + Math.max(0, ms), due);
    return () => void (due.isCancelled = true);
  }

  /** A system call of the current process: done after a while, then its result is there. */
  operation<Result>(work: () => Result, least = 0.01, most = 2): Promise<Result> {
    const { current } = this;
    return new Promise((resolve, reject) => {
      this.schedule(this.delay(least, most), current ?? null, () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Work of a native thread: it is done before time moves, and its result comes after a while. */
  native<Result>(work: Promise<Result>): Promise<Result> {
    const { current } = this;
    if (current === undefined) return work;
    this.#calls += 1;
    const left = (): void => void (this.#calls -= 1);
    work.then(left, left);
    return new Promise((resolve, reject) => {
      this.schedule(this.delay(0.1, 4), current, () => void work.then(resolve, reject));
    });
  }

  /** Something went wrong outside of what the run may meet. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Lets time go until `isOver`. Errors: when nothing is due any more, or it takes longer than `mostMs` of virtual time. */
  async run(isOver: () => boolean, mostMs: number): Promise<void> {
    for (;;) {
      await this.#settled();
      if (this.#failure !== null) throw this.#failure.error;
      if (isOver()) return;
      const due = this.#next();
      if (due === undefined) throw new Error(`nothing is due any more at ${this.#now} ms`);
      if (this.#now > mostMs) throw new Error(`the run has not ended after ${mostMs / 1000} s of virtual time`);
      this.events += 1;
      this.#take(due);
    }
  }

  #next(): Due | undefined {
    const at = this.#due.leastKey;
    const due = this.#due.pop();
    if (due !== undefined && at !== undefined && !due.isCancelled) this.#now = at;
    return due;
  }

  #take({ process, action, isCancelled }: Due): void {
    if (isCancelled || process?.state === "dead") return;
    if (process === null) CONTEXT.exit(action);
    else if (process.state === "stopped") process.held.push(action);
    else CONTEXT.run(process, action);
  }

  /** All code waits for events. */
  async #settled(): Promise<void> {
    do await new Promise<void>((resolve) => void realImmediate(resolve));
    while (this.#calls > 0);
  }

  #go(process: SimulatedProcess): void {
    if (process.state !== "stopped") return;
    process.state = "running";
    for (const action of process.held.splice(0)) this.schedule(0, process, action);
  }

  #end(process: SimulatedProcess, exit: Exit): void {
    if (process.state === "dead") return;
    process.state = "dead";
    process.held = [];
    const files = [...process.files];
    process.files.clear();
    for (const file of files) closeSync(file);
    this.note(`${process.name} ended: ${exit.signal ?? exit.code}`);
    process.onExit(exit);
    for (const broken of process.connections) broken();
    process.connections.clear();
  }
}
