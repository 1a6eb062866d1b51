/**
 * A run that is under way, as faults see it: its processes by their ready files, its files, the trainer's progress.
 *
 * It belongs to one start of the launcher. `signal` is aborted when that launcher has ended; a fault that waits, waits on it.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { METRICS_FILE, MetricsTail, readReadyFile } from "../../monitors/index.ts";
import type { Rng } from "../../random/rng.ts";
import type { InsideOrders } from "./inside/orders.ts";
import type { RunProxies } from "./network/run-proxies.ts";
import { type KnownProcess, knownProcess, signalProcess } from "./processes.ts";

const POLL_MS = 20;
/** Components whose lines say that a step is trained. */
const LEARNERS: readonly string[] = ["trainer"];

export type Component = "orchestrator" | "trainer" | "inference" | "env-worker" | "sandboxd";

export interface LiveRunParts {
  readonly runDir: string;
  /** Process number of the launcher. */
  readonly launcher: number;
  readonly signal: AbortSignal;
  readonly proxies: RunProxies | null;
  readonly inside: InsideOrders | null;
}

/** A process of the run that can take work; of the kind `sandboxd` the daemon itself, not the process that started it. */
export interface RunProcess extends KnownProcess {
  /** `inference-0` */
  readonly name: string;
}

export class LiveRun {
  readonly runDir: string;
  readonly launcher: number;
  readonly signal: AbortSignal;
  readonly proxies: RunProxies | null;
  readonly inside: InsideOrders | null;
  readonly #tail: MetricsTail;
  #progress = { attempt: 0, step: 0, lines: 0 };

  constructor(parts: LiveRunParts) {
    this.runDir = parts.runDir;
    this.launcher = parts.launcher;
    this.signal = parts.signal;
    this.proxies = parts.proxies;
    this.inside = parts.inside;
    this.#tail = new MetricsTail(join(parts.runDir, METRICS_FILE));
  }

  /** The trainer's newest attempt, its newest step in it, and the steps that it noted in all attempts together. */
  async progress(): Promise<{ attempt: number; step: number; lines: number }> {
    for await (const { component, attempt, step } of this.#tail.poll()) {
      if (!LEARNERS.includes(component) || step < 1) continue;
      this.#progress = { attempt, step, lines: this.#progress.lines + 1 };
    }
    return this.#progress;
  }

  /** Resolves to true when the trainer has noted `more` further steps, and to false when the launcher has ended. */
  async stepped(more = 1): Promise<boolean> {
    const { lines: before } = await this.progress();
    for (;;) {
      if ((await this.progress()).lines >= before + more) return true;
      if (!(await this.pause(POLL_MS))) return false;
    }
  }

  /** Resolves to false when the launcher ends meanwhile. */
  async pause(ms: number): Promise<boolean> {
    await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
    return !this.signal.aborted;
  }

  /** Resolves to the first value that is not null; null when the launcher has ended or the deadline has passed. */
  async until<Value>(find: () => Promise<Value | null>, deadlineMs: number): Promise<Value | null> {
    for (const end = performance.now() + deadlineMs; performance.now() < end;) {
      const found = await find();
      if (found !== null) return found;
      if (!(await this.pause(POLL_MS))) return null;
    }
    return null;
  }

  /** The live processes of a kind, by their ready files. */
  async processes(component: Component): Promise<RunProcess[]> {
    const names: string[] = await readdir(join(this.runDir, "run")).catch(() => []);
    const found: RunProcess[] = [];
    for (const name of names.toSorted()) {
      const index = new RegExp(`^${component}-(\\d+)\\.json$`, "u").exec(name)?.[1];
      if (index === undefined) continue;
      const file = await readReadyFile(this.runDir, component, Number(index)).catch(() => null);
      const known = file === null ? null : await knownProcess(file.daemon ?? file.pid);
      if (known !== null) found.push({ ...known, name: `${component}-${index}` });
    }
    return found;
  }

  /** One of the live processes of a kind; null when there is none at this instant. */
  async pick(component: Component, rng: Rng): Promise<RunProcess | null> {
    const found = await this.processes(component);
    return found.length === 0 ? null : rng.pick(found);
  }

  /** Sends a signal to one process of a kind; null when there is none. */
  async signalOne(component: Component, signal: NodeJS.Signals, rng: Rng): Promise<RunProcess | null> {
    const found = await this.pick(component, rng);
    return found !== null && signalProcess(found.pid, signal) ? found : null;
  }
}
