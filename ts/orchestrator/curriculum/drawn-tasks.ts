/**
 * The tasks of a finite source, drawn by weights that follow from how their last groups did.
 *
 * The draws are a function of the run's seed and of what was observed before; observations count from the next draw on. A task's epoch is how
 * often it had been drawn, so that its next group has other seeds. Every task is held in memory.
 */
import type { Task } from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";
import type { TaskWeight } from "./task-weights.ts";
import { WeightedDraw } from "./weighted-draw.ts";

/** By task key. */
export interface DrawnTasksState {
  drawn: number;
  tasks: Record<string, { epoch: number; mean?: number | undefined }>;
}

export class DrawnTasks {
  readonly #tasks: readonly Task[];
  readonly #indices: ReadonlyMap<string, number>;
  readonly #weight: TaskWeight;
  readonly #share: (draw: number) => number;
  readonly #draw: WeightedDraw;
  readonly #epochs: Uint32Array;
  readonly #means: Float64Array;
  #drawn = 0;

  /** `share` gives a number from 0 to below 1 for the draw with this number. */
  constructor(tasks: readonly Task[], weight: TaskWeight, share: (draw: number) => number, state?: DrawnTasksState) {
    this.#tasks = tasks;
    this.#indices = new Map(tasks.map(({ key }, index) => [key, index]));
    this.#weight = weight;
    this.#share = share;
    this.#epochs = new Uint32Array(tasks.length);
    this.#means = new Float64Array(tasks.length).fill(Number.NaN);
    this.#draw = new WeightedDraw(new Float64Array(tasks.length).fill(weight(undefined)));
    if (state !== undefined) this.#restore(state);
  }

  /** Errors: PRL_CONFIG_INVALID when every task has weight 0. */
  next(): { task: Task; epoch: number } {
    const index = this.#draw.draw(this.#share(this.#drawn++));
    const task = this.#tasks[index];
    if (task === undefined) {
      const message = "every task of the source has weight 0 by now: give each pool a weight above 0";
      throw new PrlError("PRL_CONFIG_INVALID", `curriculum: ${message}`);
    }
    const epoch = this.#epochs[index] ?? 0;
    this.#epochs[index] = epoch + 1;
    return { task, epoch };
  }

  /** A group of the task ended with this mean reward. */
  observe(key: string, mean: number): void {
    const index = this.#indices.get(key);
    if (index === undefined) return;
    this.#means[index] = mean;
    this.#draw.set(index, this.#weight(mean));
  }

  /** Mean rewards of the tasks that were tried. */
  means(): number[] {
    return [...this.#means].filter((mean) => !Number.isNaN(mean));
  }

  get state(): DrawnTasksState {
    const tried = [...this.#epochs.entries()].filter(([, epoch]) => epoch > 0);
    const tasks = tried.map(([index, epoch]): [string, { epoch: number; mean?: number }] => {
      const mean = this.#means[index] ?? Number.NaN;
      return [this.#tasks[index]?.key ?? "", { epoch, ...(!Number.isNaN(mean) && { mean }) }];
    });
    return { drawn: this.#drawn, tasks: Object.fromEntries(tasks) };
  }

  #restore({ drawn, tasks }: DrawnTasksState): void {
    this.#drawn = drawn;
    for (const [key, { epoch, mean }] of Object.entries(tasks)) {
      const index = this.#indices.get(key);
      if (index === undefined) continue;
      this.#epochs[index] = epoch;
      if (mean !== undefined) this.observe(key, mean);
    }
  }
}
