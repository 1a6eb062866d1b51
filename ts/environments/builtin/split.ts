/** Keeps generated tasks of `train`, `eval` and demonstrations apart by what is in them, so that no seed makes one of another. */
import { taskHash } from "../tasks.ts";
import type { Split } from "../environment.ts";

export type Use = Split | "demonstrations";

/** Of eight tasks one is held out and three are for demonstrations, where an environment gives some. */
const USE_OF_CLASS: readonly Use[] = ["eval", "train", "train", "train", "train"];
const CLASSES = 8;

/** The rows of an endless generator that belong to a use. `content`: what makes two rows the same task. */
export function* ofSplit<Row>(rows: Iterable<Row>, use: Use, content: (row: Row) => unknown): Generator<Row> {
  for (const row of rows) {
    const residue = Number.parseInt(taskHash(content(row)).slice(0, 8), 16) % CLASSES;
    if ((USE_OF_CLASS[residue] ?? "demonstrations") === use) yield row;
  }
}
