/** Reads the tasks of an evaluation, all or a given number, with a deadline. */
import type { ConfiguredEnvironment, Task, TaskPage } from "../environments/index.ts";
import { untilAborted } from "../async/deadline.ts";
import { type Split } from "../datasets/index.ts";
import { PrlError } from "../errors.ts";

export interface ReadTasksOptions {
  /** Name of the evaluation, for errors. */
  readonly name: string;
  readonly split: Split;
  readonly seed: number;
  /** Negative: all. */
  readonly wanted: number;
  /** Deadline for one page of tasks. */
  readonly deadlineMs: number;
  /** More tasks than this count as endless tasks that are not marked so. Default a million. */
  readonly most?: number;
  /** Ends the wait: data may come over the network. */
  readonly signal?: AbortSignal;
}

export interface ReadTasks {
  readonly tasks: Task[];
  /** Data rows that gave no task, as far as they were read. */
  readonly leftOut: number;
}

const TASK_PAGE = 1_000;
const MOST_TASKS = 1_000_000;

/**
 * Errors: PRL_CONFIG_INVALID when all of endless tasks are wanted, PRL_ENVIRONMENT_INVALID for none or too many,
 * PRL_ENVIRONMENT_TIMEOUT for a page that does not come, and those of generating tasks.
 */
export async function readTasks(environment: ConfiguredEnvironment, options: ReadTasksOptions): Promise<ReadTasks> {
  const { name, split, seed, wanted, deadlineMs, most = MOST_TASKS, signal } = options;
  const source = environment.tasks(split, seed);
  const tasks: Task[] = [];
  let leftOut = 0;
  const enough = wanted < 0 ? Infinity : wanted;
  for (let after: string | null = null; tasks.length < enough;) {
    const page: TaskPage = await pageInTime(() => source.page(after, Math.min(TASK_PAGE, enough - tasks.length)));
    if (page.endless && wanted < 0)
      throw new PrlError("PRL_CONFIG_INVALID", `evaluation "${name}": its tasks never end; say how many with -n`);
    tasks.push(...page.tasks);
    if (wanted < 0 && tasks.length > most) {
      const advice = "say how many with -n, and put endless(...) around what never ends";
      throw new PrlError(
        "PRL_ENVIRONMENT_INVALID",
        `evaluation "${name}": there are more than ${most} tasks; ${advice}`,
      );
    }
    leftOut = page.left_out ?? 0;
    after = page.next;
    if (after === null) break;
  }
  if (tasks.length === 0)
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `evaluation "${name}": there are no tasks${rowsText(leftOut)}`);
  return { tasks, leftOut };

  async function pageInTime(read: () => Promise<TaskPage>): Promise<TaskPage> {
    const late = new AbortController();
    const timer = setTimeout(() => {
      const message = `evaluation "${name}": its tasks did not come within ${deadlineMs / 1000} s`;
      late.abort(new PrlError("PRL_ENVIRONMENT_TIMEOUT", message));
    }, deadlineMs);
    try {
      return await untilAborted(read, signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]));
    } finally {
      clearTimeout(timer);
    }
  }
}

function rowsText(leftOut: number): string {
  return leftOut === 0 ? "" : `: all ${leftOut} rows of its data were left out`;
}
