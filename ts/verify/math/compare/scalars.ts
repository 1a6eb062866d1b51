/**
 * Whether two expressions have the same value: exactly as fractions where both are, else numerically, for all values of their
 * symbols as far as samples can tell.
 *
 * A comparison never rests on digits that rounding may have made: beyond its error bound a difference is a difference.
 */
import * as c from "../values/complex.ts";
import type { Complex } from "../values/complex.ts";
import { approximate, exact } from "../values/evaluate.ts";
import { type Expression, some, symbolsOf } from "../values/expression.ts";
import * as q from "../values/rational.ts";
import type { Rational } from "../values/rational.ts";
import { countsWith, SAMPLES, samplesFor } from "./samples.ts";

/** Agreement asked of values that are computed with rounding and mean the same number. */
const NUMERIC_AGREEMENT = 1e-11;
const LEAST_SAMPLES = 3;

/** `precision`: decimal digits that a rounded number has to agree in. */
export function sameValue(gold: Expression, answer: Expression, precision: number): boolean {
  const symbols = [...new Set([...symbolsOf(gold), ...symbolsOf(answer)])].sort();
  const rounded = isRounded(gold) || isRounded(answer);
  if (symbols.length === 0) {
    return (
      sameNumber(values(gold, new Map(), new Map()), values(answer, new Map(), new Map()), rounded, precision) === true
    );
  }
  // A binomial is 0 where factorials have no value.
  const limited = isLimited(gold) || isLimited(answer) || countsWith(gold, answer);
  const onReals = isLogarithmic(gold) && isLogarithmic(answer);
  let agreeing = 0;
  const at = samplesFor(gold, answer, symbols);
  for (let sample = 0; sample < SAMPLES; sample++) {
    const { exactly, roughly } = at(sample);
    const [a, b] = [values(gold, exactly, roughly), values(answer, exactly, roughly)];
    if (limited && (a.rough === null || b.rough === null)) continue;
    if (onReals && !(isReal(a.rough) && isReal(b.rough))) continue;
    const same = sameNumber(a, b, rounded, precision);
    if (same === false) return false;
    if (same === true) agreeing++;
  }
  return agreeing >= LEAST_SAMPLES;
}

interface Values {
  readonly exact: Rational | null;
  readonly rough: Complex | null;
}

function values(
  expression: Expression,
  exactly: ReadonlyMap<string, Rational>,
  roughly: ReadonlyMap<string, Complex>,
): Values {
  const value = exact(expression, exactly);
  return { exact: value, rough: value === null ? approximate(expression, roughly) : c.complex(q.toNumber(value)) };
}

/** Null when neither has a value there; a value on one side only is a difference. */
function sameNumber(a: Values, b: Values, rounded: boolean, precision: number): boolean | null {
  if (a.rough === null && b.rough === null && a.exact === null && b.exact === null) return null;
  if (a.exact !== null && b.exact !== null) {
    return q.equal(a.exact, b.exact) || (rounded && withinPrecision(a.exact, b.exact, precision));
  }
  if (a.rough === null || b.rough === null) return false;
  const distance = Math.hypot(a.rough.re - b.rough.re, a.rough.im - b.rough.im);
  const size = Math.max(c.modulus(a.rough), c.modulus(b.rough));
  if (rounded && distance <= tolerance(size, precision)) return true;
  const uncertain = 8 * (a.rough.error + b.rough.error);
  // A value that rounding has eaten says nothing: only what is zero for certain is equal to it.
  if (size > 0 && uncertain > size * 1e-4) return size <= uncertain ? distance <= uncertain && size < 1e-12 : false;
  return distance <= Math.max(uncertain, NUMERIC_AGREEMENT * size);
}

/** Both absolutely and relatively: 10^-precision of the larger value, and never more than 10^-precision. */
function tolerance(size: number, precision: number): number {
  return 10 ** -precision * Math.min(1, size) * (1 + 1e-9);
}

function withinPrecision(a: Rational, b: Rational, precision: number): boolean {
  const difference = q.add(a, q.negate(b));
  if (difference === null) return false;
  return (
    Math.abs(q.toNumber(difference)) <= tolerance(Math.max(Math.abs(q.toNumber(a)), Math.abs(q.toNumber(b))), precision)
  );
}

/** Functions that have values only on a part of the reals: outside nothing is compared. */
const LIMITED = new Set(["arcsin", "arccos", "arccosh", "arctanh"]);

function isLimited(expression: Expression): boolean {
  return some(expression, (node) => node.kind === "call" && LIMITED.has(node.name));
}

/** Logarithms of symbols and nothing that asks for more than the reals: compared where both have real values. */
function isLogarithmic(expression: Expression): boolean {
  const asksForMore = (node: Expression): boolean =>
    (node.kind === "constant" && node.name === "i") || (node.kind === "call" && node.name === "abs");
  return (
    some(expression, (node) => node.kind === "call" && (node.name === "ln" || node.name === "log")) &&
    !some(expression, asksForMore)
  );
}

function isReal(value: Complex | null): boolean {
  return value === null || Math.abs(value.im) <= value.error + 1e-12 * Math.abs(value.re);
}

function isRounded(expression: Expression): boolean {
  return some(expression, (node) => node.kind === "number" && node.decimal);
}
