/** race-to-value: a schedule of threads after which the shared variables have wanted values. */
import { firstDrawn, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";
import { drawThreads, isOver, startOf, type State, stepOf, type Threads, threadsText } from "./shared-threads.ts";

interface Instance {
  threads: Threads;
  x: number;
  y: number;
  schedule: number[];
}

/** By level: lines of each thread, and the largest share of random schedules that give the values. */
const SIZES = [
  [[2, 3], 0.2],
  [[3, 3], 0.11],
  [[3, 4], 0.08],
  [[3, 3, 3], 0.04],
  [[4, 4, 4], 0.02],
] as const;
const TRIES = 60;
const SCHEDULES = 200;

export const raceToValue = defineRow<Instance>({
  id: "race-to-value",
  asks: "a schedule of threads that ends with wanted values of shared variables",
  place: "answer",
  make: (rng, level) => firstDrawn(TRIES, () => draw(rng, level)),
  effort: ({ schedule, threads }) => schedule.length * threads.length,
  canonical: ({ threads, x, y }) => [threads, x, y],
  prompts: [
    (one) =>
      `${threadsText(one.threads)}\n\nx and y are shared, r1, r2, ... belong to their threads, and all are 0 at first. Each line is one step. Find an interleaving that ends with x = ${one.x} and y = ${one.y}. ${FORMAT}`,
    (one) =>
      `A test failed once: after all threads had ended, x was ${one.x} and y was ${one.y}. Show how that can happen.\n\n${threadsText(one.threads)}\n\nEvery variable starts at 0, lines are atomic, x and y belong to all threads. ${FORMAT}`,
    (one) =>
      `Steer the scheduler. Goal: final values x = ${one.x}, y = ${one.y} (both 0 in the beginning).\n\n${threadsText(one.threads)}\n\nIn a step one thread executes its next line completely. ${FORMAT} Any schedule with this result is right.`,
    (one) =>
      `In which order may the lines of these threads run so that (x, y) is (${one.x}, ${one.y}) in the end?\n\n${threadsText(one.threads)}\n\nAll values are 0 before; no line is interrupted; within a thread the lines keep their order. ${FORMAT}`,
  ],
  gold: ({ schedule }) => schedule.join(", "),
  nearMisses: (one) => {
    const { schedule, threads } = one;
    const whole = threads.flatMap((lines, index) => lines.map(() => index + 1));
    return [
      whole,
      whole.toReversed(),
      schedule.slice(0, -1),
      [...schedule, 1],
      schedule.toReversed(),
      schedule.slice(1),
    ]
      .map((list) => list.join(", "))
      .filter((text) => scoreOf(one, text) < 1);
  },
  variants: ({ schedule }) => [schedule.join(" "), `[${schedule.join(", ")}]`],
  score: scoreOf,
});

const FORMAT =
  "Write the numbers of the threads in the order in which they take their steps, one number for each line, separated by commas.";

function draw(rng: Rng, level: Level): Instance | null {
  const [lengths, largest] = at(SIZES, level - 1);
  const threads = drawThreads(rng, shuffled(lengths, rng));
  const steps = threads.flatMap((lines, index) => lines.map(() => index + 1));
  const schedule = shuffled(steps, rng);
  const end = finalState(threads, schedule);
  if (end === null || (end.x === 0 && end.y === 0)) return null;
  const hits = (some: readonly (readonly number[])[]): number =>
    some.map((one) => finalState(threads, one)).filter((one) => one?.x === end.x && one.y === end.y).length;
  const random = range(SCHEDULES).map(() => shuffled(steps, rng));
  // Whole threads one after the other, in any order of two of them, must not do.
  const orders = range(threads.length).flatMap((first) => [
    steps
      .map((_, index) => at(steps, (index + first) % steps.length))
      .toSorted((a, b) => Number(b === first + 1) - Number(a === first + 1)),
    steps.toReversed().toSorted((a, b) => Number(b === first + 1) - Number(a === first + 1)),
  ]);
  if (hits(random) > largest * SCHEDULES || hits([steps, steps.toReversed(), ...orders]) > 0) return null;
  return { threads, x: end.x, y: end.y, schedule };
}

/** Null where a thread has no line left, or not all are at their end. */
function finalState(threads: Threads, schedule: readonly number[]): State | null {
  let state = startOf(threads);
  for (const number of schedule) {
    const next = stepOf(threads, state, number - 1);
    if (next === null) return null;
    state = next;
  }
  return isOver(threads, state) ? state : null;
}

function scoreOf({ threads, x, y }: Instance, answer: string): number {
  const bare = answer.replace(/^\[([^[\]]*)\]$/u, "$1").trim();
  if (!/^\d(?:(?:\s*,\s*|\s+)\d){0,60}$/u.test(bare)) return 0;
  const end = finalState(threads, bare.split(/\s*,\s*|\s+/u).map(Number));
  return end !== null && end.x === x && end.y === y ? 1 : 0;
}
