/**
 * Where training and evaluation tasks come from: the env workers' pages.
 *
 * The order is a function of the run's seed, and with a curriculum also of observed rewards. In sequence a finite set starts again from the
 * front, in its next epoch; an endless one goes on.
 */

import { PrlError } from "../../errors.ts";
import { seed } from "../../random/seed.ts";
import type { Task, TaskPage } from "../../environments/index.ts";
import type { CurriculumBlock } from "../../config/index.ts";
import { DrawnTasks, type DrawnTasksState } from "../curriculum/drawn-tasks.ts";
import { poolOf, taskWeight } from "../curriculum/task-weights.ts";
import type { EnvWorkers } from "../env-workers/env-workers.ts";

/** A task to sample from, and the number of the pass over its source. */
export interface TrainTask {
  source: string;
  task: Task;
  epoch: number;
  /** Rollouts to sample of it. */
  groupSize: number;
  /** Rewards compare the rollouts of a group. */
  scoresGroups: boolean;
}

/** The part of a training source's config that drawing from it needs. */
export interface TrainSource {
  name: string;
  ratio: number;
  group_size: number;
  curriculum: CurriculumBlock;
}

const PAGE = 64;
/** Resolution of the draw between sources. */
const DRAW = 2 ** 53;
/** Most tasks that a curriculum holds in memory. */
const MAX_DRAWN_TASKS = 1_000_000;

interface Source extends TrainSource {
  pages: TaskPages;
  /** Set for a source whose tasks are drawn; undefined until its first draw. */
  drawn: DrawnTasks | undefined;
  /** State that its draws continue from. */
  saved: DrawnTasksState | undefined;
  scoresGroups: boolean;
}

export interface TrainTasksOptions {
  workers: EnvWorkers;
  /** The run's. */
  seed: number;
  sources: readonly TrainSource[];
  signal: AbortSignal;
  /** The state that drawing continues from. */
  state?: TrainTasksState | undefined;
  /** Tasks to begin with, in their order: an earlier attempt had begun them. */
  pending?: readonly TrainTask[] | undefined;
}

/** Draws among the training sources by their ratios. */
export class TrainTasks {
  readonly #runSeed: number;
  readonly #sources: Source[];
  readonly #pending: TrainTask[];
  #drawn: number;
  readonly #ended: { index: number; source: string; key: string; mean: number }[] = [];

  constructor({ workers, seed: runSeed, sources, signal, state, pending = [] }: TrainTasksOptions) {
    this.#runSeed = runSeed;
    this.#pending = [...pending];
    this.#drawn = state?.drawn ?? 0;
    this.#sources = sources.map((source) => {
      const saved = state?.sources[source.name];
      const pages = new TaskPages(workers, source.name, signal, saved?.pages);
      return { ...source, pages, drawn: undefined, saved: saved?.drawn, scoresGroups: false };
    });
  }

  get state(): TrainTasksState {
    const sources = this.#sources.map(({ name, pages, drawn, saved }) => {
      const state = drawn?.state ?? saved;
      return [name, { pages: pages.state, ...(state !== undefined && { drawn: state }) }] as const;
    });
    return { drawn: this.#drawn, sources: Object.fromEntries(sources) };
  }

  /** Tasks that an earlier attempt had begun and that are not begun again yet. */
  get pending(): readonly TrainTask[] {
    return this.#pending;
  }

  async next(): Promise<TrainTask> {
    const pending = this.#pending.shift();
    if (pending !== undefined) return pending;
    const total = this.#sources.reduce((sum, { ratio }) => sum + ratio, 0);
    const draw = seed(this.#runSeed, "source", "", String(this.#drawn), 0, 0, 0) / DRAW;
    let rest = draw * total;
    const source = this.#sources.find(({ ratio }) => (rest -= ratio) < 0) ?? this.#sources.at(-1);
    if (source === undefined)
      throw new PrlError("PRL_CONFIG_INVALID", "orchestrator.train.source is empty: name an environment");
    const { name, group_size: groupSize, curriculum } = source;
    const isSequential = curriculum.sampler.type === "sequential";
    if (isSequential) await source.pages.load();
    else source.drawn ??= await this.#load(source);
    // Nothing of `state` changes before the tasks are there: a run that continues from a state of the wait draws this task again.
    this.#drawn++;
    if (source.drawn === undefined) return { source: name, groupSize, ...source.pages.take() };
    return { source: name, groupSize, ...source.drawn.next(), scoresGroups: source.scoresGroups };
  }

  /** A group ended with this mean reward. It has no effect before `learn`. */
  ended(index: number, { source, task }: Pick<TrainTask, "source" | "task">, mean: number): void {
    this.#ended.push({ index, source, key: task.key, mean });
  }

  /** Groups that ended since the last call change what is drawn, in the order in which they were opened, so that timing has no influence. */
  learn(): void {
    this.observe(this.#ended.splice(0).sort((a, b) => a.index - b.index));
  }

  /** Groups that ended with these mean rewards, in an order that does not depend on timing; the next draws depend on them. */
  observe(groups: readonly { source: string; key: string; mean: number }[]): void {
    for (const { source, key, mean } of groups) {
      this.#sources.find(({ name }) => name === source)?.drawn?.observe(key, mean);
    }
  }

  /** For each source the number of data rows that gave no task, if there were any; for a source with pools the share of its tried tasks in each. */
  metrics(): Record<string, number> {
    const values: Record<string, number> = {};
    for (const { name, curriculum, drawn, pages } of this.#sources) {
      if (pages.leftOut > 0) values[`tasks/${name}/left_out`] = pages.leftOut;
      const { type, pools } = curriculum.sampler;
      if (type !== "difficulty_pool" || drawn === undefined) continue;
      const means = drawn.means();
      const counts = pools.map((_, p) => means.filter((mean) => poolOf(pools, mean) === p).length);
      pools.forEach(
        (pool, p) => (values[`curriculum/${name}/sampler/${pool.name}`] = (counts[p] ?? 0) / Math.max(1, means.length)),
      );
    }
    return values;
  }

  async #load(source: Source): Promise<DrawnTasks> {
    const tasks: Task[] = [];
    for await (const page of source.pages.whole()) {
      if (page.endless || tasks.length > MAX_DRAWN_TASKS) {
        const size = page.endless ? "endless" : `larger than ${MAX_DRAWN_TASKS} tasks`;
        const advice = 'use sampler.type = "sequential"';
        throw new PrlError("PRL_CONFIG_INVALID", `curriculum of "${source.name}": its tasks are ${size}; ${advice}`);
      }
      tasks.push(...page.tasks);
      source.scoresGroups = page.scores_groups ?? false;
    }
    const share = (draw: number) => seed(this.#runSeed, "curriculum", source.name, String(draw), 0, 0, 0) / DRAW;
    return new DrawnTasks(tasks, taskWeight(source.curriculum.sampler), share, source.saved);
  }
}

/** All tasks of an evaluation source, at most `limit` (-1: all). */
export async function evalTasks(
  workers: EnvWorkers,
  source: string,
  limit: number,
  signal: AbortSignal,
): Promise<{ tasks: Task[]; scoresGroups: boolean; leftOut: number }> {
  const tasks: Task[] = [];
  let scoresGroups = false;
  let leftOut = 0;
  let after: string | null = null;
  do {
    const wanted = limit < 0 ? PAGE : Math.min(PAGE, limit - tasks.length);
    if (wanted === 0) break;
    const page = await workers.tasks({ source, split: "eval", after, limit: wanted }, signal);
    if (page.endless && limit < 0) {
      throw new PrlError("PRL_CONFIG_INVALID", `the evaluation source "${source}" is endless: set num_examples`);
    }
    tasks.push(...page.tasks);
    scoresGroups = page.scores_groups ?? false;
    leftOut = page.left_out ?? 0;
    after = page.next;
  } while (after !== null);
  if (tasks.length === 0) throw noTasks(`evaluation source "${source}"`, leftOut);
  return { tasks, scoresGroups, leftOut };
}

function noTasks(what: string, leftOut: number): PrlError {
  const why = leftOut === 0 ? "" : `: all ${leftOut} rows of its data were left out`;
  return new PrlError("PRL_ENVIRONMENT_INVALID", `the ${what} has no tasks${why}`);
}

/** A source's position: the page of its next task, how many tasks of the page are given out, and the pass over the source. */
interface PagesState {
  after: string | null;
  consumed: number;
  epoch: number;
}

/** State that drawing continues from, as a checkpoint holds it. */
export interface TrainTasksState {
  drawn: number;
  sources: Record<string, { pages: PagesState; drawn?: DrawnTasksState | undefined }>;
}

/** The training tasks of a source, one after the other; at most one page of them is held. */
class TaskPages {
  readonly #workers: EnvWorkers;
  readonly #source: string;
  readonly #signal: AbortSignal;
  #page: Task[] = [];
  #after: string | null = null;
  #ended = false;
  #epoch: number;
  #scoresGroups = false;
  #leftOut = 0;
  /** Cursor of the page that is held, or of the first. */
  #pageAfter: string | null;
  #consumed = 0;
  /** Tasks of the first page that were given out before. */
  #skip: number;

  constructor(workers: EnvWorkers, source: string, signal: AbortSignal, state?: PagesState) {
    this.#workers = workers;
    this.#source = source;
    this.#signal = signal;
    this.#epoch = state?.epoch ?? 0;
    this.#after = this.#pageAfter = state?.after ?? null;
    this.#skip = this.#consumed = state?.consumed ?? 0;
  }

  /** Data rows that gave no task: the highest number in one pass. */
  get leftOut(): number {
    return this.#leftOut;
  }

  get state(): PagesState {
    return { after: this.#pageAfter, consumed: this.#consumed, epoch: this.#epoch };
  }

  /** Resolves when the next task is held. The position stays that of the page before until a page has come. */
  async load(): Promise<void> {
    while (this.#page.length === 0) {
      const after = this.#ended ? null : this.#after;
      const page = await this.#fetch(after);
      if (this.#ended) this.#epoch++;
      this.#pageAfter = after;
      this.#page = page.tasks.slice(this.#skip);
      this.#consumed = this.#skip;
      this.#skip = 0;
      this.#scoresGroups = page.scores_groups ?? false;
      this.#after = page.next;
      this.#ended = page.next === null;
    }
  }

  /** The next task, when `load` has come back. */
  take(): { task: Task; epoch: number; scoresGroups: boolean } {
    const task = this.#page.shift();
    if (task === undefined) throw new PrlError("PRL_ORCHESTRATOR_FAULT", `no task of ${this.#source} is held`);
    this.#consumed++;
    return { task, epoch: this.#epoch, scoresGroups: this.#scoresGroups };
  }

  /** Reads every page from the front. */
  async *whole(): AsyncGenerator<TaskPage> {
    let after: string | null = null;
    do {
      const page: TaskPage = await this.#fetch(after);
      yield page;
      after = page.next;
    } while (after !== null);
  }

  async #fetch(after: string | null): Promise<TaskPage> {
    const wanted = { source: this.#source, split: "train", after, limit: PAGE } as const;
    const page = await this.#workers.tasks(wanted, this.#signal);
    if (page.tasks.length === 0 && after === null) {
      throw noTasks(`train source "${this.#source}"`, page.left_out ?? 0);
    }
    this.#leftOut = Math.max(this.#leftOut, page.left_out ?? 0);
    return page;
  }
}
