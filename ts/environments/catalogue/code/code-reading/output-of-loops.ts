/** output-of-loops: everything that a program of loops and branches prints. */
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { deletions, drawProgram, isLive } from "../small-python/draw.ts";
import { runProgram } from "../small-python/run.ts";
import { type Program, sourceOf } from "../small-python/syntax.ts";

interface Problem {
  program: Program;
}

/** By level: variables, loops within loops, statements of a block, least and most steps. */
const SIZES = [
  [2, 1, 1, 10, 25],
  [2, 1, 2, 26, 45],
  [3, 2, 2, 46, 90],
  [3, 2, 3, 91, 160],
  [4, 3, 3, 161, 450],
] as const;
const MOST_LINES = 24;
const TRIES = 60;

export const outputOfLoops = itemRow<Problem>({
  id: "output-of-loops",
  asks: "the printed lines of a program with loops, branches, lists and texts",
  form: "lines",
  tries: TRIES,
  make: draw,
  prompts: [
    ({ program }) =>
      `What does this Python program print?\n\n${sourceOf(program)}\n\nGive all of its output, line by line, as it appears on the screen.`,
    ({ program }) =>
      `Execute the following code in your head (Python 3) and write down its complete output. Keep the order of the lines, one below the other.\n\n${sourceOf(program)}`,
    ({ program }) =>
      `A colleague has no computer at hand and wants to know the exact text that this script writes to standard output:\n\n${sourceOf(program)}\n\nEvery printed line counts; a missing, extra or changed line makes the answer wrong.`,
    ({ program }) =>
      `${sourceOf(program)}\n\nThe above is run with Python 3. Trace it and state what has been printed when it ends: each line on a separate line of the answer, in order.`,
  ],
});

function draw(rng: Rng, level: Level) {
  const [variables, depth, length, least, most] = at(SIZES, level - 1);
  const shape = { variables, depth, length, hasList: rng.integer(2) === 0, hasText: rng.integer(3) === 0 };
  const program = drawProgram(rng, shape);
  const run = runProgram(program);
  if (run === null || run.steps < least || run.steps > most || run.printed.length > MOST_LINES) return null;
  const last = run.printed.at(-1) ?? "";
  if (new Set(last.match(/\w+/gu)).size < 2 || !isLive(program)) return null;
  const misses = deletions(program).flatMap((one) => {
    const other = runProgram(one);
    return other === null ? [] : [other.printed];
  });
  return { problem: { program }, items: run.printed, misses: misses.slice(0, 5), effort: run.steps };
}
