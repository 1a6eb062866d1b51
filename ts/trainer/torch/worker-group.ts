/**
 * The processes of the torch trainer, from the launcher's side: one torchrun, and under it one worker for each rank
 * (`python/prl_torch/worker.py`), which connects to a Unix socket of this process.
 *
 * A call goes to all ranks, and each answers: JSON lines, one call at a time. Every call has a deadline; a rank that does not answer in
 * time, gives no sign of life, or ends, is named, and the group is of no use afterwards. Workers end at once when this process is gone, because their connections
 * break then.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";

import { untilAborted, withDeadline } from "../../async/deadline.ts";
import { isErrorCode, PrlError } from "../../errors.ts";
import { makeSocketFolder } from "../../files/socket-folder.ts";
import { SignsOfLife } from "./signs-of-life.ts";

export interface WorkerGroupOptions {
  /** Python with torch, transformers and safetensors. */
  interpreter: string;
  /** Folders in which it looks for modules beside its own; absent: none. */
  modules?: readonly string[];
  ranks: number;
  /** Threads of each rank. */
  threads: number;
  /** A rank that has given no sign of life for so long hangs. */
  silenceMs: number;
  /** A rank that has not answered a call by then hangs. */
  callMs: number;
}

/** From the start of torchrun until every rank has connected: Python reads some gigabytes of libraries. */
const START_MS = 180_000;
const END_MS = 10_000;
const SOCKET = "ranks.sock";
/** Sources and build output are equally deep below the package's folder. */
const PYTHON = fileURLToPath(new URL("../../../ts/trainer/torch/python", import.meta.url));

/** A sign of life, with the place in the Python code where the rank is at work. */
const aliveSchema = z.object({ alive: z.string() });
const helloSchema = z.object({ rank: z.int().nonnegative(), pid: z.int().positive() });
const answerSchema = z.union([
  z.object({ id: z.int(), result: z.record(z.string(), z.unknown()) }),
  z.object({ id: z.int(), error: z.object({ code: z.string(), message: z.string() }) }),
]);
type Answer = z.output<typeof answerSchema>;

interface Rank {
  readonly pid: number;
  readonly socket: Socket;
  answer: ((answer: Answer) => void) | null;
}

export class WorkerGroup {
  readonly #options: WorkerGroupOptions;
  readonly #ranks = new Map<number, Rank>();
  /** All connections, also those of processes that have not said their rank. */
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #exited: Promise<void>;
  readonly #signs: SignsOfLife;
  /** Aborted with the first failure of the group. */
  readonly #failed = new AbortController();
  #connected: () => void = () => undefined;
  #calls = 0;
  #queue: Promise<unknown> = Promise.resolve();
  #closing = false;

  /** Starts the workers and waits until all have connected. Errors: PRL_TORCH_WORKER. */
  static async start(options: WorkerGroupOptions): Promise<WorkerGroup> {
    const folder = await makeSocketFolder("prl-torch-", SOCKET);
    const server = createServer();
    const path = join(folder, SOCKET);
    try {
      await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
    } catch (cause) {
      await rm(folder, { recursive: true, force: true });
      throw new PrlError("PRL_TORCH_WORKER", `the torch trainer: cannot listen on ${path}`, { cause });
    }
    const group = new WorkerGroup(options, server, folder, path);
    const all = new Promise<void>((resolve) => (group.#connected = resolve));
    const late = () => group.#error(`${group.#missing()} did not connect within ${START_MS / 1000} s`);
    try {
      await withDeadline(untilAborted(all, group.#failed.signal), START_MS, late);
      return group;
    } catch (error) {
      await group.close();
      throw error;
    }
  }

  private constructor(options: WorkerGroupOptions, server: Server, folder: string, path: string) {
    this.#options = options;
    this.#server = server;
    this.#folder = folder;
    const silence = `for ${options.silenceMs / 1000} s: it is stopped, or stuck outside of Python (trainer.rank_timeout_s)`;
    this.#signs = new SignsOfLife(options.silenceMs, (silent) => {
      this.#fail(this.#error(`${this.#named(silent)} gave no sign of life ${silence}`));
    });
    server.on("connection", (socket) => this.#accept(socket));
    const { interpreter, modules = [], ranks, threads } = options;
    const torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", String(ranks)];
    // A separate process group, so that Ctrl-C in a terminal lets the step end.
    this.#process = spawn(interpreter, [...torchrun, "-m", "prl_torch.worker"], {
      detached: true,
      // Standard output may be the answer of a command.
      stdio: ["ignore", 2, 2],
      env: {
        ...process.env,
        PRL_TORCH_SOCKET: path,
        PYTHONPATH: [PYTHON, ...modules].join(delimiter),
        PYTHONUNBUFFERED: "1",
        OMP_NUM_THREADS: String(threads),
        HF_HUB_OFFLINE: "1",
        TOKENIZERS_PARALLELISM: "false",
      },
    });
    this.#exited = new Promise((resolve) => {
      this.#process.once("error", (cause) => {
        this.#fail(this.#error(`cannot start ${interpreter}`, cause));
        resolve();
      });
      this.#process.once("exit", (code, signal) => {
        this.#fail(this.#error(`its processes ended (${signal ?? `exit code ${code}`}); the trainer's log says why`));
        resolve();
      });
    });
  }

  /** For files of the calls; it is removed at the end. */
  get folder(): string {
    return this.#folder;
  }

  /** Process ids by rank. */
  get processes(): ReadonlyMap<number, number> {
    return new Map([...this.#ranks].map(([index, { pid }]) => [index, pid]));
  }

  /**
   * Asks every rank and gives the answer of rank 0. Errors: the code that a rank gives, PRL_TORCH_WORKER when one ends or does not
   * answer.
   */
  call(op: string, args: (rank: number) => Record<string, unknown> = () => ({})): Promise<Record<string, unknown>> {
    const called = this.#queue.then(() => this.#call(op, args));
    this.#queue = called.catch(() => undefined);
    return called;
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#signs.stop();
    for (const { socket } of this.#ranks.values()) socket.write(`{"id": 0, "op": "close"}\n`);
    const stop = () => this.#kill();
    const timer = setTimeout(stop, END_MS);
    if (this.#ranks.size < this.#options.ranks) stop();
    await this.#exited;
    clearTimeout(timer);
    // A rank that still runs loses its connection, which ends it.
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #call(op: string, args: (rank: number) => Record<string, unknown>): Promise<Record<string, unknown>> {
    const id = ++this.#calls;
    const silent = new Set(this.#ranks.keys());
    const ranks = [...this.#ranks].toSorted(([a], [b]) => a - b);
    const answers = ranks.map(async ([index, rank]) => {
      const answer = await new Promise<Answer>((resolve) => {
        // A call ends with the first error of a rank: the others' answers to it come during the next call.
        rank.answer = (given) => {
          if (given.id === id) resolve(given);
        };
        rank.socket.write(`${JSON.stringify({ id, op, ...args(index) })}\n`);
      });
      silent.delete(index);
      if ("error" in answer) throw this.#errorOf(index, answer.error);
      return answer.result;
    });
    const { callMs } = this.#options;
    const late = () =>
      this.#error(
        `${this.#named([...silent])} did not answer ${op} within ${callMs / 1000} s (trainer.call_timeout_s)`,
      );
    const [first] = await withDeadline(untilAborted(Promise.all(answers), this.#failed.signal), callMs, late);
    return first ?? {};
  }

  #accept(socket: Socket): void {
    let rank: Rank | null = null;
    let name = "a rank";
    let index = -1;
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      this.#sockets.delete(socket);
      if (!this.#closing) this.#fail(this.#error(`${name} ended; the trainer's log says why`));
    });
    const lines = createInterface({ input: socket });
    // It repeats the errors of its socket, whose end is what counts.
    lines.on("error", () => undefined);
    lines.on("line", (line) => {
      try {
        const message: unknown = JSON.parse(line);
        if (rank !== null) {
          const alive = aliveSchema.safeParse(message);
          this.#signs.heard(index, alive.data?.alive ?? null);
          if (!alive.success) rank.answer?.(answerSchema.parse(message));
          return;
        }
        const hello = helloSchema.parse(message);
        const { pid } = hello;
        index = hello.rank;
        this.#signs.heard(index, null);
        rank = { pid, socket, answer: null };
        name = `rank ${index} (process ${pid})`;
        this.#ranks.set(index, rank);
        if (this.#ranks.size === this.#options.ranks) this.#connected();
      } catch (cause) {
        this.#fail(this.#error(`${name} wrote what is no answer`, cause));
      }
    });
  }

  #fail(error: PrlError): void {
    this.#failed.abort(error);
  }

  #missing(): string {
    const all = Array.from({ length: this.#options.ranks }, (_, rank) => rank);
    return `rank ${all.filter((rank) => !this.#ranks.has(rank)).join(", ")}`;
  }

  /** Ranks with their processes, and where they were at work. */
  #named(ranks: readonly number[]): string {
    const texts = ranks
      .toSorted((a, b) => a - b)
      .map((rank) => {
        const place = this.#signs.placeOf(rank);
        return `rank ${rank} (process ${this.#ranks.get(rank)?.pid ?? "unknown"}${place === null ? "" : `, at ${place}`})`;
      });
    return texts.join(", ");
  }

  #errorOf(rank: number, { code, message }: { code: string; message: string }): PrlError {
    if (!isErrorCode(code) || code === "PRL_TORCH_WORKER") return this.#error(`rank ${rank}: ${message}`);
    return new PrlError(code, message);
  }

  #error(what: string, cause?: unknown): PrlError {
    return new PrlError("PRL_TORCH_WORKER", `the torch trainer: ${what}`, { cause });
  }

  /** Ends torchrun and its ranks, which have other process groups; a rank whose connection is open is still there. */
  #kill(): void {
    for (const { pid, socket } of this.#ranks.values()) if (!socket.destroyed) kill(pid);
    const { pid, exitCode, signalCode } = this.#process;
    if (pid !== undefined && exitCode === null && signalCode === null) kill(-pid);
  }
}

/** A negative number is a process group. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause;
  }
}
