/**
 * Processes of one kind that others do without for a while: another for each that dies, and as many as the load asks for.
 *
 * Env workers follow the load, between a least and a most; of inference servers there are as many as were asked for, the sandbox daemon is one. The orchestrator says how much there is to do
 * (`LoadFile`) and finds the workers by their ready files, so a worker is retired by taking its file away: it gets nothing more, and is
 * stopped when it has ended what it had. One that dies is started again after a pause that doubles. The run fails when one dies again and
 * again, or fails by itself before any was ready; one that is killed before that is started again too, a few times.
 */
import { readdirSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { isThere } from "../../file-presence.ts";
import { readLoad, readyFilePath } from "../../monitors/index.ts";
import { STOP_SIGNALS, stopExit } from "../stop-signal.ts";
import { type ChildExit, type ChildSpec, describeExit, type RunChild } from "./child-process.ts";
import type { Supervisor } from "./supervisor.ts";

export interface FleetOptions {
  runDir: string;
  /** `env-worker` */
  component: string;
  least: number;
  most: number;
  /** As many rollouts as one process is there for. */
  rolloutsPerWorker: number;
  spec: (index: number) => ChildSpec;
  /** Told what became of workers. */
  note: (message: string) => void;
  /** Told of each that is started again. */
  onRestart?: (restart: Restart) => void;
  times?: FleetTimes;
}

export interface Restart {
  component: string;
  index: number;
  /** How the one before ended. */
  exit: string;
  /** Deaths in a row, this one included; each doubles the pause before the start. */
  deaths: number;
}

export interface FleetTimes {
  /** Between two looks at the load. */
  intervalMs: number;
  /** More to do for so long, and the workers that it asks for are started: a process for a peak of a second would only be in the way. */
  busyMs: number;
  /** Less to do for so long, and a worker is let go. */
  calmMs: number;
  /** The orchestrator looks for workers twice a second; what it says of one that was retired is true after this. */
  retiredMs: number;
  /** A process that lives so long has not died again and again. */
  longLifeMs: number;
  firstPauseMs: number;
}

export const FLEET_TIMES: FleetTimes = {
  intervalMs: 1_000,
  busyMs: 3_000,
  calmMs: 30_000,
  retiredMs: 3_000,
  longLifeMs: 30_000,
  firstPauseMs: 250,
};

const LONGEST_PAUSE_MS = 10_000;
/** Early deaths in a row that fail the run. */
const MOST_DEATHS = 10;
/** The same before any process was ready: a machine without the memory for one kills each of them. */
const MOST_DEATHS_AT_START = 3;

interface Slot {
  readonly index: number;
  child: RunChild;
  startedAt: number;
  deaths: number;
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
    // An earlier attempt of the run may have had more of them.
    for (const name of readdirSync(join(this.#options.runDir, "run"))) {
      if (name.startsWith(`${this.#options.component}-`)) rmSync(join(this.#options.runDir, "run", name));
    }
    this.#watch = setInterval(() => void this.#look(), this.#times.intervalMs);
    this.#watch.unref();
    return Array.from({ length: this.#options.least }, () => this.#add().child);
  }

  /** No worker is started or retired any more. Those that there are belong to the supervisor. */
  stop(): void {
    this.#stopped = true;
    clearInterval(this.#watch);
    for (const pause of this.#pauses) clearTimeout(pause);
  }

  /** Those that take rollouts, or will. */
  get size(): number {
    return [...this.#slots.values()].filter(({ retiredAt }) => retiredAt === null).length;
  }

  #add(): Slot {
    let index = 0;
    while (this.#slots.has(index)) index += 1;
    const slot: Slot = {
      index,
      child: this.#run(index),
      startedAt: performance.now(),
      deaths: 0,
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
    slot.wasReady ||= await isThere(readyFile);
    // It would be taken for the next one's.
    await rm(readyFile, { force: true });
    if (slot.retiredAt !== null) {
      this.#slots.delete(index);
      return true;
    }
    const isStarting = ![...this.#slots.values()].some(({ wasReady }) => wasReady);
    // What it fails of by itself at the start, it would fail of again.
    if (isStarting && !wasKilled(exit)) return false;
    slot.deaths = performance.now() - slot.startedAt < this.#times.longLifeMs ? slot.deaths + 1 : 1;
    if (slot.deaths > (isStarting ? MOST_DEATHS_AT_START : MOST_DEATHS)) return false;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, this.#times.firstPauseMs * 2 ** (slot.deaths - 1));
    const rollouts = isStarting ? "" : "; the rollouts that it had a part in are too";
    this.#options.note(`${slot.child.name} ended (${describeExit(exit)}) and is started again${rollouts}`);
    const { component, onRestart } = this.#options;
    onRestart?.({ component, index, exit: describeExit(exit), deaths: slot.deaths });
    const pause = setTimeout(() => {
      this.#pauses.delete(pause);
      if (this.#stopped || this.#supervisor.stopping) return;
      slot.startedAt = performance.now();
      slot.child = this.#run(index);
    }, pauseMs);
    this.#pauses.add(pause);
    return true;
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
    const wanted = Math.max(least, Math.min(most, Math.ceil(load.rollouts / rolloutsPerWorker)));
    if (wanted >= this.size) this.#enoughSince = null;
    else this.#enoughSince ??= now;
    if (wanted <= this.size) this.#tooFewSince = null;
    else this.#tooFewSince ??= now;
    const isBusy = this.#tooFewSince !== null && now - this.#tooFewSince >= this.#times.busyMs;
    for (let missing = isBusy ? wanted - this.size : 0; missing > 0; missing -= 1) {
      note(`${this.#add().child.name} is started: ${load.rollouts} rollouts are under way`);
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

/** Ended from outside and not by us: by SIGKILL (the kernel's, too, when memory runs out) or by a signal that stops in an orderly way. */
function wasKilled({ code, signal, reason }: ChildExit): boolean {
  if (reason !== undefined) return false;
  return signal === "SIGKILL" || STOP_SIGNALS.some((name) => name === signal || stopExit(name) === code);
}
