/** lasso-formulas: at which instants of an endless run formulas of linear temporal logic hold. */
import { firstDrawn } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { atOnePlace, type Formula, formulaText, randomFormula, sizeOf, truthOf } from "./formulas.ts";

interface Given {
  /** Atoms that hold at each instant. */
  instants: string[][];
  /** The instant that follows the last one. */
  back: number;
  formulas: Formula[];
}

/** By level: instants, atoms, formulas, depth. */
const SIZES = [
  [5, 2, 2, 2],
  [6, 2, 3, 3],
  [8, 3, 3, 4],
  [10, 3, 4, 5],
  [12, 4, 4, 7],
] as const;

/** Formulas of which one is neither true everywhere nor nowhere. */
const TRIES = 60;

export const lassoFormulas = fieldRow<Given>({
  id: "lasso-formulas",
  asks: "at which instants of a run that repeats its end temporal formulas hold",
  draw,
  solve,
  values: ({ instants }) =>
    `each value lists the instants, among t1 to t${instants.length}, at which the formula holds`,
  wordings: [
    (one) =>
      `A system runs through these instants:\n${runText(one)}\n\nFormulas:\n${formulaList(one)}\n\n${RULE} At which of the listed instants does each formula hold?`,
    (one) => `${RULE}\n\nEvaluate\n${formulaList(one)}\nat every instant of this run:\n${runText(one)}`,
    (one) =>
      `Properties of a protocol are written in temporal logic.\n${formulaList(one)}\n${RULE}\nThe recorded run is\n${runText(one)}\nMark where each property is true.`,
    (one) =>
      `The following trace has no end, since its tail repeats.\n${runText(one)}\nMeaning of the operators: ${RULE}\nDetermine the places of truth of\n${formulaList(one)}`,
  ],
});

const RULE =
  "X f: f holds at the next instant. F f: f holds now or at some later instant. G f: f holds now and at all later instants. (f U g): g holds now or later, and f holds at all instants before that, from now on. not, and, or, implies are as usual, and a prefix operator applies to the shortest formula behind it.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, atomCount, formulas, depth] = at(SIZES, level - 1);
  const atoms = ["p", "q", "r", "s"].slice(0, atomCount);
  const kind = { atoms, unary: ["X", "F", "G", "X", "not"], binary: ["U", "U", "and", "or", "implies"] };
  const run = {
    instants: range(count).map(() => atoms.filter(() => rng.integer(2) === 0)),
    back: rng.integer(count - 2) + 1,
    formulas: [],
  };
  const drawn = range(formulas).map(() =>
    firstDrawn(TRIES, () => {
      const formula = randomFormula(kind, depth, rng);
      return new Set(places(run, formula, true)).size === 2 ? formula : null;
    }),
  );
  return drawn.includes(null) ? null : { ...run, formulas: drawn.filter((one) => one !== null) };
}

/** `back` null: the last instant lasts for ever. */
function places({ instants, back }: Given, formula: Formula, loops: boolean): boolean[] {
  const count = instants.length;
  const next = range(count).map((place) => (place + 1 < count ? place + 1 : loops ? back : place));
  /** The least or greatest solution of v = base or (keep and next v). */
  const until = (keep: readonly boolean[], goal: readonly boolean[]): boolean[] => {
    const truth = [...goal];
    for (let turn = 0; turn < 2; turn++)
      for (const place of range(count).toReversed())
        truth[place] = at(goal, place) || (at(keep, place) && at(truth, at(next, place)));
    return truth;
  };
  return truthOf(
    formula,
    (atom) => instants.map((held) => held.includes(atom)),
    (op, parts) => {
      const plain = atOnePlace(op, parts);
      if (plain !== null) return plain;
      const [first = [], second = []] = parts;
      if (op === "X") return next.map((place) => at(first, place));
      if (op === "U") return until(first, second);
      const all = first.map(() => true);
      if (op === "F") return until(all, first);
      return until(
        all,
        first.map((value) => !value),
      ).map((value) => !value);
    },
  );
}

function solve(given: Given): Solution | null {
  const { instants, formulas } = given;
  const marks = range(instants.length).map((place) => `t${place + 1}`);
  const named = (truth: readonly boolean[]): string => marked(marks.filter((_, place) => at(truth, place)));
  const values = formulas.map((formula) => named(places(given, formula, true)));
  const stopped = formulas.map((formula) => named(places(given, formula, false)));
  if (values.some((value) => value === "" || value === marked(marks)) || new Set(values).size < values.length)
    return null;
  const inverse = values.map((value) => marked(marks.filter((mark) => !value.split(", ").includes(mark))));
  return {
    fields: values.map((value, index) => ({ name: `f${index + 1}`, kind: "set", value, options: marks })),
    slips: [inverse, ...(stopped.join(";") === values.join(";") || stopped.includes("") ? [] : [stopped])],
    steps: instants.length * formulas.reduce((sum, formula) => sum + sizeOf(formula), 0),
  };
}

function runText({ instants, back }: Given): string {
  const lines = instants.map((held, place) => `t${place + 1}: ${held.length === 0 ? "no atom" : held.join(", ")}`);
  return `${lines.join("\n")}\nAfter t${instants.length} the run goes on with t${back + 1} and repeats from there for ever. Atoms that are not listed are false.`;
}

function formulaList({ formulas }: Given): string {
  return formulas.map((formula, index) => `f${index + 1}: ${formulaText(formula)}`).join("\n");
}
