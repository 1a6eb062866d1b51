/** Equations: which are assignments, when two say the same, when one is solved by given values. */
import { sameZeros } from "./equation-zeros.ts";
import { approximate, exact } from "../values/evaluate.ts";
import * as c from "../values/complex.ts";
import { type Expression, mapSymbols, negative, sum, symbolsOf } from "../values/expression.ts";
import * as q from "../values/rational.ts";
import { sampleOf } from "./samples.ts";
import { sameValue } from "./scalars.ts";

export type Relation = Expression & { kind: "relation" };

/** Only "=" and "≈" between its sides. */
export function isEquation(expression: Expression): expression is Relation {
  return (
    expression.kind === "relation" && expression.operators.every((operator) => operator === "=" || operator === "~")
  );
}

/**
 * Returns the value that an equation gives a name: `x = 5`, `f(x) = 2x`, `x = 5 + 6 = 11` (the last side), and chains without any symbol, whose last side
 * counts. `x = 1/3 ≈ 0.33` keeps the exact side. Null for other equations.
 */
export function assigned(expression: Expression): { name: string | null; value: Expression } | null {
  if (!isEquation(expression)) return null;
  const [first] = expression.sides;
  if (first === undefined) return null;
  const approximateAt = expression.operators.indexOf("~");
  const value = expression.sides[approximateAt > 0 ? approximateAt : expression.sides.length - 1];
  if (value === undefined) return null;
  if (first.kind === "symbol" && !symbolsOf(value).has(first.name)) return definition(first.name, value);
  // (x, y) = (3, 4) says what both are.
  const isPair = first.kind === "tuple" && value.kind === "tuple" && first.items.length === value.items.length;
  if (isPair && first.items.every(({ kind }) => kind === "symbol")) return { name: null, value };
  const numeric = expression.sides.every((side) => symbolsOf(side).size === 0);
  if (numeric && expression.sides.every((side) => sameValue(side, value, 6))) return { name: null, value };
  return null;
}

/** f(t) = t^2 says the same as f(x) = x^2. */
function definition(name: string, value: Expression): { name: string; value: Expression } {
  const [, letter, argument] = /^([fgh])\((\p{L})\)$/u.exec(name) ?? [];
  if (letter === undefined || argument === undefined || symbolsOf(value).has("x")) return { name, value };
  const rename = (symbol: string): Expression => ({ kind: "symbol", name: symbol === argument ? "x" : symbol });
  return { name: `${letter}(x)`, value: mapSymbols(value, rename) };
}

/** Whether both hold for the same values: one difference of sides is a constant multiple of the other, or they vanish together. */
export function sameEquation(a: Relation, b: Relation): boolean {
  const [f, g] = [difference(a), difference(b)];
  if (f === null || g === null) return false;
  const symbols = [...new Set([...symbolsOf(f), ...symbolsOf(g)])].sort();
  let ratio: number | null = null;
  let agreeing = 0;
  for (let sample = 0; sample < 10; sample++) {
    const bindings = new Map(
      symbols.map((name, index) => [name, c.complex(q.toNumber(sampleOf(sample, index)))] as const),
    );
    const [x, y] = [approximate(f, bindings), approximate(g, bindings)];
    if (x === null || y === null) continue;
    const [p, r] = [x.re, y.re];
    if (Math.abs(p) < 1e-9 || Math.abs(r) < 1e-9) {
      if (Math.abs(p) > 1e-9 || Math.abs(r) > 1e-9) return false;
      continue;
    }
    ratio ??= p / r;
    if (Math.abs(p / r - ratio) > 1e-9 * Math.abs(ratio)) return sameZeros(f, g, symbols);
    agreeing++;
  }
  return agreeing >= 3;
}

/** Whether an equation in one symbol is a polynomial whose roots are exactly these values. */
export function solvedBy(equation: Relation, values: readonly Expression[], name: string | null): boolean {
  const f = difference(equation);
  const symbols = f === null ? [] : [...symbolsOf(f)];
  const [symbol] = symbols;
  if (f === null || symbol === undefined || symbols.length !== 1 || (name !== null && name !== symbol)) return false;
  const at = (x: q.Rational): q.Rational | null => exact(f, new Map([[symbol, x]]));
  const degree = degreeOf(at);
  const distinct = values.filter(
    (value, index) => !values.slice(0, index).some((other) => sameValue(other, value, 12)),
  );
  if (degree === null || distinct.length !== degree) return false;
  return distinct.every((value) => {
    const x = exact(value, new Map());
    if (x !== null) return at(x)?.numerator === 0n;
    const rough = approximate(value, new Map());
    const y = rough === null ? null : approximate(f, new Map([[symbol, rough]]));
    return y !== null && c.modulus(y) <= 1e-9 + 16 * y.error;
  });
}

/** The degree up to 6 by finite differences that vanish; null when it is no such polynomial. */
function degreeOf(at: (x: q.Rational) => q.Rational | null): number | null {
  let row: q.Rational[] = [];
  // On both sides of 0, where |x| turns.
  for (let x = -4; x <= 4; x++) {
    const value = at(q.integer(x));
    if (value === null) return null;
    row.push(value);
  }
  for (let degree = 0; degree < 7; degree++) {
    const next: q.Rational[] = [];
    for (let i = 1; i < row.length; i++) {
      const [a, b] = [row[i], row[i - 1]];
      const step = a === undefined || b === undefined ? null : q.add(a, q.negate(b));
      if (step === null) return null;
      next.push(step);
    }
    if (next.every(({ numerator }) => numerator === 0n)) return degree;
    row = next;
  }
  return null;
}

function difference({ sides, operators }: Relation): Expression | null {
  const [left, right] = sides;
  return operators.length === 1 && left !== undefined && right !== undefined ? sum([left, negative(right)]) : null;
}
