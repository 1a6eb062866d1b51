/** The nullspace of a small matrix of whole numbers, exactly. */
import { gcd } from "../math/values/rational.ts";

/**
 * A basis of the vectors that every row is orthogonal to, each of whole numbers without a common divisor. Rows all have `width` entries.
 * Elimination is free of fractions: rows are kept as whole numbers and divided by what they have in common.
 */
export function integerNullspace(rows: readonly (readonly bigint[])[], width: number): bigint[][] {
  const matrix = rows.map((row) => [...row]);
  const pivots: number[] = [];
  for (let column = 0; column < width && pivots.length < matrix.length; column++) {
    const top = pivots.length;
    const found = matrix.findIndex((row, index) => index >= top && row[column] !== 0n);
    if (found < 0) continue;
    [matrix[top], matrix[found]] = [matrix[found] ?? [], matrix[top] ?? []];
    const pivot = matrix[top] ?? [];
    matrix.forEach((row, index) => {
      if (index !== top) matrix[index] = eliminate(row, pivot, column);
    });
    pivots.push(column);
  }
  const free = Array.from({ length: width }, (_, column) => column).filter((column) => !pivots.includes(column));
  return free.map((column) => {
    // pivot entry * x = -(entry in the free column); one common multiple makes all x whole.
    const entries = pivots.map((pivot, row) => [matrix[row]?.[pivot] ?? 1n, matrix[row]?.[column] ?? 0n] as const);
    const common = entries.reduce((multiple, [pivot]) => (multiple * pivot) / gcd(multiple, pivot), 1n);
    const vector = Array.from({ length: width }, () => 0n);
    vector[column] = common;
    pivots.forEach((pivot, row) => {
      const [lead, other] = entries[row] ?? [1n, 0n];
      vector[pivot] = (-other * common) / lead;
    });
    return reduced(vector);
  });
}

/** `row` without its entry in `column`, by a multiple of `pivot`. */
function eliminate(row: readonly bigint[], pivot: readonly bigint[], column: number): bigint[] {
  const [factor, lead] = [row[column] ?? 0n, pivot[column] ?? 1n];
  if (factor === 0n) return [...row];
  return reduced(row.map((value, index) => value * lead - (pivot[index] ?? 0n) * factor));
}

/** Divided by the greatest common divisor. */
export function reduced(vector: readonly bigint[]): bigint[] {
  const divisor = vector.reduce((common, value) => gcd(common, value < 0n ? -value : value), 0n);
  return divisor > 1n ? vector.map((value) => value / divisor) : [...vector];
}
