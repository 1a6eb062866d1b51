/**
 * Separates generated tasks by their content: `train`, `eval` and demonstrations share no task, for any seed, and within each a task
 * does not come twice.
 */
import { PrlError } from "../errors.ts";
import { taskHash, type Split } from "./task-hash.ts";

export type Use = Split | "demonstrations";

/** One of eight tasks is held out, and three are for demonstrations where an environment gives some. */
const USE_OF_CLASS: readonly Use[] = ["eval", "train", "train", "train", "train"];
const CLASSES = 8;
/** Most rows that are remembered; older ones may come again. */
const REMEMBERED = 1 << 16;
/** After this many known rows in a row the generator counts as exhausted: its tasks begin anew. */
const MOST_SKIPPED = 200;
/** After this many rows of other uses before the first one, the generator is taken to have none of this use. */
const MOST_OTHERS = 2_000;

/**
 * The rows of an endless generator that belong to a use. `content` is equal for equal tasks. `group` is equal for tasks that have to be of
 * one use, and undefined for a task without such others. Throws PRL_ENVIRONMENT_INVALID where none belongs to the use.
 */
export function* ofSplit<Row>(
  rows: Iterable<Row>,
  use: Use,
  content: (row: Row) => unknown,
  group: (row: Row) => unknown = () => undefined,
): Generator<Row> {
  const known = new Set<string>();
  let skipped = 0;
  let others = 0;
  for (const row of rows) {
    const hash = taskHash(content(row));
    const shared = group(row);
    if (useOf(shared === undefined ? hash : taskHash(shared)) !== use) {
      others += 1;
      if (known.size === 0 && others === MOST_OTHERS) throw withoutTasks(use);
      continue;
    }
    if (known.has(hash)) {
      skipped += 1;
      if (skipped < MOST_SKIPPED) continue;
      known.clear();
    }
    skipped = 0;
    known.add(hash);
    const [oldest] = known;
    if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest);
    yield row;
  }
}

/** The use to which the tasks with this content belong, or those of this group where there are groups. */
export function useOfContent(content: unknown, group?: unknown): Use {
  return useOf(taskHash(group === undefined ? content : group));
}

function useOf(hash: string): Use {
  return USE_OF_CLASS[Number.parseInt(hash.slice(0, 8), 16) % CLASSES] ?? "demonstrations";
}

function withoutTasks(use: Use): PrlError {
  const found = `of ${MOST_OTHERS} generated tasks none belongs to ${use}, because there are too few different ones`;
  return new PrlError(
    "PRL_ENVIRONMENT_INVALID",
    `${found}; ask for harder or more varied tasks in the environment's args`,
  );
}
