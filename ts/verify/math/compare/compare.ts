/** Whether an answer means what the gold answer means. The gold's form decides where forms differ: order, percent, sets. */
import { compareCollections, valuesOf } from "./compare-collections.ts";
import { sameAntiderivative, sameForms } from "./compare-calculus.ts";
import { compareMeasured } from "./compare-measured.ts";
import * as c from "../values/complex.ts";
import { assigned, isEquation, sameEquation, solvedBy } from "./equations.ts";
import { approximate } from "../values/evaluate.ts";
import { type Expression, mapSymbols, sameTree, symbolsOf } from "../values/expression.ts";
import { withIntegerParameters } from "./integer-parameters.ts";
import { hasMatrix, matrixOf, rowsOfTuple, withoutDeterminants } from "../values/matrices.ts";
import { compareNamed, withLabels } from "./named-values.ts";
import { isRealSet, sameRealSet } from "./real-sets.ts";
import { statedSides } from "./roundings.ts";
import * as q from "../values/rational.ts";
import { sampleOf } from "./samples.ts";
import { namedSet, sameText } from "./texts.ts";

export interface CompareOptions {
  /** Decimal digits in which a rounded number has to agree. */
  precision: number;
  /** Symbols have to have the same names. */
  strict: boolean;
  /** An inequality may stand for a gold interval, and a set for a gold inequality. */
  allowSetRelations: boolean;
}

export function equivalent(gold: Expression, answer: Expression, options: CompareOptions): boolean {
  if (sameTree(gold, answer)) return true;
  const [a, b] = sameCase(...withIntegerParameters(prepared(gold), prepared(answer)));
  const same = (one: Expression, other: Expression): boolean => compare(one, other, options);
  if (same(a, b) || sameAntiderivative(a, b, same) || sameForms(a, b, same)) return true;
  if (options.strict) return false;
  const renamed = renameByPosition(a, b);
  return renamed !== null && same(a, renamed);
}

const prepared = (expression: Expression): Expression => withLabels(withoutDeterminants(expression));

function compare(gold: Expression, answer: Expression, options: CompareOptions): boolean {
  const same = (one: Expression, other: Expression): boolean => compare(one, other, options);
  const [members, others] = [membersOf(gold), membersOf(answer)];
  if (members !== null || others !== null) return same(members ?? gold, others ?? answer);
  const named = compareNamed(gold, answer, same);
  if (named !== null) return named;
  const equations = compareEquations(gold, answer, options);
  if (equations !== null) return equations;
  if (gold.kind === "text" || answer.kind === "text") {
    const [a, b] = [namedSet(gold), namedSet(answer)];
    return sameText(gold, answer) || ((a !== gold || b !== answer) && same(a, b));
  }
  if (isRealSet(gold) || isRealSet(answer)) return compareRealSets(gold, answer, options);
  const matrices = hasMatrix(gold) || hasMatrix(answer);
  if (matrices && (matrixOf(gold) ?? matrixOf(answer)) !== null) return compareMatrices(gold, answer, options);
  const collections = compareCollections(gold, answer, same);
  if (collections !== null) return collections;
  if (matrices) return false;
  return compareMeasured(gold, answer, options.precision, same);
}

/** x \in {1, 2} is {1, 2}: the letter only says what is in it. */
function membersOf(expression: Expression): Expression | null {
  if (expression.kind !== "relation" || expression.operators.join(" ") !== "in") return null;
  const [element, set] = expression.sides;
  return element?.kind === "symbol" && set !== undefined ? set : null;
}

// ---- equations ----

/** Null when neither is an equation. */
function compareEquations(gold: Expression, answer: Expression, options: CompareOptions): boolean | null {
  if (!isEquation(gold) && !isEquation(answer)) return null;
  if (!isEquation(answer) && isRounding(gold)) return gold.sides.some((side) => compare(side, answer, options));
  if (!isEquation(gold) && isRounding(answer))
    return statedSides(answer.sides).some((side) => compare(gold, side, options));
  const [goldValue, answerValue] = [assigned(gold), assigned(answer)];
  if (isEquation(gold) && isEquation(answer)) {
    if (goldValue !== null && answerValue !== null) {
      const sameName = namesAgree(goldValue.name, answerValue.name);
      if (sameName && compare(goldValue.value, answerValue.value, options)) return true;
    }
    if (sameEquation(gold, answer)) return true;
    if (answerValue !== null && solvedBy(gold, valuesOf(answerValue.value), answerValue.name)) return true;
    return goldValue !== null && solvedBy(answer, valuesOf(goldValue.value), goldValue.name);
  }
  if (isEquation(gold)) {
    const { values, name } = assignedValues(answer);
    if (goldValue === null) return solvedBy(gold, values, name);
    const isNamed = name !== null && name === goldValue.name;
    return compare(goldValue.value, isNamed ? { kind: "set", items: values } : answer, options);
  }
  if (answerValue === null) return false;
  const { values, name } = assignedValues(gold);
  const isNamed = name !== null && name === answerValue.name;
  return compare(isNamed ? { kind: "set", items: values } : gold, answerValue.value, options);
}

/** A value without a name has any; y is the usual name of the values of f(x). */
function namesAgree(a: string | null, b: string | null): boolean {
  const isFunction = (name: string | null): boolean => name === "y" || /^[fgh]\(x\)$/u.test(name ?? "");
  return a === null || b === null || a === b || (isFunction(a) && isFunction(b) && (a === "y" || b === "y"));
}

/** "4 pi ≈ 12.57": a number and what it is about. */
function isRounding(expression: Expression): expression is Expression & { kind: "relation" } {
  return isEquation(expression) && expression.operators.includes("~") && symbolsOf(expression).size === 0;
}

/** Values of a list like "x = 1 or x = 2", or of a list or set of values. */
function assignedValues(expression: Expression): { values: readonly Expression[]; name: string | null } {
  const values = valuesOf(expression);
  const assignments = values.map(assigned);
  const [first] = assignments;
  const letter = first?.name?.split("_")[0];
  if (first && assignments.every((one) => one !== null && one.name?.split("_")[0] === letter)) {
    return { values: assignments.flatMap((one) => (one === null ? [] : valuesOf(one.value))), name: letter ?? null };
  }
  return { values, name: null };
}

// ---- sets of reals ----

function compareRealSets(gold: Expression, answer: Expression, options: CompareOptions): boolean {
  if (!options.allowSetRelations && gold.kind !== "relation" && answer.kind === "relation") return false;
  const same = sameRealSet(gold, answer);
  if (same !== null) return same;
  if (gold.kind === "interval" && answer.kind === "interval") {
    const sameOpenness = gold.lowOpen === answer.lowOpen && gold.highOpen === answer.highOpen;
    return sameOpenness && compare(gold.low, answer.low, options) && compare(gold.high, answer.high, options);
  }
  if (gold.kind === "setOperation" && answer.kind === "setOperation") return sameOperation(gold, answer, options);
  return gold.kind === "relation" && answer.kind === "relation" && sameTruth(gold, answer);
}

/** Operations on sets that only have names: the same operands, in any order where the operation has none. */
function sameOperation(
  gold: Expression & { kind: "setOperation" },
  answer: Expression & { kind: "setOperation" },
  options: CompareOptions,
): boolean {
  if (gold.name !== answer.name || gold.of.length !== answer.of.length) return false;
  if (gold.name === "difference") return gold.of.every((set, index) => sameSet(set, answer.of[index], options));
  const open = [...answer.of];
  return gold.of.every((set) => {
    const index = open.findIndex((other) => sameSet(set, other, options));
    if (index >= 0) open.splice(index, 1);
    return index >= 0;
  });
}

function sameSet(a: Expression, b: Expression | undefined, options: CompareOptions): boolean {
  return b !== undefined && compare(a, b, options);
}

/** Inequalities in several symbols: equally true at many points. */
function sameTruth(gold: Expression & { kind: "relation" }, answer: Expression & { kind: "relation" }): boolean {
  const symbols = [...new Set([...symbolsOf(gold), ...symbolsOf(answer)])].sort();
  if (gold.operators.length !== 1 || answer.operators.length !== 1) return false;
  const strictness = (operator: string | undefined): boolean => operator === "<" || operator === ">";
  if (strictness(gold.operators[0]) !== strictness(answer.operators[0])) return false;
  const [truths, opposite] = [new Set<string>(), { true: 0, false: 0 }];
  for (let sample = 0; sample < 64; sample++) {
    const bindings = new Map(
      symbols.map((name, index) => {
        const base = q.toNumber(sampleOf(sample, index));
        return [name, c.complex(base * (1 + (sample % 7)) + (sample % 5) - 2)] as const;
      }),
    );
    const [a, b] = [gold, answer].map(({ sides: [left, right], operators: [operator] }) => {
      const l = left === undefined ? null : approximate(left, bindings);
      const r = right === undefined ? null : approximate(right, bindings);
      if (l === null || r === null) return null;
      return operator === "<" || operator === "<=" ? l.re < r.re : operator === "!=" ? l.re !== r.re : l.re > r.re;
    });
    if (a === null || b === null || a === undefined || b === undefined) continue;
    if (a !== b) return false;
    opposite[a ? "true" : "false"]++;
    truths.add(`${a}`);
  }
  // Points on one side only say nothing about the border.
  return truths.size === 2 && opposite.true + opposite.false >= 16 && sameBorder(gold, answer);
}

function sameBorder(gold: Expression & { kind: "relation" }, answer: Expression & { kind: "relation" }): boolean {
  const equation = ({ sides }: Expression & { kind: "relation" }) =>
    ({ kind: "relation", sides, operators: ["="] }) as const;
  return sameEquation(equation(gold), equation(answer));
}

// ---- matrices ----

function compareMatrices(gold: Expression, answer: Expression, options: CompareOptions): boolean {
  const [a, b] = [matrixOf(gold) ?? rowsOfTuple(gold, answer), matrixOf(answer) ?? rowsOfTuple(answer, gold)];
  if (a === null || b === null || a.length !== b.length) return false;
  return a.every((row, i) => {
    const other = b[i] ?? [];
    return (
      row.length === other.length && row.every((cell, j) => other[j] !== undefined && compare(cell, other[j], options))
    );
  });
}

// ---- names ----

/** Letters count without their case unless one expression tells them apart by it. */
function sameCase(gold: Expression, answer: Expression): [Expression, Expression] {
  const clashes = [gold, answer].some((one) => {
    const names = [...symbolsOf(one)];
    return new Set(names.map((name) => name.toLowerCase())).size < names.length;
  });
  if (clashes) return [gold, answer];
  const lower = (one: Expression): Expression =>
    mapSymbols(one, (name) => ({
      kind: "symbol",
      name: /^(?:[A-Z]|\p{L}{2,})$/u.test(name) ? name.toLowerCase() : name,
    }));
  return [lower(gold), lower(answer)];
}

/** The answer with its symbols named as the gold's, in the order of their first appearance; null when they do not pair up. */
function renameByPosition(gold: Expression, answer: Expression): Expression | null {
  const [to, from] = [[...symbolsOf(gold)], [...symbolsOf(answer)]];
  if (to.length !== from.length || to.length === 0) return null;
  const names = new Map(from.map((name, index) => [name, to[index] ?? name] as const));
  return mapSymbols(answer, (name) => ({ kind: "symbol", name: names.get(name) ?? name }));
}
