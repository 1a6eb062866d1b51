/**
 * Keeps the processes of a run together: all of them run, or none, except those that are replaced (`onExit`).
 *
 * The first child that ends when it should not, or is silent for too long once it is ready, fails the run. The error names this child, with its own
 * code when it left one; children that fail because of it are not reported. `stop` leaves no child behind: SIGTERM to every process
 * group, SIGKILL after a grace period, all within ten seconds. When this process ends in a way that still runs JavaScript, the groups are
 * killed at once; otherwise the lifelines end and the children stop themselves.
 */

import { PrlError } from "../../errors.ts";
import { failureOfProcess, readFailureNote } from "../../failure-note.ts";
import { isThere } from "../../files/file-presence.ts";
import { readReadyFile, readyFilePath } from "../../monitors/index.ts";
import { type ChildSpec, describeExit, RunChild } from "./child-process.ts";
import { fullDisk } from "./full-disk.ts";
import { FurthestSteps } from "./restarts/furthest-steps.ts";

export interface SupervisorTimes {
  /** How long a child may take until it is ready, on a machine that may be loaded: until then silence is not a failure. */
  startMs: number;
  /** A child that is ready and without a heartbeat for this long has failed. */
  heartbeatTimeoutMs: number;
  /** A child whose native work has not got on for this long has failed. */
  standstillMs: number;
  /** How long children have after SIGTERM. */
  graceMs: number;
  /** How long after SIGKILL a child may take to be gone. */
  killMs: number;
}

export const SUPERVISOR_TIMES: SupervisorTimes = {
  startMs: 180_000,
  heartbeatTimeoutMs: 30_000,
  standstillMs: 300_000,
  graceMs: 6_000,
  killMs: 3_000,
};
const CHECK_INTERVAL_MS = 1_000;
const READY_POLL_MS = 25;
/** The most likely cause of silence, besides a machine that stands still. */
const BLOCKED =
  "a function of your own may block it (spawnSync, execSync, a native module): it has to return, or to wait asynchronously";
/** The same of native work. */
const STUCK = "a disk may not answer; if all disks do, it is a fault of prl: please report it";
/** The same for a child that was never ready. */
const NEVER_STARTED = "the machine may be overloaded, or a module that it imports does not return";
/** A child that ended with an exit code waits this long for a sibling that died of a signal, which is the likely cause. */
const BLAME_MS = 200;
/** A tick this late means that this process itself stood still, as on a laptop that slept; then silence is not a failure. */
const STANDSTILL_MS = 5_000;

export class Supervisor {
  /** How far the run has come since the processes are watched. */
  readonly furthest = new FurthestSteps();
  readonly #runDir: string;
  readonly #times: SupervisorTimes;
  readonly #children: RunChild[] = [];
  readonly #failed: Failure;
  readonly #watch: NodeJS.Timeout;
  readonly #killAtExit = (): void => this.kill();
  #lastCheck = performance.now();
  #stopping = false;

  constructor(runDir: string, times: SupervisorTimes = SUPERVISOR_TIMES) {
    this.#runDir = runDir;
    this.#times = times;
    this.#failed = openFailure();
    // Waiters get the rejection through `failure`; without a waiter it must not end the process.
    this.#failed.promise.catch(() => undefined);
    this.#watch = setInterval(() => this.#checkHeartbeats(), CHECK_INTERVAL_MS);
    this.#watch.unref();
    process.on("exit", this.#killAtExit);
  }

  get children(): readonly RunChild[] {
    return this.#children;
  }

  /** Rejects when a child fails, with the child's error or `PRL_PROCESS_DIED`; never resolves. Race it against every wait. */
  get failure(): Promise<never> {
    return this.#failed.promise;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Fails the run for a reason outside its processes. */
  fail(error: unknown): void {
    this.#failed.reject(error);
  }

  /**
   * Starts a process and watches it from now on.
   *
   * @throws PrlError `PRL_RUN_INTERRUPTED` from `stop` or `kill` on, because nothing would end it any more
   */
  start(spec: ChildSpec): RunChild {
    if (this.#stopping) {
      const message = `${spec.component}-${spec.index} is not started, because the run has ended`;
      throw new PrlError("PRL_RUN_INTERRUPTED", message);
    }
    const child = new RunChild(spec);
    this.#children.push(child);
    void this.#watchExit(child);
    return child;
  }

  /**
   * Resolves when all the children have written their ready files.
   *
   * @throws PrlError `PRL_PROCESS_NOT_READY` after the deadline, with the end of the log; as `failure` when a child fails first.
   */
  async ready(children: readonly RunChild[], deadlineMs: number): Promise<void> {
    const deadline = performance.now() + deadlineMs;
    const waiting = new Set(children);
    while (waiting.size > 0) {
      for (const child of waiting) {
        if (await isThere(readyFilePath(this.#runDir, child.component, child.index))) waiting.delete(child);
      }
      const late = waiting.values().next().value;
      if (late === undefined) return;
      if (performance.now() > deadline) {
        throw new PrlError(
          "PRL_PROCESS_NOT_READY",
          `${late.name} was not ready within ${Math.round(deadlineMs / 1000)} s. The end of ${late.logPath}:\n${indent(await late.logTail())}`,
        );
      }
      await Promise.race([sleep(READY_POLL_MS), this.failure]);
    }
  }

  /** Resolves when the child has ended with exit code 0; rejects as `failure` does. */
  async finished(child: RunChild): Promise<void> {
    const exit = await Promise.race([child.exited, this.failure]);
    if (exit.code !== 0) await this.failure;
  }

  /**
   * Asks the processes that hold the run's state to end with a checkpoint; from now on nothing is started again. True when all of them have ended in time,
   * with 0. `onAsked` is called when they are asked: not when there are none, or one of them is not at work.
   */
  async endWithCheckpoint(limitMs: number, onAsked: () => void): Promise<boolean> {
    this.#stopping = true;
    const holders = this.#children.filter(({ checkpoints }) => checkpoints);
    const running = holders.filter(({ exit }) => exit === null);
    const areReady = await Promise.all(running.map((child) => this.#isReady(child)));
    const places = new Set(holders.map(({ name }) => name)).size;
    if (places === 0 || running.length < places || areReady.includes(false)) return false;
    onAsked();
    for (const child of running) child.askToEnd();
    const ended = running.map(async ({ exited }) => {
      const { code } = await exited;
      if (code !== 0) throw new PrlError("PRL_PROCESS_DIED", "a process has ended without the checkpoint");
    });
    const timer = new AbortController();
    const isMade = await Promise.race([
      Promise.all(ended).then(
        () => true,
        () => false,
      ),
      sleep(limitMs, timer.signal).then(() => false),
    ]);
    timer.abort();
    return isMade;
  }

  /** Ends every child that still runs; resolves when all are gone. Later calls do nothing. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#watch);
    for (const child of this.#running()) child.signal("SIGTERM");
    await this.#goneWithin(this.#times.graceMs);
    for (const child of this.#running()) child.signal("SIGKILL");
    await this.#goneWithin(this.#times.killMs);
    process.off("exit", this.#killAtExit);
    this.#assertGone(this.#children);
  }

  /**
   * Kills these children and resolves when they are gone; their `onExit` has to handle that.
   *
   * @throws PrlError `PRL_DEADLINE`
   */
  async end(children: readonly RunChild[]): Promise<void> {
    for (const child of children) if (child.exit === null) child.signal("SIGKILL");
    await this.#goneWithin(this.#times.killMs, children);
    this.#assertGone(children);
  }

  /** Sends SIGKILL to every group at once. */
  kill(): void {
    this.#stopping = true;
    for (const child of this.#running()) child.signal("SIGKILL");
  }

  #running(): RunChild[] {
    return this.#children.filter((child) => child.exit === null);
  }

  async #goneWithin(limitMs: number, children: readonly RunChild[] = this.#children): Promise<void> {
    const timer = new AbortController();
    await Promise.race([Promise.all(children.map((child) => child.exited)), sleep(limitMs, timer.signal)]);
    timer.abort();
  }

  #assertGone(children: readonly RunChild[]): void {
    const left = children.filter((child) => child.exit === null);
    if (left.length === 0) return;
    const names = left.map((child) => `${child.name} (pid ${child.pid})`).join(", ");
    throw new PrlError("PRL_DEADLINE", `not gone ${this.#times.killMs / 1000} s after SIGKILL: ${names}`);
  }

  async #watchExit(child: RunChild): Promise<void> {
    const exit = await child.exited;
    if (this.#stopping || (child.finishes && exit.code === 0)) return;
    try {
      if (child.onExit !== undefined && (await child.onExit(exit))) return;
    } catch (error) {
      this.fail(error);
      return;
    }
    // A child that was killed may make others fail before its own end is noticed; the error names the killed one.
    if (exit.signal === null) await sleep(BLAME_MS);
    this.#failed.reject(await this.#death(child, exit.reason ?? `ended unexpectedly: ${describeExit(exit)}`));
  }

  /** The error that the child itself reported, with its end as the cause; when it reported none because the disk is full, that. */
  async #death(child: RunChild, what: string): Promise<PrlError> {
    const { component, index, pid, name } = child;
    const tail = indent(await child.logTail());
    const text = `${name} ${what}${advice(child)}. The end of ${child.logPath}:\n${tail}`;
    const died = new PrlError("PRL_PROCESS_DIED", text);
    try {
      const found = await readFailureNote({ runDir: this.#runDir, component, index });
      const note = found?.pid === pid ? found : null;
      const full = note === null ? await fullDisk(this.#runDir) : null;
      if (full === null) return failureOfProcess(name, note, died);
      return new PrlError("PRL_IO", `${name}: ${full}; make room, then go on with --resume`, { cause: died });
    } catch (cause) {
      return new PrlError(died.code, died.message, { cause });
    }
  }

  #checkHeartbeats(): void {
    const now = performance.now();
    const stoodStill = now - this.#lastCheck > STANDSTILL_MS;
    this.#lastCheck = now;
    for (const child of this.#running()) {
      if (stoodStill) child.lastHeartbeat = now;
      else if (now - child.lastHeartbeat > this.#times.heartbeatTimeoutMs) void this.#seeToSilent(child);
      else if (child.standstill !== null && child.standstill.ms > this.#times.standstillMs) {
        const { work, ms } = child.standstill;
        const why = `has native work (${work}) that has not got on for ${Math.round(ms / 1000)} s; ${STUCK}`;
        this.#endHanging(child, why).catch((error: unknown) => this.fail(error));
      }
    }
  }

  async #seeToSilent(child: RunChild): Promise<void> {
    try {
      const isReady = await this.#isReady(child);
      const limitMs = isReady ? this.#times.heartbeatTimeoutMs : this.#times.startMs;
      if (performance.now() - child.lastHeartbeat <= limitMs || child.exit !== null) return;
      const seconds = Math.round(limitMs / 1000);
      const silence = isReady
        ? `gave no sign of life for ${seconds} s; ${BLOCKED}`
        : `gave no sign of life for ${seconds} s while it started; ${NEVER_STARTED}`;
      await this.#endHanging(child, silence);
    } catch (error) {
      this.fail(error);
    }
  }

  async #endHanging(child: RunChild, why: string): Promise<void> {
    // `onExit` handles its end like any other.
    if (child.onExit !== undefined) child.kill(why);
    else this.#failed.reject(await this.#death(child, why));
  }

  /** Whether this process, not an earlier one in its place, has written its ready file. */
  async #isReady({ component, index, pid }: RunChild): Promise<boolean> {
    return (await readReadyFile(this.#runDir, component, index))?.pid === pid;
  }
}

function advice(child: RunChild): string {
  return child.advice === undefined ? "" : `; ${child.advice()}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** A promise that can only reject. */
interface Failure {
  promise: Promise<never>;
  reject(reason: unknown): void;
}

function openFailure(): Failure {
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<never>((_, rejectIt) => {
    reject = rejectIt;
  });
  return { promise, reject };
}
