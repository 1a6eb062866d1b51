/** Power series with rational coefficients, the constant first, cut after a given order. */
import { at, range } from "../../lists.ts";
import { minus, ONE, over, plus, type Rational, ratio, times, total, ZERO } from "../rational.ts";

export type Series = readonly Rational[];

/** Of whole coefficients, filled up with zeros to `order`. */
export function seriesOf(coefficients: readonly number[], order: number): Rational[] {
  return range(order + 1).map((index) => ratio(coefficients[index] ?? 0));
}

export function productOf(a: Series, b: Series): Rational[] {
  return a.map((_, index) => total(range(index + 1).map((place) => times(at(a, place), at(b, index - place)))));
}

export function sumOf(a: Series, b: Series): Rational[] {
  return a.map((value, index) => plus(value, at(b, index)));
}

/** Throws RangeError where `b` has no constant. */
export function quotientOf(a: Series, b: Series): Rational[] {
  const found: Rational[] = [];
  for (const [index, value] of a.entries()) {
    const known = total(range(index).map((place) => times(at(found, place), at(b, index - place))));
    found.push(over(minus(value, known), at(b, 0)));
  }
  return found;
}

/** f(g) for a `g` without a constant. */
export function composed(f: Series, g: Series): Rational[] {
  return f.reduceRight<Rational[]>(
    (sum, value) => {
      const next = productOf(sum, g);
      next[0] = plus(at(next, 0), value);
      return next;
    },
    f.map(() => ZERO),
  );
}

/** Series of functions at 0, by name. */
export const ELEMENTARY: Readonly<Record<string, (order: number) => Rational[]>> = {
  exp: (order) => byTerms(order, (n) => [1n, factorialOf(n)]),
  sin: (order) => byTerms(order, (n) => [n % 2 === 0 ? 0n : n % 4 === 1 ? 1n : -1n, factorialOf(n)]),
  cos: (order) => byTerms(order, (n) => [n % 2 === 1 ? 0n : n % 4 === 0 ? 1n : -1n, factorialOf(n)]),
  log1p: (order) => byTerms(order, (n) => (n === 0 ? [0n, 1n] : [n % 2 === 1 ? 1n : -1n, BigInt(n)])),
  atan: (order) => byTerms(order, (n) => (n % 2 === 0 ? [0n, 1n] : [n % 4 === 1 ? 1n : -1n, BigInt(n)])),
  sqrt1p: (order) => binomialSeries(ratio(1, 2), order),
};

/** (1 + x)^power. */
export function binomialSeries(power: Rational, order: number): Rational[] {
  const found = [ONE];
  for (const n of range(order)) found.push(times(at(found, n), over(minus(power, ratio(n)), ratio(n + 1))));
  return found;
}

function byTerms(order: number, term: (n: number) => readonly [bigint, bigint]): Rational[] {
  return range(order + 1).map((n) => ratio(...term(n)));
}

function factorialOf(n: number): bigint {
  return range(n).reduce((product, index) => product * BigInt(index + 1), 1n);
}
