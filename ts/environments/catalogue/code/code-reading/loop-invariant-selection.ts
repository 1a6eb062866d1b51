/** loop-invariant-selection: which assertions hold whenever the test of a loop is evaluated. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { runProgram, type Value } from "../small-python/run.ts";
import {
  type Expression,
  name,
  number,
  operation,
  type Program,
  sourceOf,
  type Statement,
} from "../small-python/syntax.ts";

interface Problem {
  program: Program;
  largest: number;
  assertions: string[];
}

/** An assertion over the state. */
interface Claim {
  text: string;
  holds: (state: Readonly<Record<string, number>>) => boolean;
}

/** By level: variables besides the counter, statements of the body, assertions. */
const SIZES = [
  [1, 1, 8],
  [2, 2, 10],
  [2, 3, 12],
  [3, 4, 12],
  [4, 5, 12],
] as const;
const LETTERS = "ABCDEFGHIJKL";
const LARGEST = 15;

export const loopInvariantSelection = itemRow<Problem>({
  id: "loop-invariant-selection",
  asks: "which of some assertions hold at a loop head for every input",
  form: "set",
  make,
  prompts: [
    (one) =>
      `${sourceOf(one.program)}\n\nn is any whole number from 0 to ${one.largest}. Which of these assertions are true every time the test of the while loop is evaluated, for all such n (also the last time, when it fails)?\n\n${claims(one)}\n\nList the letters of all that always hold, separated by commas. Wrong letters cost as much as right ones earn.`,
    (one) =>
      `Select the loop invariants. Program (Python, 0 <= n <= ${one.largest}):\n\n${sourceOf(one.program)}\n\nAn assertion counts as an invariant if it holds at the loop head before every evaluation of the condition, whatever n is.\n\n${claims(one)}\n\nAnswer: the letters of the invariants, with commas; every wrong letter takes away a right one.`,
    (one) =>
      `A verification tool needs facts about the head of this loop:\n\n${sourceOf(one.program)}\n\nFor n between 0 and ${one.largest} some of the following never fail when control arrives at the line with while, the others fail at least once:\n\n${claims(one)}\n\nName those that never fail (letters, comma-separated). Letters of others are subtracted.`,
    (one) =>
      `Which statements below can be written as an assert directly before each check of the loop condition without ever failing?\n\n${claims(one)}\n\nThe code is run for every n = 0, 1, ..., ${one.largest}:\n\n${sourceOf(one.program)}\n\nGive all such letters with commas between; a false one cancels a correct one.`,
  ],
});

function make(rng: Rng, level: Level) {
  const [count, length, wanted] = at(SIZES, level - 1);
  const names = sample("abcdpqrstuxyz", count + 1, rng);
  const [counter = "i", ...others] = names;
  const program = drawLoop(rng, counter, others, length);
  const states: Record<string, number>[] = [];
  for (const n of range(LARGEST + 1)) {
    const atTest = (values: ReadonlyMap<string, Value>): void => {
      states.push(Object.fromEntries([...values].map(([key, value]) => [key, Number(value)])));
    };
    if (runProgram(program, { values: { n }, atTest, mostSteps: 600 }) === null) return null;
  }
  // A variable that never changes is no part of a loop.
  if (names.some((one) => new Set(states.map((state) => state[one])).size < 3)) return null;
  const drawn = new Map(
    range(160)
      .map(() => drawClaim(rng, names, states))
      .map((claim) => [claim.text, claim]),
  );
  const isTrue = ({ holds }: Claim): boolean => states.every(holds);
  const right = [...drawn.values()].filter(isTrue);
  // A false one holds often, else a glance at the start refutes it.
  const wrong = [...drawn.values()].filter(
    (claim) => !isTrue(claim) && states.filter(claim.holds).length > 0.25 * states.length,
  );
  const trueCount = between(rng, Math.ceil(0.3 * wanted), Math.floor(0.5 * wanted));
  if (right.length < trueCount || wrong.length < wanted - trueCount) return null;
  const chosen = shuffled([...sample(right, trueCount, rng), ...sample(wrong, wanted - trueCount, rng)], rng);
  const universe = LETTERS.slice(0, wanted).split("");
  const items = universe.filter((_, index) => isTrue(at(chosen, index)));
  const misses = [universe.filter((letter) => !items.includes(letter)), items.slice(1)];
  const problem = { program, largest: LARGEST, assertions: chosen.map(({ text }) => text) };
  return { problem, items, misses, universe, effort: wanted * (count + length) };
}

function drawLoop(rng: Rng, counter: string, others: readonly string[], length: number): Program {
  const start = [counter, ...others].map((called): Statement => ({
    do: "set",
    name: called,
    to: number(rng.integer(4)),
  }));
  const body = range(length).map((index): Statement => {
    const called = at(others, index % others.length);
    const added: Expression = rng.pick([number(between(rng, 1, 4)), name(counter), name(rng.pick(others))]);
    const grown = operation(name(called), rng.pick(["+", "+", "-"] as const), added);
    const set: Statement = { do: "set", name: called, to: grown };
    if (rng.integer(3) > 0) return set;
    const test = { left: operation(name(counter), "%", number(2)), is: "==", right: number(rng.integer(2)) } as const;
    return { do: "if", test, holds: [set], fails: [] };
  });
  const step: Statement = { do: "set", name: counter, to: operation(name(counter), "+", number(between(rng, 1, 3))) };
  const all = rng.integer(2) === 0 ? [...body, step] : [step, ...body];
  return [...start, { do: "while", test: { left: name(counter), is: "<", right: name("n") }, body: all }];
}

/** An assertion that fits two of the states; most such assertions fail in others. */
function drawClaim(rng: Rng, names: readonly string[], states: readonly Readonly<Record<string, number>>[]): Claim {
  const [a = "i", b = "i"] = sample(names, 2, rng);
  const [first, second] = [rng.pick(states), rng.pick(states)];
  const get = (state: Readonly<Record<string, number>>, key: string): number => state[key] ?? 0;
  const factor = between(rng, 1, 3);
  const signed = (value: number): string => (value === 0 ? "" : value < 0 ? ` - ${-value}` : ` + ${value}`);
  const product = factor === 1 ? b : `${factor} * ${b}`;
  switch (rng.integer(6)) {
    case 0: {
      const by = between(rng, 2, 3);
      const remainder = ((get(first, a) % by) + by) % by;
      return { text: `${a} % ${by} == ${remainder}`, holds: (state) => ((get(state, a) % by) + by) % by === remainder };
    }
    case 1: {
      const rest = get(first, a) - factor * get(first, b);
      return {
        text: `${a} == ${product}${signed(rest)}`,
        holds: (state) => get(state, a) === factor * get(state, b) + rest,
      };
    }
    case 2: {
      const rest = Math.max(get(first, a) - factor * get(first, b), get(second, a) - factor * get(second, b));
      return {
        text: `${a} <= ${product}${signed(rest)}`,
        holds: (state) => get(state, a) <= factor * get(state, b) + rest,
      };
    }
    case 3: {
      const rest = Math.max(get(first, a) - get(first, "n"), 0) + rng.integer(2);
      return { text: `${a} <= n${signed(rest)}`, holds: (state) => get(state, a) <= get(state, "n") + rest };
    }
    case 4: {
      const least = Math.min(get(first, a), get(second, a));
      return { text: `${a} >= ${least}`, holds: (state) => get(state, a) >= least };
    }
    default: {
      const by = between(rng, 2, 3);
      const remainder = (((get(first, a) + get(first, b)) % by) + by) % by;
      return {
        text: `(${a} + ${b}) % ${by} == ${remainder}`,
        holds: (state) => (((get(state, a) + get(state, b)) % by) + by) % by === remainder,
      };
    }
  }
}

function claims({ assertions }: Problem): string {
  return assertions.map((text, index) => `${LETTERS.charAt(index)}) ${text}`).join("\n");
}
