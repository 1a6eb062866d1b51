/** input-for-output: a list of inputs with which a program prints the wanted line. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";
import { runProgram } from "../small-python/run.ts";
import {
  type Expression,
  name,
  number,
  operation,
  type Program,
  sourceOf,
  type Statement,
} from "../small-python/syntax.ts";

interface Instance {
  program: Program;
  /** Of the list `data`. */
  length: number;
  largest: number;
  target: string;
  data: number[];
  effort: number;
}

/** By level: inputs, largest input, rounds of mixing, results. */
const SIZES = [
  [2, 9, 1, 1],
  [3, 20, 1, 2],
  [3, 50, 2, 2],
  [4, 50, 2, 3],
  [5, 99, 3, 3],
] as const;
const STATES = "abcd";
/** The target is not what most inputs give. */
const TRIES = 12;

export const inputForOutput = defineRow<Instance>({
  id: "input-for-output",
  asks: "an input with which a program prints the wanted line",
  place: "answer",
  make,
  effort: ({ effort }) => effort,
  canonical: ({ program, target }) => [program, target],
  prompts: [
    (one) =>
      `${sourceOf(one.program)}\n\nThe name data holds a list of ${bounds(one)}. Find a list for which this Python program prints exactly\n\n${one.target}\n\nAny such list is right. Write its numbers in order, separated by commas.`,
    (one) =>
      `Which list data makes the program below print "${one.target}"? data has ${bounds(one)}. Several lists may do; give one of them as numbers with commas between.\n\n${sourceOf(one.program)}`,
    (one) =>
      `Work backwards: the Python code\n\n${sourceOf(one.program)}\n\nwrote ${one.target} to the screen. Before it, data was set to a list of ${bounds(one)}. What may have been in it? One possibility suffices, as comma-separated numbers.`,
    (one) =>
      `Wanted output: ${one.target}\n\nProgram (Python 3, data is given):\n\n${sourceOf(one.program)}\n\nChoose data, a list of ${bounds(one)}, so that the program prints the wanted output. Answer with the list's numbers, separated by commas.`,
  ],
  gold: ({ data }) => data.join(", "),
  nearMisses: (one) =>
    [
      one.data.map((value, index) => (index === 0 ? value + 1 : value)),
      one.data.map((value) => (value === 0 ? 1 : value - 1)),
      one.data.slice(1),
      [...one.data, 0],
      [...one.data].reverse(),
      one.data.map(() => 0),
    ]
      .map((data) => data.join(", "))
      .filter((text) => scoreOf(one, text) < 1),
  variants: ({ data }) => [`[${data.join(", ")}]`, data.join(" ")],
  score: scoreOf,
});

function scoreOf({ program, length, largest, target }: Instance, answer: string): number {
  const bare = answer.replace(/^\[([^[\]]*)\]$/u, "$1").trim();
  if (!/^\d{1,3}(?:(?:\s*,\s*|\s+)\d{1,3})*$/u.test(bare)) return 0;
  const data = bare.split(/\s*,\s*|\s+/u).map(Number);
  if (data.length !== length || data.some((value) => value > largest)) return 0;
  return runProgram(program, { values: { data } })?.printed.join("\n") === target ? 1 : 0;
}

function make(rng: Rng, level: Level): Instance | null {
  const [length, largest, rounds, results] = at(SIZES, level - 1);
  const states = STATES.slice(0, results).split("");
  const start = states.map((called): Statement => ({ do: "set", name: called, to: number(between(rng, 0, 9)) }));
  const body = range(rounds).flatMap(() => mixing(rng, states));
  const program: Program = [
    ...start,
    { do: "each", name: "x", list: "data", body },
    { do: "print", values: states.map(name) },
  ];
  const random = (): number[] => range(length).map(() => between(rng, 0, largest));
  const data = random();
  const run = runProgram(program, { values: { data } });
  if (run === null || new Set(data).size < Math.min(3, length)) return null;
  const target = run.printed.join("\n");
  const others = range(TRIES).map(() => runProgram(program, { values: { data: random() } })?.printed.join("\n"));
  const flat = runProgram(program, { values: { data: data.map(() => 0) } })?.printed.join("\n");
  if (others.includes(target) || flat === target || new Set(others).size < TRIES / 2) return null;
  return { program, length, largest, target, data, effort: run.steps * results };
}

/** Statements that change every state by the input and by another state. */
function mixing(rng: Rng, states: readonly string[]): Statement[] {
  const limit = number(rng.pick([97, 101, 89, 83, 103]));
  return sample(states, states.length, rng).map((called, index) => {
    const other: Expression = index === 0 ? name("x") : rng.pick([name("x"), name(rng.pick(states))]);
    const factor = number(between(rng, 2, 5));
    const grown = operation(operation(name(called), "*", factor), rng.pick(["+", "-"] as const), other);
    const plain: Statement = { do: "set", name: called, to: operation(grown, "%", limit) };
    if (rng.integer(3) > 0) return plain;
    const test = {
      left: operation(name("x"), "%", number(between(rng, 2, 3))),
      is: "==",
      right: number(rng.integer(2)),
    } as const;
    return {
      do: "if",
      test,
      holds: [plain],
      fails: [{ do: "set", name: called, to: operation(name(called), "+", other) }],
    };
  });
}

function bounds({ length, largest }: Instance): string {
  return `${length} whole numbers from 0 to ${largest}`;
}
