/**
 * A folder that processes in virtual time work on. Each of them may be killed between any two of its file operations; a folder is removed entry by
 * entry.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { patchNode } from "./patched-node.ts";
import { type SimulatedProcess, World } from "./world.ts";

/** Virtual time within which all work has ended. */
const LONGEST_MS = 600_000;

/** Something that a process does. */
export interface Job<Result> {
  readonly process: SimulatedProcess;
  /** Its result, as soon as there is one. */
  end: { readonly value: Result } | { readonly error: unknown } | null;
}

export class Disk {
  readonly world: World;
  readonly dir = mkdtempSync(join(tmpdir(), "prl-disk-"));
  readonly #unpatch: () => void;

  constructor(seed: number) {
    this.world = new World(seed);
    this.world.removesEntries = true;
    this.#unpatch = patchNode(this.world, () => Promise.reject(new Error("no program is started")));
    Reflect.set(globalThis, "observeNative", <Result>(work: Promise<Result>) => this.world.native(work));
  }

  start(name: string): SimulatedProcess {
    return this.world.spawn(
      name,
      () => new Promise(() => undefined),
      () => undefined,
    );
  }

  begin<Result>(process: SimulatedProcess, work: () => Promise<Result>): Job<Result> {
    const job: Job<Result> = { process, end: null };
    this.world.schedule(0, process, () => {
      work().then(
        (value) => (job.end = { value }),
        (error: unknown) => (job.end = { error }),
      );
    });
    return job;
  }

  /** Lets time go until the jobs have ended, or so many events have come; returns whether they have ended. Errors: those of the jobs. */
  async run(jobs: readonly Job<unknown>[], events = Infinity): Promise<boolean> {
    const last = this.world.events + events;
    const areDone = (): boolean => jobs.every(({ end }) => end !== null);
    await this.world.run(() => areDone() || this.world.events >= last, this.world.now + LONGEST_MS);
    for (const { end } of jobs) if (end !== null && "error" in end) throw end.error;
    return areDone();
  }

  kill(...processes: readonly SimulatedProcess[]): void {
    for (const process of processes) this.world.signal(process, "SIGKILL");
  }

  remove(): void {
    this.kill(...this.world.processes);
    Reflect.deleteProperty(globalThis, "observeNative");
    this.#unpatch();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
