/**
 * A launcher in virtual time: the product's supervisor, fleet, state holders and budget, around processes that do nothing but live and die as a test says. A
 * trainer and an orchestrator hold the run's state; two env workers are a fleet.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ChildSpec } from "../../../../ts/launcher/processes/child-process.ts";
import { Fleet, type Restart } from "../../../../ts/launcher/processes/fleet.ts";
import {
  type Allowance,
  type BudgetLimits,
  RestartBudget,
} from "../../../../ts/launcher/processes/restarts/restart-budget.ts";
import { runStateHolders } from "../../../../ts/launcher/processes/state-holders.ts";
import { Supervisor } from "../../../../ts/launcher/processes/supervisor.ts";
import { readyFilePath } from "../../../../ts/monitors/index.ts";
import { asked } from "../../../simulation/parts/machine.ts";
import { patchNode } from "../../../simulation/world/patched-node.ts";
import { type SimulatedProcess, World } from "../../../simulation/world/world.ts";

export const HOLDERS = ["trainer-0", "orchestrator-0"] as const;
export const WORKERS = ["env-worker-0", "env-worker-1"] as const;
export type Name = (typeof HOLDERS)[number] | (typeof WORKERS)[number];
/** Virtual time within which whatever was begun has ended: a hanging start, the longest pause, a start. */
const SETTLED_MS = 400_000;
const STOPPED_MS = 10_000;
const READY_MS = 600_000;

export interface Taken {
  kind: string;
  wasUseful: boolean;
  at: number;
  allowance: Allowance | null;
}

/** A program that was started. */
export interface Started {
  readonly name: Name;
  /** When the launcher has begun to start it; of a process that holds the run's state, when it was decided. */
  readonly begunAt: number;
  /** When its program began. */
  readonly at: number;
  readonly process: SimulatedProcess;
  isReady: boolean;
  exit: (code: number) => void;
}

export interface RunOptions {
  limits: BudgetLimits;
  /** Whether a lost process is replaced while the other one goes on. */
  replaces: boolean;
}

/** A budget that notes what it was asked, and what it said. */
class NotedBudget extends RestartBudget {
  readonly taken: Taken[] = [];

  override take(kind: string, wasUseful: boolean): Allowance | null {
    const allowance = super.take(kind, wasUseful);
    this.taken.push({ kind, wasUseful, at: performance.now(), allowance });
    return allowance;
  }
}

export class SupervisedRun {
  readonly world: World;
  readonly runDir = mkdtempSync(join(tmpdir(), "prl-supervised-"));
  /** The processes that were started in each place, the newest last. */
  readonly started = new Map<string, Started[]>();
  readonly budget: NotedBudget;
  /** Restarts of env workers, with their times. */
  readonly restarts: (Restart & { at: number })[] = [];
  /** Places whose next process stands still before it is ready. */
  readonly hangsAtStart = new Set<Name>();
  /** How the run ended, without an error where all was done; null while it goes on. */
  outcome: { error: unknown; at: number } | null = null;
  supervisor: Supervisor | undefined;
  readonly #options: RunOptions;
  readonly #launcher: SimulatedProcess;
  readonly #unpatch: () => void;
  /** When the launcher has started the newest process of each place. */
  readonly #begun = new Map<string, number>();

  constructor(seed: number, options: RunOptions) {
    this.#options = options;
    this.world = new World(seed);
    this.budget = new NotedBudget(options.limits);
    for (const folder of ["logs", "run"]) mkdirSync(join(this.runDir, folder));
    this.#unpatch = patchNode(this.world, (args, process) => this.#program(args, process));
    this.#launcher = this.world.spawn(
      "launcher",
      (own) => this.#launch(own),
      () => undefined,
    );
  }

  /** The questions to the budget, and its answers. */
  get taken(): readonly Taken[] {
    return this.budget.taken;
  }

  now(name: Name): Started {
    const newest = this.started.get(name)?.at(-1);
    if (newest === undefined) throw new Error(`${name} was never started`);
    return newest;
  }

  isUp(name: Name): boolean {
    const newest = this.started.get(name)?.at(-1);
    return newest !== undefined && newest.isReady && newest.process.state === "running";
  }

  /** Lets time go until all of them are ready, or the run has ended. */
  async settled(isSettled: () => boolean): Promise<void> {
    await this.world.run(() => this.outcome !== null || isSettled(), this.world.now + SETTLED_MS);
  }

  async wait(ms: number): Promise<void> {
    let isOver = false;
    this.world.schedule(ms, null, () => (isOver = true));
    await this.world.run(() => isOver, this.world.now + ms + 1);
  }

  /** Leaves the note of a failure with this code, as a process does before it ends. */
  noteFailure(name: Name, code: string): void {
    const note = { pid: this.now(name).process.pid, code, message: "so it is" };
    writeFileSync(join(this.runDir, "run", `failure-${name}.json`), JSON.stringify(note));
  }

  /** Stops the run, if it has not ended; returns how long that took and which processes are left then. */
  async stop(): Promise<{ ms: number; left: string[] }> {
    const from = this.outcome?.at ?? this.world.now;
    this.world.signal(this.#launcher, "SIGTERM");
    await this.world.run(() => this.#launcher.state === "dead", this.world.now + STOPPED_MS);
    const left = this.world.processes.filter(({ state }) => state !== "dead").map(({ name }) => name);
    return { ms: this.world.now - from, left };
  }

  remove(): void {
    for (const process of this.world.processes) this.world.signal(process, "SIGKILL");
    this.#unpatch();
    rmSync(this.runDir, { recursive: true, force: true });
  }

  async #launch(own: SimulatedProcess): Promise<number> {
    const supervisor = new Supervisor(this.runDir);
    this.supervisor = supervisor;
    const fleet = new Fleet(supervisor, {
      runDir: this.runDir,
      component: "env-worker",
      least: WORKERS.length,
      most: WORKERS.length,
      rolloutsPerWorker: 1,
      spec: (index) => this.#spec("env-worker", index, false),
      note: () => undefined,
      onRestart: (restart) => void this.restarts.push({ ...restart, at: performance.now() }),
    });
    try {
      fleet.start();
      await Promise.race([this.#hold(supervisor), supervisor.failure, asked(own)]);
      this.outcome ??= { error: undefined, at: performance.now() };
    } catch (error) {
      this.outcome ??= { error, at: performance.now() };
    }
    fleet.stop();
    await supervisor.stop();
    return 0;
  }

  #hold(supervisor: Supervisor): Promise<void> {
    const specs = () => ["trainer", "orchestrator"].map((component) => this.#spec(component, 0, true));
    return runStateHolders(supervisor, specs(), {
      runDir: this.runDir,
      budget: this.budget,
      takeOver: async ({ component }) => (this.#options.replaces ? this.#spec(component, 0, true) : null),
      goBack: async () => specs(),
      ready: (children) => supervisor.ready(children, READY_MS),
      onReady: () => undefined,
    });
  }

  #spec(component: string, index: number, finishes: boolean): ChildSpec {
    this.#begun.set(`${component}-${index}`, performance.now());
    const args = [component, "--config", "none", "--index", String(index)];
    return { component, index, command: "prl", args, logs: join(this.runDir, "logs"), finishes };
  }

  async #program([component = "", , , , index = ""]: readonly string[], process: SimulatedProcess): Promise<number> {
    const name = `${component}-${index}` as Name;
    let exit: (code: number) => void = () => undefined;
    const end = new Promise<number>((resolve) => (exit = resolve));
    const [begunAt, at] = [this.#begun.get(name) ?? 0, this.world.now];
    const started: Started = { name, begunAt, at, process, isReady: false, exit };
    this.started.set(name, [...(this.started.get(name) ?? []), started]);
    if (this.hangsAtStart.delete(name)) this.world.signal(process, "SIGSTOP");
    const info = { pid: process.pid, ready_at: "now", url: "http://nowhere" };
    await writeFile(readyFilePath(this.runDir, component, Number(index)), JSON.stringify(info));
    started.isReady = true;
    return Promise.race([end, asked(process).then(() => 143)]);
  }
}
