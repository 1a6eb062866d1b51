/** Keeps generated tasks of `train` and `eval` apart by what is in them, so that no seed makes one of the other. */
import { taskHash } from "../tasks.ts";
import type { Split } from "../environment.ts";

/** One task in eight is held out. */
const HELD_OUT = 8;

/** The rows of an endless generator that belong to a split. `content`: what makes two rows the same task. */
export function* ofSplit<Row>(rows: Iterable<Row>, split: Split, content: (row: Row) => unknown): Generator<Row> {
  for (const row of rows) {
    const isHeldOut = Number.parseInt(taskHash(content(row)).slice(0, 8), 16) % HELD_OUT === 0;
    if (isHeldOut === (split === "eval")) yield row;
  }
}
