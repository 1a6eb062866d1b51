/** Counts the tasks of a split, with a deadline. */
import { PrlError } from "../../errors.ts";
import { checkOptions, number, only } from "../../options.ts";
import type { TaskPage } from "./tasks.ts";
import type { ConfiguredEnvironment } from "./configured-environment.ts";
import type { Split } from "../../datasets/index.ts";
import { untilAborted } from "../../async/deadline.ts";

export interface TaskCount {
  /** Tasks counted; all of the split when `complete`. */
  readonly count: number;
  /** The split has exactly `count` tasks; false for endless tasks and when there are more. */
  readonly complete: boolean;
  readonly endless: boolean;
  /** Data rows that gave no task, as far as they were read. */
  readonly leftOut: number;
}

export interface CountOptions {
  seed?: number;
  /** Counting stops at this many. Default 1,000,000. */
  most?: number;
  /** Default 60000. */
  deadlineMs?: number;
}

const optionsSchema = only<CountOptions>({
  seed: number.optional(),
  most: number.optional(),
  deadlineMs: number.optional(),
});

const PAGE = 1000;

/**
 * Reads tasks until they end, `most` were read, or they are known to be endless.
 * Errors: PRL_DEADLINE after `deadlineMs`, and those of reading tasks.
 */
export async function countTasks(
  environment: ConfiguredEnvironment,
  split: Split,
  options: CountOptions = {},
): Promise<TaskCount> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "countTasks", optionsSchema, options);
  const { seed = 0, most = 1_000_000, deadlineMs = 60_000 } = options;
  const source = environment.tasks(split, seed);
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(new PrlError("PRL_DEADLINE", `counting tasks did not end within ${deadlineMs / 1000} s`));
  }, deadlineMs);
  try {
    let count = 0;
    for (let after: string | null = null; ;) {
      const limit = count === 0 ? 1 : PAGE;
      const at: string | null = after;
      const page: TaskPage = await untilAborted(() => source.page(at, limit), late.signal);
      count += page.tasks.length;
      const leftOut = page.left_out ?? 0;
      if (page.endless || count >= most) return { count, complete: false, endless: page.endless, leftOut };
      if (page.next === null) return { count, complete: true, endless: false, leftOut };
      after = page.next;
    }
  } finally {
    clearTimeout(timer);
  }
}
