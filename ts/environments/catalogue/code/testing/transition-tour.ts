/** transition-tour: an input word that takes every transition of a state machine at least once. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

interface Problem {
  inputs: string[];
  /** Next state for each state and input; null where the input is not possible. */
  next: (number | null)[][];
  most: number;
}

/** By level: states, inputs. */
const SIZES = [
  [3, 2],
  [4, 2],
  [5, 3],
  [7, 3],
  [10, 3],
] as const;

export const transitionTour = witnessRow<Problem>({
  id: "transition-tour",
  asks: "a short sequence of inputs that takes every transition of a state machine",
  form: "list",
  tries: 40,
  make,
  isRight: ({ next, inputs, most }, items) => {
    const taken = new Set<string>();
    let state: number | null = 0;
    if (items.length > most) return false;
    for (const item of items) {
      const index = inputs.indexOf(item);
      taken.add(`${state} ${index}`);
      state = next[state]?.[index] ?? null;
      if (state === null) return false;
    }
    return taken.size === next.flat().filter((one) => one !== null).length;
  },
  prompts: [
    (one) =>
      `${table(one)}\n\nThe machine starts in S0. Find at most ${one.most} inputs in a row that take every transition at least once and never give an input that is not possible. Separate them by commas.`,
    (one) =>
      `A tester wants one long run through this protocol, from S0, in which each transition happens:\n${table(one)}\n\nAt most ${one.most} events, only events that the current state knows. Write the events in order with commas between.`,
    (one) =>
      `Cover all transitions.\n\n${table(one)}\n\nStart: S0. Answer with a comma-separated sequence of inputs of length ${one.most} or less; inputs without an entry in the current state are forbidden.`,
    (one) =>
      `Design a transition tour of the state machine\n\n${table(one)}\n\nthat begins in S0 and has no more than ${one.most} steps; it may end anywhere. List its inputs, separated by commas.`,
  ],
});

function table({ inputs, next }: Problem): string {
  return next
    .map(
      (row, state) =>
        `S${state}: ${row.flatMap((to, index) => (to === null ? [] : [`${at(inputs, index)} -> S${to}`])).join(", ")}`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [states, count] = at(SIZES, level - 1);
  const inputs = shuffled(["open", "send", "stop", "wait", "ping", "push"], rng).slice(0, count);
  const next = range(states).map(() => inputs.map(() => (rng.integer(4) === 0 ? null : rng.integer(states))));
  const word: number[] = [];
  const open = new Set(
    next.flatMap((row, state) => row.flatMap((to, index) => (to === null ? [] : [`${state} ${index}`]))),
  );
  const all = open.size;
  let state = 0;
  while (open.size > 0) {
    const path = nearest(next, state, open);
    if (path === null) return null;
    for (const index of path) {
      open.delete(`${state} ${index}`);
      word.push(index);
      state = next[state]?.[index] ?? 0;
    }
  }
  if (all < states * count * 0.6 || word.length < all) return null;
  const witness = word.map((index) => at(inputs, index));
  const misses = [witness.slice(1), range(word.length).map(() => rng.pick(inputs)), [...witness, ...witness]];
  return {
    problem: { inputs, next, most: word.length + Math.floor(level / 3) },
    witness,
    misses,
    effort: word.length * states,
  };
}

/** Inputs to the nearest transition that is still open, and through it. */
function nearest(next: Problem["next"], from: number, open: ReadonlySet<string>): number[] | null {
  const queue: { state: number; path: number[] }[] = [{ state: from, path: [] }];
  const seen = new Set([from]);
  for (const { state, path } of queue) {
    const row = at(next, state);
    const direct = row.findIndex((to, index) => to !== null && open.has(`${state} ${index}`));
    if (direct >= 0) return [...path, direct];
    for (const [index, to] of row.entries()) {
      if (to === null || seen.has(to)) continue;
      seen.add(to);
      queue.push({ state: to, path: [...path, index] });
    }
  }
  return null;
}
