/** branch-cover-inputs: a few calls that together execute every statement of a function with nested branches. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import type { Program, Statement } from "../small-python/syntax.ts";
import { witnessRow } from "../witness-row.ts";
import { type Branchy, branchySource, drawBranchy, drawInputs, inputsIn, resultOf } from "./branchy.ts";

interface Problem {
  function: Branchy;
  most: number;
}

/** By level: parameters, branches, largest argument. */
const SIZES = [
  [2, 3, 15],
  [2, 5, 20],
  [3, 7, 30],
  [3, 10, 40],
  [4, 14, 50],
] as const;
const SAMPLES = 60;

export const branchCoverInputs = witnessRow<Problem>({
  id: "branch-cover-inputs",
  asks: "at most a given number of calls that together execute every line of a function",
  form: "lines",
  tries: 30,
  make,
  isRight: ({ function: one, most }, items) => {
    const calls = items.map((item) => inputsIn(one, item));
    if (calls.length > most || calls.includes(null)) return false;
    const reached = new Set(calls.flatMap((inputs) => reachedBy(one, inputs ?? [])));
    return reached.size === statementsOf(one.body).length;
  },
  prompts: [
    (one) => `${text(one)}\n\nFind at most ${one.most} calls that together execute every line. ${format(one)}`,
    (one) =>
      `A team demands full line coverage of\n\n${text(one)}\n\nwith no more than ${one.most} calls of f. Which calls do it? ${format(one)}`,
    (one) =>
      `Choose test inputs (up to ${one.most}) so that no line of this function stays unexecuted.\n\n${text(one)}\n\n${format(one)}`,
    (one) =>
      `Budget: ${one.most} calls. Goal: each line below runs in at least one of them.\n\n${text(one)}\n\n${format(one)} Every set of calls that reaches the goal is right.`,
  ],
});

function text({ function: one }: Problem): string {
  return branchySource(one, one.body);
}

function format({ function: { parameters, largest } }: Problem): string {
  return `Arguments are whole numbers from 0 to ${largest}. Write one call a line: the values of ${parameters.join(", ")}, separated by spaces.`;
}

function make(rng: Rng, level: Level) {
  const [parameters, branches, largest] = at(SIZES, level - 1);
  const one = drawBranchy(rng, parameters, branches, largest);
  const samples = range(SAMPLES).map(() => {
    const inputs = drawInputs(one, rng);
    return { inputs, reached: reachedBy(one, inputs) };
  });
  const all = statementsOf(one.body).length;
  const covered = new Set<number>();
  const chosen: number[][] = [];
  while (covered.size < all) {
    const gains = samples.map(({ reached }) => reached.filter((place) => !covered.has(place)).length);
    const most = Math.max(...gains);
    if (most === 0) return null;
    const best = at(samples, gains.indexOf(most));
    chosen.push(best.inputs);
    for (const place of best.reached) covered.add(place);
  }
  if (chosen.length < 2 || chosen.length < level - 1) return null;
  const lines = (calls: readonly (readonly number[])[]): string[] => calls.map((inputs) => inputs.join(" "));
  const misses = [
    lines(samples.slice(0, chosen.length).map(({ inputs }) => inputs)),
    lines(chosen.slice(1)),
    lines([...chosen, ...samples.slice(0, 3).map(({ inputs }) => inputs)]),
  ];
  return {
    problem: { function: one, most: chosen.length },
    witness: lines(chosen),
    misses,
    effort: all * chosen.length,
  };
}

function statementsOf(body: Program): Statement[] {
  return body.flatMap((statement) => [
    statement,
    ...(statement.do === "if" ? [...statementsOf(statement.holds), ...statementsOf(statement.fails)] : []),
  ]);
}

/** Places of the executed statements. */
function reachedBy(one: Branchy, inputs: readonly number[]): number[] {
  const seen = new Set<Statement>();
  resultOf(one, one.body, inputs, (statement) => seen.add(statement));
  return statementsOf(one.body).flatMap((statement, place) => (seen.has(statement) ? [place] : []));
}
