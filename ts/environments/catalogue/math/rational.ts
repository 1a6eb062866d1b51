/** Exact fractions for solvers, and linear systems over them. */
import { at, range } from "../lists.ts";
import { fractionText } from "./exact-answer.ts";

/** The denominator is positive; not always in lowest terms before `textOf`. */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

export const ZERO: Rational = { n: 0n, d: 1n };
export const ONE: Rational = { n: 1n, d: 1n };

export function ratio(n: number | bigint, d: number | bigint = 1): Rational {
  return lowest(BigInt(n), BigInt(d));
}

export function plus(a: Rational, b: Rational): Rational {
  return lowest(a.n * b.d + b.n * a.d, a.d * b.d);
}

export function minus(a: Rational, b: Rational): Rational {
  return lowest(a.n * b.d - b.n * a.d, a.d * b.d);
}

export function times(a: Rational, b: Rational): Rational {
  return lowest(a.n * b.n, a.d * b.d);
}

/** Throws RangeError for a division by 0. */
export function over(a: Rational, b: Rational): Rational {
  return lowest(a.n * b.d, a.d * b.n);
}

/** Negative, 0 or positive, as a is below, equal to or above b. */
export function compare(a: Rational, b: Rational): number {
  const difference = a.n * b.d - b.n * a.d;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

export function total(values: Iterable<Rational>): Rational {
  let sum = ZERO;
  for (const value of values) sum = plus(sum, value);
  return sum;
}

/** The canonical answer. */
export function textOf({ n, d }: Rational): string {
  return fractionText(n, d) ?? "";
}

/** The solution of a square system by Gaussian elimination; null when it has none or many. */
export function solveLinear(matrix: readonly (readonly Rational[])[], right: readonly Rational[]): Rational[] | null {
  const size = matrix.length;
  const { rows, pivots } = reduced(
    matrix.map((row, index) => [...row, at(right, index)]),
    size,
  );
  return pivots.length < size ? null : rows.map((row) => at(row, size));
}

/** The reduced row echelon form over the first `columns` columns, and the column of each leading 1; rows of zeros come last. */
export function reduced(
  matrix: readonly (readonly Rational[])[],
  columns: number,
): { rows: Rational[][]; pivots: number[] } {
  const rows = matrix.map((row) => [...row]);
  const pivots: number[] = [];
  for (const column of range(columns)) {
    const place = pivots.length;
    const found = rows.findIndex((row, index) => index >= place && at(row, column).n !== 0n);
    if (found < 0) continue;
    const [top, other] = [at(rows, found), at(rows, place)];
    rows[found] = other;
    const scaled = top.map((value) => over(value, at(top, column)));
    rows[place] = scaled;
    for (const [index, row] of rows.entries()) {
      const factor = at(row, column);
      if (index === place || factor.n === 0n) continue;
      rows[index] = row.map((value, cell) => minus(value, times(factor, at(scaled, cell))));
    }
    pivots.push(column);
  }
  return { rows, pivots };
}

function lowest(n: bigint, d: bigint): Rational {
  if (d === 0n) throw new RangeError("division by 0");
  let [a, b] = [n < 0n ? -n : n, d < 0n ? -d : d];
  while (b !== 0n) [a, b] = [b, a % b];
  const divisor = d < 0n ? -(a === 0n ? 1n : a) : a === 0n ? 1n : a;
  return { n: n / divisor, d: d / divisor };
}
