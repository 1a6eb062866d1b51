/** hermite-normal-form: the triangular basis of the lattice that the rows of a matrix generate. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { determinant, drawUnimodular, type Matrix, matrixText, product } from "../linear-algebra/matrices.ts";

interface Problem {
  matrix: Matrix;
}

/** By level: size, largest diagonal entry, row operations. */
const SIZES = [
  [2, 7, 4],
  [2, 20, 9],
  [3, 9, 10],
  [4, 7, 14],
  [5, 6, 20],
] as const;

export const hermiteNormalForm = exactRow<Problem>({
  id: "hermite-normal-form",
  asks: "the Hermite normal form of a matrix of whole numbers",
  kind: "tuple",
  draw(rng, level) {
    const [size, most, operations] = at(SIZES, level - 1);
    const form = range(size).map((row) =>
      range(size).map((column) => (column < row ? 0 : column === row ? between(rng, 1, most) : between(rng, 0, most))),
    );
    return { matrix: product(drawUnimodular(rng, size, operations), form) };
  },
  solve({ matrix }) {
    const form = formOf(matrix);
    if (form.some((row) => matrix.some((other) => other.join() === row.join() && row.filter(Boolean).length > 1)))
      return null;
    const bits = matrix.flat().reduce((sum, entry) => sum + String(Math.abs(entry)).length, 0);
    return { value: upper(form).join(", "), steps: matrix.length ** 2 * bits };
  },
  prompts: [
    (one) =>
      `Compute the Hermite normal form H of\n${matrixText(one.matrix)}\nby integer row operations: H is upper triangular, its diagonal is positive, and every entry above a diagonal entry is at least 0 and smaller than that diagonal entry. ${FORMAT}`,
    (one) =>
      `The rows below generate a lattice.\n${matrixText(one.matrix)}\nIt has exactly one basis whose matrix is upper triangular with positive diagonal and with entries above each diagonal entry p in the range 0 to p - 1. ${FORMAT}`,
    (one) =>
      `Add multiples of rows to other rows, swap rows, change their signs (whole numbers only) until this matrix is in row-style Hermite form, that is, zeros below the diagonal, pivots > 0, and above each pivot remainders modulo the pivot:\n${matrixText(one.matrix)}\n${FORMAT}`,
    (one) =>
      `A system of integer relations with the coefficient rows\n${matrixText(one.matrix)}\nshall be replaced by the equivalent triangular system: first row may use all columns, second row all but the first, and so on; leading coefficients positive, the coefficients above a leading one reduced to 0, ..., leading one minus 1. ${FORMAT}`,
  ],
  slips({ matrix }) {
    const form = formOf(matrix);
    const diagonal = form.map((row, r) => row.map((entry, c) => (r === c ? entry : 0)));
    const loose = form.map((row, r) => row.map((entry, c) => (r === c - 1 ? entry - at(at(form, c), c) : entry)));
    const whole = matrix.map((_, r) =>
      matrix.map((__, c) => (r === c ? (r === 0 ? Number(determinant(matrix)) : 1) : 0)),
    );
    return [diagonal, loose, whole].map((one) => upper(one).join(", "));
  },
});

const FORMAT =
  "List its entries on and above the diagonal, row after row, with commas (for 2 rows: three numbers, for 3 rows: six).";

function upper(form: Matrix): number[] {
  return form.flatMap((row, index) => row.slice(index));
}

/** Euclid's algorithm in each column, then reduction above the pivots. */
function formOf(matrix: Matrix): Matrix {
  const rows = matrix.map((row) => row.map(BigInt));
  const subtract = (target: number, source: number, factor: bigint): void => {
    rows[target] = at(rows, target).map((entry, column) => entry - factor * at(at(rows, source), column));
  };
  for (const column of range(rows.length)) {
    for (const row of range(rows.length).slice(column + 1)) {
      while (at(at(rows, row), column) !== 0n) {
        subtract(column, row, at(at(rows, column), column) / at(at(rows, row), column));
        [rows[column], rows[row]] = [at(rows, row), at(rows, column)];
      }
    }
    if (at(at(rows, column), column) < 0n) rows[column] = at(rows, column).map((entry) => -entry);
    const pivot = at(at(rows, column), column);
    for (const row of range(column)) {
      const entry = at(at(rows, row), column);
      subtract(row, column, (entry - (((entry % pivot) + pivot) % pivot)) / pivot);
    }
  }
  return rows.map((row) => row.map(Number));
}
