/** Whole-number matrices as lists of rows: drawing, products, determinants and texts. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";

export type Matrix = number[][];

export function drawMatrix(rng: Rng, rows: number, columns: number, most: number): Matrix {
  return range(rows).map(() => range(columns).map(() => between(rng, -most, most)));
}

/** A product of row operations, so that its determinant is 1. */
export function drawUnimodular(rng: Rng, size: number, steps: number): Matrix {
  const matrix = identity(size);
  for (let step = 0; step < steps; step++) {
    const target = rng.integer(size);
    const source = (target + 1 + rng.integer(size - 1)) % size;
    const sign = rng.pick([1, -1]);
    matrix[target] = at(matrix, target).map((entry, column) => entry + sign * at(at(matrix, source), column));
  }
  return matrix;
}

export function product(a: Matrix, b: Matrix): Matrix {
  return a.map((row) =>
    range(at(b, 0).length).map((column) =>
      row.reduce((sum, entry, index) => sum + entry * at(at(b, index), column), 0),
    ),
  );
}

/** By Bareiss: all divisions are exact. */
export function determinant(matrix: Matrix): bigint {
  const rows = matrix.map((row) => row.map(BigInt));
  let [sign, last] = [1n, 1n];
  for (let step = 0; step < rows.length - 1; step++) {
    const found = rows.findIndex((row, index) => index >= step && at(row, step) !== 0n);
    if (found < 0) return 0n;
    if (found > step) {
      [rows[step], rows[found]] = [at(rows, found), at(rows, step)];
      sign = -sign;
    }
    const top = at(rows, step);
    const pivot = at(top, step);
    for (let index = step + 1; index < rows.length; index++) {
      const row = at(rows, index);
      const factor = at(row, step);
      rows[index] = row.map((entry, column) => (pivot * entry - factor * at(top, column)) / last);
    }
    last = pivot;
  }
  return sign * (rows.at(-1)?.at(-1) ?? 1n);
}

/** One line for each row. */
export function matrixText(matrix: Matrix): string {
  return matrix.map((row) => `[${row.join(", ")}]`).join("\n");
}

/** A product of row operations, and its inverse. */
export function drawUnimodularPair(rng: Rng, size: number, steps: number): { matrix: Matrix; inverse: Matrix } {
  const matrix = identity(size);
  const inverse = identity(size);
  for (let step = 0; step < steps; step++) {
    const target = rng.integer(size);
    const source = (target + 1 + rng.integer(size - 1)) % size;
    const sign = rng.pick([1, -1]);
    matrix[target] = at(matrix, target).map((entry, column) => entry + sign * at(at(matrix, source), column));
    for (const row of inverse) row[source] = at(row, source) - sign * at(row, target);
  }
  return { matrix, inverse };
}

export function identity(size: number): Matrix {
  return range(size).map((row) => range(size).map((column) => Number(row === column)));
}

/** For certificates, whose numbers are large. */
export function bigProduct(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): bigint[][] {
  return a.map((row) =>
    range(at(b, 0).length).map((column) =>
      row.reduce((sum, entry, index) => sum + BigInt(entry) * BigInt(at(at(b, index), column)), 0n),
    ),
  );
}
