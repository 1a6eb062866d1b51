/** Values with percent signs, units, degrees, bases or moduli, ratios and times of day, then plain ones. */
import { isForm } from "./compare-calculus.ts";
import { type Expression, mapNodes, number, product, type Same, some, symbolsOf } from "../values/expression.ts";
import { endpoint } from "./real-sets.ts";
import * as q from "../values/rational.ts";
import { sameValue } from "./scalars.ts";
import { letterUnit, parseUnit, sameUnitName } from "../values/units.ts";

export function compareMeasured(left: Expression, right: Expression, precision: number, same: Same): boolean {
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
  if (isClock(gold) || isClock(answer)) return sameTime(gold, answer, precision);
  if (gold.kind === "quantity" || answer.kind === "quantity") return compareQuantities(gold, answer, precision, same);
  if (gold.kind === "degrees" && answer.kind === "degrees") return sameValue(gold.value, answer.value, precision);
  if (gold.kind === "degrees") return sameValue(gold.value, answer, precision) || sameValue(gold, answer, precision);
  if (answer.kind === "degrees") return sameValue(gold, answer.value, precision) || sameValue(gold, answer, precision);
  if (gold.kind === "ratio" && answer.kind === "ratio") return sameRatio(gold.parts, answer.parts, precision);
  const residues = sameResidue(gold, answer, precision);
  return residues ?? (sameValue(gold, answer, precision) || sameButUnit(gold, answer, precision));
}

/** Whether a value has infinity among its parts, and not only as the bound of an integral, a limit or a sum. */
function isInfinite(expression: Expression): boolean {
  return some(
    mapNodes(expression, (node) => (isForm(node) ? number(0) : null)),
    (node) => node.kind === "constant" && node.name === "infinity",
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

function bare(expression: Expression): Expression {
  return expression.kind === "quantity" || expression.kind === "degrees" ? expression.value : expression;
}

/** A numeral with a base is that numeral only in that base: 101_2 is 5_{10} and neither 101 nor 5. */
function compareBased(gold: Expression, answer: Expression): boolean {
  if (gold.kind === "based" && answer.kind === "based") return q.equal(gold.value, answer.value);
  const [based, other] = gold.kind === "based" ? [gold, answer] : [answer, gold];
  if (based.kind !== "based" || other.kind !== "number" || other.decimal) return false;
  return (based.base === 10 || based.digits.length === 1) && q.equal(based.value, other.value);
}

// ---- units ----

/** "1 m" was read as a product; beside a value with a unit the letters are one too. */
function lettersAsUnit(expression: Expression): Expression {
  if (expression.kind !== "product") return expression;
  const factors = expression.factors.flatMap((factor) => (factor.kind === "product" ? factor.factors : [factor]));
  const isUnit = (factor: Expression): boolean => symbolsOf(factor).size > 0;
  const unit = letterUnit(factors.filter(isUnit));
  const value = factors.filter((factor) => !isUnit(factor));
  return unit === null || value.length === 0 ? expression : { kind: "quantity", value: product(value), unit };
}

/** A unit that only one of them states is taken as understood; two have to measure the same. */
function compareQuantities(left: Expression, right: Expression, precision: number, same: Same): boolean {
  const [gold, answer] = [lettersAsUnit(left), lettersAsUnit(right)];
  if (gold.kind !== "quantity" || answer.kind !== "quantity") return same(bare(gold), bare(answer));
  const [a, b] = [parseUnit(gold.unit), parseUnit(answer.unit)];
  if (a === null || b === null) {
    const isKnown = a !== null || b !== null;
    return !(isKnown && !sameUnitName(gold.unit, answer.unit)) && same(gold.value, answer.value);
  }
  if (a.dimension !== b.dimension) return false;
  if (q.equal(a.factor, b.factor)) return same(gold.value, answer.value);
  const scale = (value: Expression, factor: q.Rational): Expression => product([value, number(factor)]);
  return sameValue(scale(gold.value, a.factor), scale(answer.value, b.factor), precision);
}

/** Metres, seconds and grams behind a number are a unit beside a number alone: 29 m is 29. */
function sameButUnit(gold: Expression, answer: Expression, precision: number): boolean {
  const [a, b] = [gold, answer].map((one) => (isPlain(one) ? one : lettersAsUnit(one)));
  const [measured, plain] = a?.kind === "quantity" ? [a, b] : [b, a];
  if (measured?.kind !== "quantity" || plain === undefined || !isPlain(plain)) return false;
  return /^[msg](?:\^\d)?$/u.test(measured.unit) && sameValue(measured.value, plain, precision);
}

const isPlain = (one: Expression): boolean => one.kind !== "quantity" && symbolsOf(one).size === 0;

// ---- ratios, times, residues ----

function sameRatio(a: readonly Expression[], b: readonly Expression[], precision: number): boolean {
  if (a.length !== b.length) return false;
  const same = (one: Expression | undefined, other: Expression | undefined): boolean =>
    one !== undefined && other !== undefined && sameValue(one, other, precision);
  const zeros = a.map((part) => same(part, number(0)));
  if (b.some((part, i) => same(part, number(0)) !== zeros[i])) return false;
  // Nothing is in proportion to nothing.
  if (zeros.includes(true)) return a.every((part, i) => same(part, b[i]));
  const [first, other] = [a[0], b[0]];
  if (first === undefined || other === undefined) return false;
  return a.every((part, i) => same(product([part, other]), product([b[i] ?? number(0), first])));
}

type Clock = Expression & { kind: "call" };
const isClock = (one: Expression): one is Clock => one.kind === "call" && one.name === "clock";

/** Hours and minutes are no proportion; am and pm count where both say which. */
function sameTime(gold: Expression, answer: Expression, precision: number): boolean {
  const [a, b] = [timeOf(gold), timeOf(answer)];
  if (a === null || b === null || a.parts.length !== b.parts.length) return false;
  if (a.half !== null && b.half !== null && a.half !== b.half) return false;
  return a.parts.every((part, i) => b.parts[i] !== undefined && sameValue(part, b.parts[i], precision));
}

function timeOf(expression: Expression): { parts: readonly Expression[]; half: string | null } | null {
  if (expression.kind === "ratio") return { parts: expression.parts, half: null };
  if (!isClock(expression)) return null;
  const last = expression.args.at(-1);
  return last?.kind === "text"
    ? { parts: expression.args.slice(0, -1), half: last.text }
    : { parts: expression.args, half: null };
}

/**
 * a mod n as an answer: equal when the moduli are and the difference is a multiple. A gold value without a modulus is that number: every whole number
 * is 0 mod 1.
 */
function sameResidue(gold: Expression, answer: Expression, precision: number): boolean | null {
  const read = (one: Expression) => (one.kind === "call" && one.name === "residue" ? one.args : null);
  const [a, b] = [read(gold), read(answer)];
  if (a === null && b === null) return null;
  const [otherValue, otherModulus] = b ?? [answer, undefined];
  if (otherValue === undefined) return false;
  if (a === null) return sameValue(gold, otherValue, precision);
  const [value, modulus] = a;
  if (value === undefined || modulus === undefined) return false;
  if (otherModulus !== undefined && !sameValue(modulus, otherModulus, precision)) return false;
  const reduce = (one: Expression): Expression => ({ kind: "call", name: "mod", args: [one, modulus] });
  return sameValue(reduce(value), reduce(otherValue), precision);
}
