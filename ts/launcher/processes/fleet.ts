/**
 * Processes of one kind that the run can miss for a while: each that dies is replaced, and their number follows the load.
 *
 * The number of env workers follows the load, between a least and a most. Under load there are two where two are allowed: when one dies, the other
 * has its rollouts at once. The number of inference servers is fixed; there is one sandbox daemon.
 * The orchestrator publishes the load (`LoadFile`) and finds the workers by their ready files, so a worker is retired by removing its
 * file: it gets nothing more, and is stopped when it has ended its rollouts. A process that dies is started again: at once when the run
 * came further with it, else after a pause that doubles. The run fails when one dies again and again without that, or very often at all, or fails by itself
 * before any was ready; one that is killed before that is also started again, a few times.
 */
import { readdirSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { readFailureNote } from "../../failure-note.ts";
import { isThere } from "../../files/file-presence.ts";
import { readLoad, readyFilePath } from "../../monitors/index.ts";
import { STOP_SIGNALS, stopExit } from "../../stop-signal.ts";
import { type ChildExit, type ChildSpec, describeExit, type RunChild } from "./child-process.ts";
import { BackOff, FIRST_PAUSE_MS } from "./restarts/back-off.ts";
import type { Supervisor } from "./supervisor.ts";

export interface FleetOptions {
  runDir: string;
  /** `env-worker` */
  component: string;
  least: number;
  most: number;
  /** Rollouts that one process is meant for. */
  rolloutsPerWorker: number;
  spec: (index: number) => ChildSpec;
  /** Called with what happened to workers. */
  note: (message: string) => void;
  /** Called for each process that is started again. */
  onRestart?: (restart: Restart) => void;
  times?: FleetTimes;
}

export interface Restart {
  component: string;
  index: number;
  /** How the process before it ended. */
  exit: string;
  /** Deaths in a row without progress in between, this one included; each doubles the pause before the start. */
  deaths: number;
}

export interface FleetTimes {
  /** Time between two reads of the load. */
  intervalMs: number;
  /** A higher load has to last this long before workers are started for it: a process for a peak of a second would only be in the way. */
  busyMs: number;
  /** A lower load has to last this long before a worker is retired. */
  calmMs: number;
  /** The orchestrator looks for workers twice a second; this long after a worker was retired, its report about that worker is reliable. */
  retiredMs: number;
  /** A process that lives this long resets the count of deaths, as progress does. */
  longLifeMs: number;
  /** Pause after the second death in a row; after the first there is none. */
  firstPauseMs: number;
  /** All deaths within this time count for the most that there may be, those with progress in between, too. */
  windowMs: number;
}

export const FLEET_TIMES: FleetTimes = {
  intervalMs: 1_000,
  busyMs: 3_000,
  calmMs: 30_000,
  retiredMs: 3_000,
  longLifeMs: 30_000,
  firstPauseMs: FIRST_PAUSE_MS,
  windowMs: 600_000,
};

/** Processes under load: a spare takes the rollouts of one that dies, long before another has started. */
const LEAST_UNDER_LOAD = 2;
/** Deaths in a row that fail the run. */
const MOST_DEATHS = 10;
/** Deaths of one process within the window that fail the run, also when the run came further in between: others may have brought it there. */
const MOST_DEATHS_IN_WINDOW = 60;
/** The same before any process was ready: a machine without the memory for one kills each of them. */
const MOST_DEATHS_AT_START = 3;

interface Slot {
  readonly index: number;
  child: RunChild;
  startedAt: number;
  /** How far the run was then. */
  furthest: number;
  readonly backOff: BackOff;
  /** Times of the deaths within the window. */
  diedAt: number[];
  wasReady: boolean;
  retiredAt: number | null;
}

export class Fleet {
  readonly #supervisor: Supervisor;
  readonly #options: FleetOptions;
  readonly #times: FleetTimes;
  readonly #slots = new Map<number, Slot>();
  readonly #pauses = new Set<NodeJS.Timeout>();
  #watch: NodeJS.Timeout | undefined;
  #lastLoad = -Infinity;
  #enoughSince: number | null = null;
  #tooFewSince: number | null = null;
  #isLooking = false;
  #stopped = false;

  constructor(supervisor: Supervisor, options: FleetOptions) {
    this.#supervisor = supervisor;
    this.#options = options;
    this.#times = options.times ?? FLEET_TIMES;
  }

  /** Starts the least number of workers and follows the load from now on. */
  start(): RunChild[] {
    // An earlier attempt of the run may have had more processes.
    for (const name of readdirSync(join(this.#options.runDir, "run"))) {
      if (name.startsWith(`${this.#options.component}-`)) rmSync(join(this.#options.runDir, "run", name));
    }
    this.#watch = setInterval(() => void this.#look(), this.#times.intervalMs);
    this.#watch.unref();
    return Array.from({ length: this.#options.least }, () => this.#add().child);
  }

  /** Starts and retires no worker any more. The supervisor ends the existing ones. */
  stop(): void {
    this.#stopped = true;
    clearInterval(this.#watch);
    for (const pause of this.#pauses) clearTimeout(pause);
  }

  /** Number of workers that take rollouts, or will. */
  get size(): number {
    return [...this.#slots.values()].filter(({ retiredAt }) => retiredAt === null).length;
  }

  get #furthest(): number {
    return this.#supervisor.furthest.of(this.#options.component);
  }

  #add(): Slot {
    let index = 0;
    while (this.#slots.has(index)) index += 1;
    const slot: Slot = {
      index,
      child: this.#run(index),
      startedAt: performance.now(),
      furthest: this.#furthest,
      backOff: new BackOff(this.#times.firstPauseMs),
      diedAt: [],
      wasReady: false,
      retiredAt: null,
    };
    this.#slots.set(index, slot);
    return slot;
  }

  #run(index: number): RunChild {
    return this.#supervisor.start({ ...this.#options.spec(index), onExit: (exit) => this.#ended(index, exit) });
  }

  /** False when the run cannot go on. */
  async #ended(index: number, exit: ChildExit): Promise<boolean> {
    const slot = this.#slots.get(index);
    if (slot === undefined || this.#stopped) return true;
    const readyFile = readyFilePath(this.#options.runDir, this.#options.component, index);
    const isReady = await isThere(readyFile);
    slot.wasReady ||= isReady;
    // The file would count as the next process's.
    await rm(readyFile, { force: true });
    if (slot.retiredAt !== null) {
      this.#slots.delete(index);
      return true;
    }
    const isStarting = ![...this.#slots.values()].some(({ wasReady }) => wasReady);
    // A process that fails by itself at the start would fail again.
    if (isStarting && !wasKilled(exit)) return false;
    const wasLong = performance.now() - slot.startedAt >= this.#times.longLifeMs;
    const pauseMs = slot.backOff.lost(wasLong || (isReady && this.#furthest > slot.furthest));
    const deaths = slot.backOff.inARow;
    if (deaths > (isStarting ? MOST_DEATHS_AT_START : MOST_DEATHS)) return false;
    const now = performance.now();
    slot.diedAt = [...slot.diedAt.filter((time) => now - time < this.#times.windowMs), now];
    if (slot.diedAt.length > MOST_DEATHS_IN_WINDOW) return false;
    const rollouts = isStarting ? "" : "; the rollouts that it had a part in are too";
    const how = await this.#howItEnded(slot.child, exit);
    this.#options.note(`${slot.child.name} ended (${how}) and is started again${rollouts}`);
    const { component, onRestart } = this.#options;
    onRestart?.({ component, index, exit: how, deaths });
    const pause = setTimeout(() => {
      this.#pauses.delete(pause);
      if (this.#stopped || this.#supervisor.stopping) return;
      slot.startedAt = performance.now();
      slot.furthest = this.#furthest;
      try {
        slot.child = this.#run(index);
      } catch (error) {
        // Its log cannot be opened, for example because the run directory is gone.
        this.#supervisor.fail(error);
      }
    }, pauseMs);
    this.#pauses.add(pause);
    return true;
  }

  /** Its exit, with the first line of the reason that it noted, if it did. */
  async #howItEnded({ component, index, pid }: RunChild, exit: ChildExit): Promise<string> {
    const note = await readFailureNote({ runDir: this.#options.runDir, component, index });
    const reason = note?.pid === pid ? `: ${note?.message.split("\n")[0] ?? ""}` : "";
    return `${describeExit(exit)}${reason}`;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const load = await readLoad(this.#options.runDir);
      if (load !== null && !this.#stopped && !this.#supervisor.stopping) await this.#follow(load);
    } catch (error) {
      this.#supervisor.fail(error);
    } finally {
      this.#isLooking = false;
    }
  }

  async #follow(load: NonNullable<Awaited<ReturnType<typeof readLoad>>>): Promise<void> {
    const { least, most, rolloutsPerWorker, note } = this.#options;
    const now = performance.now();
    if (load.rollouts > 0) this.#lastLoad = now;
    // A synchronous run has none while it trains.
    const isLoaded = now - this.#lastLoad < this.#times.calmMs;
    const forLoad = Math.max(isLoaded ? LEAST_UNDER_LOAD : 0, Math.ceil(load.rollouts / rolloutsPerWorker));
    const wanted = Math.max(least, Math.min(most, forLoad));
    if (wanted >= this.size) this.#enoughSince = null;
    else this.#enoughSince ??= now;
    if (wanted <= this.size) this.#tooFewSince = null;
    else this.#tooFewSince ??= now;
    const isBusy = this.#tooFewSince !== null && now - this.#tooFewSince >= this.#times.busyMs;
    for (let missing = isBusy ? wanted - this.size : 0; missing > 0; missing -= 1) {
      const isSpare = this.size * rolloutsPerWorker >= load.rollouts;
      const { name } = this.#add().child;
      note(`${name} is started: ${isSpare ? "it is a spare" : `${load.rollouts} rollouts are under way`}`);
    }
    if (this.#enoughSince !== null && now - this.#enoughSince >= this.#times.calmMs) {
      this.#enoughSince = now;
      await this.#retireOne();
    }
    for (const { child, retiredAt } of this.#slots.values()) {
      const isIdle = (load.workers[child.name] ?? 0) === 0;
      if (retiredAt !== null && isIdle && now - retiredAt > this.#times.retiredMs && child.exit === null)
        child.signal("SIGTERM");
    }
  }

  async #retireOne(): Promise<void> {
    const last = [...this.#slots.values()]
      .filter(({ retiredAt }) => retiredAt === null)
      .toSorted((a, b) => b.index - a.index)[0];
    if (last === undefined) return;
    last.retiredAt = performance.now();
    this.#options.note(`${last.child.name} is let go: there is less to do`);
    await rm(readyFilePath(this.#options.runDir, this.#options.component, last.index), { force: true });
  }
}

/** Whether something other than this process ended it: SIGKILL (also the kernel's, when memory runs out) or a signal that asks to stop. */
function wasKilled({ code, signal, reason }: ChildExit): boolean {
  if (reason !== undefined) return false;
  return signal === "SIGKILL" || STOP_SIGNALS.some((name) => name === signal || stopExit(name) === code);
}
