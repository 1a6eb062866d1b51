/** Checks that there are tasks, equal for equal seeds, each only once, and that no task of `train` is in `eval`. */
import type { Split } from "../../datasets/index.ts";
import type { Task } from "../model/tasks.ts";
import type { Inspection } from "./inspection.ts";

/** Share of the checked tasks that may repeat another. */
const MOST_REPEATED = 0.02;
const MEND = "; where the prompt does not say which task it is, give `contentKey: (row) => string` in the definition";

/** Most tasks of a split that are compared by content. */
const CONTENTS = 1000;
/** Read at once, so that slow ones stop soon. */
const PAGE = 10;
/** Reading them stops after this time. */
const READING_MS = 3_000;

/** A task's identity. */
export interface Content {
  readonly key: string;
  readonly content: string;
}

/** The first tasks of a split, read twice. */
export async function readTasks(inspection: Inspection, split: Split): Promise<Task[] | null> {
  const { tasks: wanted, seed } = inspection.options;
  const read = async () => (await inspection.environment.tasks(split, seed).page(null, wanted)).tasks;
  const tasks = await inspection.attempt("tasks", split, null, () =>
    inspection.work.tasks.of(read, (found) => found.length),
  );
  if (tasks === null) return null;
  if (tasks.length === 0) inspection.fail("tasks", split, null, "there are none");
  const again = await inspection.attempt("deterministic", split, null, read);
  const differs = tasks.findIndex((task, index) => {
    const other = again?.[index];
    return other !== undefined && (other.hash !== task.hash || other.key !== task.key);
  });
  if (again !== null && (differs >= 0 || again.length !== tasks.length)) {
    const where = differs >= 0 ? `task ${differs} differs` : `${tasks.length} tasks, then ${again.length}`;
    const message = `read twice with seed ${seed}, ${where}; rng is the only randomness to use`;
    inspection.fail("deterministic", split, null, message);
  }
  const keys = new Set(tasks.map(({ key }) => key)).size;
  const hashes = new Set(tasks.map(({ hash }) => hash)).size;
  if (keys < hashes) inspection.fail("tasks", split, null, `${hashes} different tasks share ${keys} keys`);
  return tasks;
}

/** The identities of many tasks of a split, because repetitions show only among many. */
export async function readContents(inspection: Inspection, split: Split): Promise<Content[] | null> {
  const { environment, options, notes } = inspection;
  const begun = performance.now();
  return inspection.attempt("duplicates", split, null, async (signal) => {
    const source = environment.tasks(split, options.seed);
    const contents: Content[] = [];
    let after: string | null = null;
    do {
      const { tasks, next } = await source.page(after, PAGE);
      for (const task of tasks) contents.push({ key: task.key, content: environment.contentKey(task) });
      after = next;
      signal.throwIfAborted();
      if (performance.now() - begun > READING_MS) {
        notes.add(
          `duplicates and overlap were looked for in the first ${contents.length} tasks of ${split}: reading is slow`,
        );
        break;
      }
    } while (after !== null && contents.length < CONTENTS);
    return contents;
  });
}

/** Tasks of one split do not repeat each other. */
export function checkDuplicates(inspection: Inspection, split: Split, contents: readonly Content[]): void {
  const known = new Set<string>();
  const repeating = contents.filter(({ content }) => known.size === known.add(content).size);
  const [first] = repeating;
  if (first === undefined || repeating.length / contents.length <= MOST_REPEATED) return;
  const message = `${repeating.length} of ${contents.length} tasks repeat the content of another: ${shown(first.content)}${MEND}`;
  inspection.fail("duplicates", split, first.key, message);
}

/** Checks that no training task is held out for evaluation. */
export function checkOverlap(
  inspection: Inspection,
  { train, eval: held }: Readonly<Record<Split, readonly Content[]>>,
): void {
  if (train.length === 0 || held.length === 0) return;
  inspection.tried.add("overlap");
  const trained = new Set(train.map(({ content }) => content));
  const common = held.filter(({ content }) => trained.has(content));
  const [first] = common;
  if (first === undefined) return;
  const message = `${common.length} of the tasks looked at are in train and in eval: ${shown(first.content)}${MEND}`;
  inspection.fail("overlap", "eval", first.key, message);
}

function shown(content: string): string {
  return JSON.stringify(content.length > 60 ? `${content.slice(0, 60)}...` : content);
}
