/** Whether an answer means what the gold answer means. The gold's form decides where forms differ: order, percent, sets. */
import * as c from "./complex.ts";
import { differentiate } from "./differentiate.ts";
import { assigned, isEquation, sameEquation, solvedBy } from "./equations.ts";
import { approximate } from "./evaluate.ts";
import {
  type Expression,
  mapNodes,
  mapSymbols,
  negative,
  number,
  product,
  some,
  sum,
  symbolsOf,
} from "./expression.ts";
import { hasMatrix, matrixOf, withoutDeterminants } from "./matrices.ts";
import { endpoint, isRealSet, sameRealSet } from "./real-sets.ts";
import * as q from "./rational.ts";
import { sampleOf, sameValue } from "./scalars.ts";
import { namedSet, sameText } from "./texts.ts";
import { parseUnit } from "./units.ts";

export interface CompareOptions {
  /** Decimal digits in which a rounded number has to agree. */
  precision: number;
  /** Symbols have to have the same names. */
  strict: boolean;
  /** An inequality may stand for a gold interval, and a set for a gold inequality. */
  allowSetRelations: boolean;
}

export function equivalent(gold: Expression, answer: Expression, options: CompareOptions): boolean {
  const [a, b] = sameCase(withoutDeterminants(gold), withoutDeterminants(answer));
  if (compare(a, b, options)) return true;
  if (sameAntiderivative(a, b, options) || sameForms(a, b, options)) return true;
  if (options.strict) return false;
  const renamed = renameByPosition(a, b);
  return renamed !== null && compare(a, renamed, options);
}

/** An indefinite integral against a function: its derivative is what is integrated. */
function sameAntiderivative(gold: Expression, answer: Expression, options: CompareOptions): boolean {
  const [task, result] = isAntiderivative(gold) ? [gold, answer] : [answer, gold];
  if (!isAntiderivative(task) || some(result, isAntiderivative)) return false;
  const [body, variable] = task.args;
  if (body === undefined || variable?.kind !== "symbol") return false;
  const slope = differentiate(result, variable.name);
  return slope !== null && compare(body, slope, options);
}

const isAntiderivative = (one: Expression): one is Expression & { kind: "call" } =>
  one.kind === "call" && one.name === "antiderivative";

const FORMS = new Set(["integral", "antiderivative", "limit", "sum", "prod"]);
const isForm = (one: Expression): one is Expression & { kind: "call" } => one.kind === "call" && FORMS.has(one.name);

/** With integrals, limits and sums whose parts are equal taken for the same unknown. */
function sameForms(gold: Expression, answer: Expression, options: CompareOptions): boolean {
  if (!some(gold, isForm) || !some(answer, isForm)) return false;
  const known: (Expression & { kind: "call" })[] = [];
  const nameOf = (form: Expression & { kind: "call" }): Expression => {
    const index = known.findIndex((other) => sameForm(other, form, options));
    if (index < 0) known.push(form);
    return { kind: "symbol", name: `form ${index < 0 ? known.length - 1 : index}` };
  };
  const replaced = (node: Expression): Expression | null => (isForm(node) ? nameOf(node) : null);
  return compare(mapNodes(gold, replaced), mapNodes(answer, replaced), options);
}

function sameForm(
  a: Expression & { kind: "call" },
  b: Expression & { kind: "call" },
  options: CompareOptions,
): boolean {
  if (a.name !== b.name || a.args.length !== b.args.length) return false;
  const [body, variable, ...bounds] = a.args;
  const [otherBody, otherVariable, ...otherBounds] = b.args;
  if (body === undefined || otherBody === undefined || variable === undefined || otherVariable === undefined)
    return false;
  if (!bounds.every((one, index) => sameBound(one, otherBounds[index], options))) return false;
  const [name, otherName] = [variable, otherVariable].map((one) => (one.kind === "text" ? one.text : ""));
  const renamed = mapSymbols(otherBody, (one) => ({ kind: "symbol", name: one === otherName && name ? name : one }));
  return compare(body, renamed, options) || sameForms(body, renamed, options);
}

function sameBound(a: Expression, b: Expression | undefined, options: CompareOptions): boolean {
  if (b === undefined) return false;
  const [one, other] = [JSON.stringify(a, plainBigint), JSON.stringify(b, plainBigint)];
  return one === other || compare(a, b, options);
}

const plainBigint = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);

function compare(gold: Expression, answer: Expression, options: CompareOptions): boolean {
  if (gold.kind === "text" || answer.kind === "text") {
    const [a, b] = [namedSet(gold), namedSet(answer)];
    return sameText(gold, answer) || ((a !== gold || b !== answer) && compare(a, b, options));
  }
  const equations = compareEquations(gold, answer, options);
  if (equations !== null) return equations;
  if (isRealSet(gold) || isRealSet(answer)) return compareRealSets(gold, answer, options);
  const collections = compareCollections(gold, answer, options);
  if (collections !== null) return collections;
  if (hasMatrix(gold) || hasMatrix(answer)) return compareMatrices(gold, answer, options);
  return compareMeasured(gold, answer, options);
}

// ---- equations ----

/** Null when neither is an equation. */
function compareEquations(gold: Expression, answer: Expression, options: CompareOptions): boolean | null {
  if (!isEquation(gold) && !isEquation(answer)) return null;
  if (!isEquation(answer) && isRounding(gold)) return gold.sides.some((side) => compare(side, answer, options));
  if (!isEquation(gold) && isRounding(answer)) return answer.sides.some((side) => compare(gold, side, options));
  const [goldValue, answerValue] = [assigned(gold), assigned(answer)];
  if (isEquation(gold) && isEquation(answer)) {
    if (goldValue !== null && answerValue !== null) {
      const sameName = goldValue.name === answerValue.name || goldValue.name === null || answerValue.name === null;
      if (sameName && compare(goldValue.value, answerValue.value, options)) return true;
    }
    if (sameEquation(gold, answer)) return true;
    if (answerValue !== null && solvedBy(gold, valuesOf(answerValue.value), answerValue.name)) return true;
    return goldValue !== null && solvedBy(answer, valuesOf(goldValue.value), goldValue.name);
  }
  if (isEquation(gold)) {
    if (goldValue !== null) return compare(goldValue.value, answer, options);
    const values = assignedValues(answer);
    return solvedBy(gold, values.values, values.name);
  }
  if (answerValue !== null) return compare(gold, answerValue.value, options);
  return false;
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
  if (first !== null && first !== undefined && assignments.every((one) => one !== null && one.name === first.name)) {
    return { values: assignments.flatMap((one) => (one === null ? [] : valuesOf(one.value))), name: first.name };
  }
  return { values, name: null };
}

function valuesOf(expression: Expression): readonly Expression[] {
  const spread = spreadPlusMinus(expression);
  if (spread.kind === "set") return spread.items;
  if (spread.kind === "tuple" && spread.brackets === "") return spread.items.flatMap(valuesOf);
  return [spread];
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

// ---- collections ----

/** Null when neither is a collection. */
function compareCollections(gold: Expression, answer: Expression, options: CompareOptions): boolean | null {
  const [a, b] = [spreadPlusMinus(gold), spreadPlusMinus(answer)];
  const isCollection = ({ kind }: Expression): boolean => kind === "set" || kind === "tuple";
  if (!isCollection(a) && !isCollection(b)) return null;
  const [left, right] = [items(a), items(b)];
  // A gold that orders its items asks for that order; an answer that says less than the gold's form is taken as it is.
  const ordered = a.kind === "tuple" && a.brackets !== "" && b.kind === "tuple";
  const orderedSet = a.kind === "tuple" && a.brackets !== "" && b.kind === "set";
  if (ordered || orderedSet) {
    return (
      left.length === right.length &&
      left.every((item, i) => right[i] !== undefined && compare(item, right[i], options))
    );
  }
  return sameMembers(left, right, options);
}

function items(expression: Expression): readonly Expression[] {
  if (expression.kind === "set" || expression.kind === "tuple") {
    return expression.items.flatMap((item) => (item.kind === "plusMinus" ? items(spreadPlusMinus(item)) : [item]));
  }
  return [expression];
}

function sameMembers(a: readonly Expression[], b: readonly Expression[], options: CompareOptions): boolean {
  const [left, right] = [distinct(a, options), distinct(b, options)];
  if (left.length !== right.length) return false;
  const open = [...right];
  return left.every((item) => {
    const index = open.findIndex((other) => compare(item, other, options));
    if (index >= 0) open.splice(index, 1);
    return index >= 0;
  });
}

function distinct(members: readonly Expression[], options: CompareOptions): Expression[] {
  if (members.length > 200) return [...members];
  return members.filter((one, index) => !members.slice(0, index).some((other) => compare(other, one, options)));
}

/** a ± b anywhere becomes the set of both values; several ± move together. */
function spreadPlusMinus(expression: Expression): Expression {
  if (expression.kind === "tuple" || expression.kind === "set") return expression;
  if (!some(expression, ({ kind }) => kind === "plusMinus")) return expression;
  return { kind: "set", items: [withSign(expression, 1), withSign(expression, -1)] };
}

function withSign(expression: Expression, sign: 1 | -1): Expression {
  switch (expression.kind) {
    case "plusMinus": {
      const offset = withSign(expression.offset, sign);
      return sum([withSign(expression.base, sign), sign === 1 ? offset : negative(offset)]);
    }
    case "sum":
      return { ...expression, terms: expression.terms.map((term) => withSign(term, sign)) };
    case "product":
      return { ...expression, factors: expression.factors.map((factor) => withSign(factor, sign)) };
    case "power":
      return { ...expression, base: withSign(expression.base, sign), exponent: withSign(expression.exponent, sign) };
    case "call":
      return { ...expression, args: expression.args.map((argument) => withSign(argument, sign)) };
    case "relation":
      return { ...expression, sides: expression.sides.map((side) => withSign(side, sign)) };
    default:
      return expression;
  }
}

// ---- matrices, measured values ----

function compareMatrices(gold: Expression, answer: Expression, options: CompareOptions): boolean {
  const [a, b] = [matrixOf(gold), matrixOf(answer)];
  if (a === null || b === null || a.length !== b.length) return false;
  return a.every((row, i) => {
    const other = b[i] ?? [];
    return (
      row.length === other.length && row.every((cell, j) => other[j] !== undefined && compare(cell, other[j], options))
    );
  });
}

/** Values with percent signs, units, degrees or bases, then plain ones. */
function compareMeasured(left: Expression, right: Expression, options: CompareOptions): boolean {
  const { precision } = options;
  const [gold, answer] = [percentOutside(left), percentOutside(right)];
  const ends = [gold, answer].map((one) => (isInfinite(one) ? endpoint(one) : null));
  if (ends[0] !== null || ends[1] !== null) return ends[0] === ends[1];
  if (gold.kind === "based" || answer.kind === "based") return compareBased(gold, answer);
  if (gold.kind === "percent" && answer.kind !== "percent") {
    return sameValue(gold, answer, precision) || sameValue(gold.value, bare(answer), precision);
  }
  if (answer.kind === "percent" && gold.kind !== "percent") {
    return (
      sameValue(gold, answer, precision) ||
      (gold.kind === "number" && !gold.decimal && sameValue(gold, answer.value, precision))
    );
  }
  if (gold.kind === "quantity" || answer.kind === "quantity") return compareQuantities(gold, answer, options);
  if (gold.kind === "degrees" && answer.kind === "degrees") return sameValue(gold.value, answer.value, precision);
  if (gold.kind === "degrees") return sameValue(gold.value, answer, precision) || sameValue(gold, answer, precision);
  if (answer.kind === "degrees") return sameValue(gold, answer.value, precision) || sameValue(gold, answer, precision);
  if (gold.kind === "ratio" && answer.kind === "ratio") return sameRatio(gold.parts, answer.parts, precision);
  const residues = sameResidue(gold, answer, precision);
  return residues ?? sameValue(gold, answer, precision);
}

/** What has infinity among its parts, and not only as the bound of an integral, a limit or a sum. */
function isInfinite(expression: Expression): boolean {
  return some(
    mapNodes(expression, (node) => (isForm(node) ? number(0) : null)),
    isInfinity,
  );
}

/** -5% as a percentage of -5. */
function percentOutside(expression: Expression): Expression {
  if (expression.kind !== "product") return expression;
  const [percent, ...more] = expression.factors.filter(({ kind }) => kind === "percent");
  if (percent?.kind !== "percent" || more.length > 0) return expression;
  const factors = expression.factors.map((factor) => (factor === percent ? percent.value : factor));
  return factors.every(({ kind }) => kind === "number") ? { kind: "percent", value: product(factors) } : expression;
}

function isInfinity(node: Expression): boolean {
  return node.kind === "constant" && node.name === "infinity";
}

/** "1 m" was read as a product; beside a value with a unit the letter is one too. */
function letterAsUnit(expression: Expression): Expression {
  if (expression.kind !== "product") return expression;
  const last = expression.factors.at(-1);
  const value = product(expression.factors.slice(0, -1));
  if (last?.kind !== "symbol" || symbolsOf(value).size > 0 || parseUnit(last.name) === null) return expression;
  return { kind: "quantity", value, unit: last.name };
}

function bare(expression: Expression): Expression {
  return expression.kind === "quantity" || expression.kind === "degrees" ? expression.value : expression;
}

/** Digits of one base are compared as digits, so an answer may leave the base out; numbers of two bases by their values. */
function compareBased(gold: Expression, answer: Expression): boolean {
  if (gold.kind === "based" && answer.kind === "based") return q.equal(gold.value, answer.value);
  const [based, other] = gold.kind === "based" ? [gold, answer] : [answer, gold];
  if (based.kind !== "based" || other.kind !== "number" || other.decimal) return false;
  if (based.base === 10) return q.equal(based.value, other.value);
  return gold.kind === "based" && other.value.denominator === 1n && other.value.numerator === BigInt(based.digits);
}

/** A unit that only one of them states is taken as understood; two have to measure the same. */
function compareQuantities(left: Expression, right: Expression, options: CompareOptions): boolean {
  const [gold, answer] = [letterAsUnit(left), letterAsUnit(right)];
  if (gold.kind !== "quantity" || answer.kind !== "quantity") return compare(bare(gold), bare(answer), options);
  const [a, b] = [parseUnit(gold.unit), parseUnit(answer.unit)];
  if (a === null || b === null) {
    const plain = (unit: string): string =>
      unit
        .replace(/s\b/gu, "")
        .replace(/[\s.]+/gu, " ")
        .trim();
    const known = a !== null || b !== null;
    return !(known && plain(gold.unit) !== plain(answer.unit)) && compare(gold.value, answer.value, options);
  }
  if (a.dimension !== b.dimension) return false;
  if (q.equal(a.factor, b.factor)) return compare(gold.value, answer.value, options);
  const scale = (value: Expression, factor: q.Rational): Expression => product([value, number(factor)]);
  return sameValue(scale(gold.value, a.factor), scale(answer.value, b.factor), options.precision);
}

function sameRatio(a: readonly Expression[], b: readonly Expression[], precision: number): boolean {
  const [first, other] = [a[0], b[0]];
  if (a.length !== b.length || first === undefined || other === undefined) return false;
  return a.every(
    (part, i) => b[i] !== undefined && sameValue(product([part, other]), product([b[i], first]), precision),
  );
}

/** a mod n as an answer: equal when the moduli are and the difference is a multiple. */
function sameResidue(gold: Expression, answer: Expression, precision: number): boolean | null {
  const read = (one: Expression) => (one.kind === "call" && one.name === "residue" ? one.args : null);
  const [a, b] = [read(gold), read(answer)];
  if (a === null && b === null) return null;
  const [value, modulus] = a ?? [gold, undefined];
  const [otherValue, otherModulus] = b ?? [answer, undefined];
  if (value === undefined || otherValue === undefined) return false;
  if (modulus !== undefined && otherModulus !== undefined && !sameValue(modulus, otherModulus, precision)) return false;
  const common = modulus ?? otherModulus;
  if (common === undefined) return false;
  const reduce = (one: Expression): Expression => ({ kind: "call", name: "mod", args: [one, common] });
  return sameValue(reduce(value), reduce(otherValue), precision);
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
    mapSymbols(one, (name) => ({ kind: "symbol", name: /^[A-Z]$/u.test(name) ? name.toLowerCase() : name }));
  return [lower(gold), lower(answer)];
}

/** The answer with its symbols named as the gold's, in the order of their first appearance; null when they do not pair up. */
function renameByPosition(gold: Expression, answer: Expression): Expression | null {
  const [to, from] = [[...symbolsOf(gold)], [...symbolsOf(answer)]];
  if (to.length !== from.length || to.length === 0) return null;
  const names = new Map(from.map((name, index) => [name, to[index] ?? name] as const));
  return mapSymbols(answer, (name) => ({ kind: "symbol", name: names.get(name) ?? name }));
}
