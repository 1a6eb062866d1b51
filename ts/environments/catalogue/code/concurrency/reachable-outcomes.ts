/** reachable-outcomes: all final values of shared variables over every interleaving of threads. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { drawThreads, isOver, startOf, type State, stepOf, type Threads, threadsText } from "./shared-threads.ts";

export interface OutcomesProblem {
  threads: Threads;
}

/** By level: lines of each thread, least and most outcomes, least and most states. */
const SIZES = [
  [[1, 2], 2, 3, 4, 9],
  [[2, 2], 2, 5, 10, 16],
  [[2, 3], 3, 7, 17, 28],
  [[2, 2, 2], 4, 10, 29, 75],
  [[2, 3, 3], 5, 16, 76, 600],
] as const;

export const reachableOutcomes = itemRow<OutcomesProblem>({
  id: "reachable-outcomes",
  asks: "all final values of shared variables over every interleaving of threads",
  form: "list",
  tries: 60,
  make: draw,
  prompts: [
    ({ threads }) =>
      `Threads share x and y, which are 0 at first; every line is executed in one step, in any interleaving.\n\n${threadsText(threads)}\n\nWhich final values of (x, y) are possible? ${FORMAT}`,
    ({ threads }) =>
      `${threadsText(threads)}\n\nAll variables start with 0. x and y are shared, variables with r belong to their thread. Lines are atomic, and the scheduler may switch between any two of them. List all results that x and y can have in the end. ${FORMAT}`,
    ({ threads }) =>
      `Explore every schedule of\n\n${threadsText(threads)}\n\n(shared x = y = 0 in the beginning; one line is one indivisible action). What can be observed after all threads have ended? ${FORMAT}`,
    ({ threads }) =>
      `A model checker enumerates the terminal states of this program:\n\n${threadsText(threads)}\n\nEach line is a step, the initial values are 0, and the threads are interleaved without restriction. State every pair of final values of x and y. ${FORMAT}`,
  ],
});

const FORMAT =
  "Write each pair as x/y, sorted by x and then by y, with commas between the pairs, such as 1/4, 2/0. A missing or impossible pair makes the answer wrong.";

function draw(rng: Rng, level: Level) {
  const [lengths, least, most, fewest, largest] = at(SIZES, level - 1);
  const threads = drawThreads(rng, shuffled(lengths, rng));
  const { outcomes, states } = explored(threads);
  if (outcomes.length < least || outcomes.length > most || states < fewest || states > largest) return null;
  const sequential = sorted(range(threads.length).map((first) => alone(threads, first)));
  // Runs of whole threads must not show everything.
  if (sequential.length === outcomes.length) return null;
  const misses = [sequential, outcomes.slice(1), outcomes.toReversed()];
  return { problem: { threads }, items: outcomes, misses, effort: states };
}

function explored(threads: Threads): { outcomes: string[]; states: number } {
  const seen = new Map<string, State>();
  const open = [startOf(threads)];
  const ends: State[] = [];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    const key = JSON.stringify(state);
    if (seen.has(key)) continue;
    seen.set(key, state);
    if (isOver(threads, state)) ends.push(state);
    for (const thread of range(threads.length)) {
      const next = stepOf(threads, state, thread);
      if (next !== null) open.push(next);
    }
  }
  return { outcomes: sorted(ends), states: seen.size };
}

/** The threads one after the other, from one of them on. */
function alone(threads: Threads, first: number): State {
  let state = startOf(threads);
  for (const index of range(threads.length)) {
    const thread = (first + index) % threads.length;
    for (const _ of at(threads, thread)) state = stepOf(threads, state, thread) ?? state;
  }
  return state;
}

function sorted(states: readonly State[]): string[] {
  const ordered = states.toSorted((a, b) => a.x - b.x || a.y - b.y);
  return [...new Set(ordered.map(({ x, y }) => `${x}/${y}`))];
}
