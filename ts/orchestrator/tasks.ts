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
  /** Rollouts to sample of it. */
  groupSize: number;
  /** Rewards compare the rollouts of a group. */
  scoresGroups: boolean;
}

/** A training source of the config, as far as drawing from it goes. */
export interface TrainSource {
  name: string;
  ratio: number;
  group_size: number;
}

const PAGE = 64;
/** Resolution of the draw between sources. */
const DRAW = 2 ** 53;

/** Draws among the training sources by their ratios. */
export class TrainTasks {
  readonly #runSeed: number;
  readonly #sources: (TrainSource & { pages: TaskPages })[];
  #drawn = 0;

  constructor(workers: EnvWorkers, runSeed: number, sources: readonly TrainSource[], signal: AbortSignal) {
    this.#runSeed = runSeed;
    this.#sources = sources.map((source) => ({ ...source, pages: new TaskPages(workers, source.name, signal) }));
  }

  async next(): Promise<TrainTask> {
    const total = this.#sources.reduce((sum, { ratio }) => sum + ratio, 0);
    const draw = seed(this.#runSeed, "source", "", String(this.#drawn++), 0, 0, 0) / DRAW;
    let rest = draw * total;
    const source = this.#sources.find(({ ratio }) => (rest -= ratio) < 0) ?? this.#sources.at(-1);
    if (source === undefined)
      throw new PrlError("PRL_CONFIG_INVALID", "orchestrator.train.source is empty: name an environment");
    return { source: source.name, groupSize: source.group_size, ...(await source.pages.next()) };
  }
}

/** All tasks of an evaluation source, at most `limit` (-1: all). */
export async function evalTasks(
  workers: EnvWorkers,
  source: string,
  limit: number,
  signal: AbortSignal,
): Promise<{ tasks: Task[]; scoresGroups: boolean }> {
  const tasks: Task[] = [];
  let scoresGroups = false;
  let after: string | null = null;
  do {
    const wanted = limit < 0 ? PAGE : Math.min(PAGE, limit - tasks.length);
    if (wanted === 0) break;
    const page = await workers.tasks(source, "eval", after, wanted, signal);
    if (page.endless && limit < 0) {
      throw new PrlError("PRL_CONFIG_INVALID", `the evaluation source "${source}" is endless: set num_examples`);
    }
    tasks.push(...page.tasks);
    scoresGroups = page.scores_groups ?? false;
    after = page.next;
  } while (after !== null);
  if (tasks.length === 0)
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `the evaluation source "${source}" has no tasks`);
  return { tasks, scoresGroups };
}

/** The training tasks of a source, one after the other; at most one page of them is held. */
class TaskPages {
  readonly #workers: EnvWorkers;
  readonly #source: string;
  readonly #signal: AbortSignal;
  #page: Task[] = [];
  #after: string | null = null;
  #ended = false;
  #epoch = 0;
  #scoresGroups = false;

  constructor(workers: EnvWorkers, source: string, signal: AbortSignal) {
    this.#workers = workers;
    this.#source = source;
    this.#signal = signal;
  }

  async next(): Promise<{ task: Task; epoch: number; scoresGroups: boolean }> {
    for (;;) {
      const task = this.#page.shift();
      if (task !== undefined) return { task, epoch: this.#epoch, scoresGroups: this.#scoresGroups };
      if (this.#ended) {
        this.#epoch++;
        this.#after = null;
      }
      const fromFront = this.#after === null;
      const page = await this.#workers.tasks(this.#source, "train", this.#after, PAGE, this.#signal);
      if (page.tasks.length === 0 && fromFront) {
        throw new PrlError("PRL_ENVIRONMENT_INVALID", `the train source "${this.#source}" has no tasks`);
      }
      this.#page = page.tasks;
      this.#scoresGroups = page.scores_groups ?? false;
      this.#after = page.next;
      this.#ended = page.next === null;
    }
  }
}
