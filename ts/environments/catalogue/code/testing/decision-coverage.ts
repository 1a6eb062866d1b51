/** decision-coverage: tests of a condition in which each part decides the result at least once (MC/DC). */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

type Formula = string | { not: Formula } | { and: Formula[] } | { or: Formula[] };
export interface DecisionProblem {
  names: string[];
  formula: Formula;
  most: number;
}

/** By level: conditions. */
const SIZES = [3, 4, 5, 6, 8] as const;

export const decisionCoverage = witnessRow<DecisionProblem>({
  id: "decision-coverage",
  asks: "few tests of a condition among which, for each part, two differ in that part only and in the result",
  form: "lines",
  tries: 30,
  make,
  isRight: (problem, items) => {
    const { names, most } = problem;
    const tests = items.map((item) => item.replaceAll(/[\s,]/gu, "").toUpperCase());
    if (tests.length > most || !tests.every((test) => test.length === names.length && /^[TF]+$/u.test(test)))
      return false;
    const known = new Set(tests);
    return names.every((_, index) =>
      tests.some((test) => isPair(problem, test, index) && known.has(flipped(test, index))),
    );
  },
  prompts: [
    (one) =>
      `${decisionText(one.formula)}\n\nGive at most ${one.most} assignments such that for each of ${one.names.join(", ")} two of them differ in this variable alone and give different results. One assignment per line: T or F for ${one.names.join(", ")} in this order, without spaces.`,
    (one) =>
      `Reach MC/DC (unique cause) for the decision\n\n    ${decisionText(one.formula)}\n\nwith no more than ${one.most} test cases. A test case is a line of ${one.names.length} letters T or F, the values of ${one.names.join(", ")} in order.`,
    (one) =>
      `A standard for avionics asks that every condition is shown to affect the outcome on its own. For\n\n${decisionText(one.formula)}\n\nwrite up to ${one.most} vectors (T and F for ${one.names.join(", ")}, one vector a line) that contain, for each condition, a pair that differs only there and changes the decision.`,
    (one) =>
      `Conditions: ${one.names.join(", ")}. Decision: ${decisionText(one.formula)}\n\nAt most ${one.most} rows of its truth table are to be tested, and for every condition the table must hold two chosen rows that differ in nothing else and have opposite outcomes. List the rows, a line each, as words of T and F in the order of the conditions.`,
  ],
});

export function decisionText(formula: Formula, isInner = false): string {
  if (typeof formula === "string") return formula;
  if ("not" in formula) return `not ${decisionText(formula.not, true)}`;
  const [parts, sign] = "and" in formula ? [formula.and, "and"] : [formula.or, "or"];
  const text = parts.map((part) => decisionText(part, true)).join(` ${sign} `);
  return isInner ? `(${text})` : text;
}

function make(rng: Rng, level: Level) {
  const count = at(SIZES, level - 1);
  const names = "abcdefgh".slice(0, count).split("");
  const build = (leaves: readonly string[], isAnd: boolean): Formula => {
    if (leaves.length === 1) return rng.integer(3) === 0 ? { not: at(leaves, 0) } : at(leaves, 0);
    const cut = 1 + rng.integer(leaves.length - 1);
    const parts = [build(leaves.slice(0, cut), !isAnd), build(leaves.slice(cut), !isAnd)];
    return isAnd ? { and: parts } : { or: parts };
  };
  const formula = build(shuffled(names, rng), rng.integer(2) === 0);
  const base = { names, formula, most: count + 1 };
  const words = shuffled(
    range(2 ** count).map((bits) =>
      names.map((_, index) => (Math.floor(bits / 2 ** index) % 2 === 1 ? "T" : "F")).join(""),
    ),
    rng,
  );
  const rows = suiteOf(formula).map((values) => names.map((name) => (values.get(name) === true ? "T" : "F")).join(""));
  const witness = shuffled(rows, rng);
  const misses = [words.slice(0, count + 1), witness.slice(1), witness.map((word) => flipped(word, 0)), [...words]];
  return { problem: base, witness, misses, effort: count * 2 ** count };
}

/** One test more than there are conditions: each part is tested while the other one lets its value through. */
function suiteOf(formula: Formula): ReadonlyMap<string, boolean>[] {
  if (typeof formula === "string") return [new Map([[formula, true]]), new Map([[formula, false]])];
  if ("not" in formula) return suiteOf(formula.not);
  const [parts, open] = "and" in formula ? [formula.and, true] : [formula.or, false];
  const [left, right] = parts;
  if (left === undefined || right === undefined) throw new Error("a decision has two parts");
  const [lefts, rights] = [suiteOf(left), suiteOf(right)];
  const passing = (part: Formula, tests: readonly ReadonlyMap<string, boolean>[]): ReadonlyMap<string, boolean> => {
    const found = tests.find((test) => valueOf(part, test) === open);
    if (found === undefined) throw new Error("no test lets the other part through");
    return found;
  };
  const [ofLeft, ofRight] = [passing(left, lefts), passing(right, rights)];
  return [
    ...lefts.map((test) => new Map([...test, ...ofRight])),
    ...rights.filter((test) => test !== ofRight).map((test) => new Map([...ofLeft, ...test])),
  ];
}

function isPair({ names, formula }: DecisionProblem, word: string, index: number): boolean {
  return holds(formula, names, word) !== holds(formula, names, flipped(word, index));
}

function holds(formula: Formula, names: readonly string[], word: string): boolean {
  return valueOf(formula, new Map(names.map((name, index) => [name, word[index] === "T"])));
}

function valueOf(formula: Formula, values: ReadonlyMap<string, boolean>): boolean {
  if (typeof formula === "string") return values.get(formula) === true;
  if ("not" in formula) return !valueOf(formula.not, values);
  return "and" in formula
    ? formula.and.every((part) => valueOf(part, values))
    : formula.or.some((part) => valueOf(part, values));
}

function flipped(word: string, index: number): string {
  return `${word.slice(0, index)}${word[index] === "T" ? "F" : "T"}${word.slice(index + 1)}`;
}
