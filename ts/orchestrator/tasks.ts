/**
 * Where training and evaluation tasks come from: the env workers' pages.
 *
 * The order is a function of the run's seed alone. A finite set starts again from the front, in its next epoch; an endless one goes on.
 */

import { PrlError } from "../errors.ts";
import { seed, type Task } from "../environments/index.ts";
import type { EnvWorkers } from "./env-workers.ts";

/** A task to sample from, and which pass over its source this is. */
export interface TrainTask {
  source: string;
  task: Task;
  epoch: number;
}

const PAGE = 64;
/** Resolution of the draw between sources. */
const DRAW = 2 ** 53;

/** Draws among the training sources by their ratios. */
export class TrainTasks {
  readonly #runSeed: number;
  readonly #sources: { name: string; ratio: number; pages: TaskPages }[];
  #drawn = 0;

  constructor(workers: EnvWorkers, runSeed: number, sources: readonly { name: string; ratio: number }[]) {
    this.#runSeed = runSeed;
    this.#sources = sources.map(({ name, ratio }) => ({ name, ratio, pages: new TaskPages(workers, name, "train") }));
  }

  async next(): Promise<TrainTask> {
    const total = this.#sources.reduce((sum, { ratio }) => sum + ratio, 0);
    const draw = seed(this.#runSeed, "source", "", String(this.#drawn++), 0, 0, 0) / DRAW;
    let rest = draw * total;
    const source = this.#sources.find(({ ratio }) => (rest -= ratio) < 0) ?? this.#sources.at(-1);
    if (source === undefined)
      throw new PrlError("PRL_CONFIG_INVALID", "orchestrator.train.source is empty: name an environment");
    return { source: source.name, ...(await source.pages.next()) };
  }
}

/** All tasks of an evaluation source, at most `limit` (-1: all). */
export async function evalTasks(workers: EnvWorkers, source: string, limit: number): Promise<Task[]> {
  const tasks: Task[] = [];
  let after: string | null = null;
  do {
    const wanted = limit < 0 ? PAGE : Math.min(PAGE, limit - tasks.length);
    if (wanted === 0) break;
    const page = await workers.tasks(source, "eval", after, wanted);
    if (page.endless && limit < 0) {
      throw new PrlError("PRL_CONFIG_INVALID", `the evaluation source "${source}" is endless: set num_examples`);
    }
    tasks.push(...page.tasks);
    after = page.next;
  } while (after !== null);
  if (tasks.length === 0)
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `the evaluation source "${source}" has no tasks`);
  return tasks;
}

class TaskPages {
  readonly #workers: EnvWorkers;
  readonly #source: string;
  readonly #split: "train" | "eval";
  #page: Task[] = [];
  #after: string | null = null;
  #ended = false;
  #epoch = 0;

  constructor(workers: EnvWorkers, source: string, split: "train" | "eval") {
    this.#workers = workers;
    this.#source = source;
    this.#split = split;
  }

  async next(): Promise<{ task: Task; epoch: number }> {
    const task = this.#page.shift();
    if (task !== undefined) return { task, epoch: this.#epoch };
    if (this.#ended) {
      this.#epoch++;
      this.#ended = false;
      this.#after = null;
    }
    const fromFront = this.#after === null;
    const page = await this.#workers.tasks(this.#source, this.#split, this.#after, PAGE);
    if (page.tasks.length === 0 && fromFront) {
      throw new PrlError("PRL_ENVIRONMENT_INVALID", `the ${this.#split} source "${this.#source}" has no tasks`);
    }
    this.#page = page.tasks;
    this.#after = page.next;
    this.#ended = page.next === null;
    return this.next();
  }
}
