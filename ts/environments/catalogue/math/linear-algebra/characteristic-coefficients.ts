/** characteristic-coefficients: the coefficients of the characteristic polynomial (Faddeev and LeVerrier). */
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { drawMatrix, type Matrix, matrixText, product } from "./matrices.ts";

interface Problem {
  matrix: Matrix;
}

/** By level: size, largest entry. */
const SIZES = [
  [2, 9],
  [3, 4],
  [3, 9],
  [4, 7],
  [5, 8],
] as const;

export const characteristicCoefficients = exactRow<Problem>({
  id: "characteristic-coefficients",
  asks: "the coefficients of the characteristic polynomial of a matrix",
  kind: "tuple",
  draw(rng, level) {
    const [size, most] = at(SIZES, level - 1);
    return { matrix: drawMatrix(rng, size, size, most) };
  },
  solve({ matrix }) {
    const coefficients = coefficientsOf(matrix);
    if (coefficients.includes(0)) return null;
    const size = matrix.flat().reduce((sum, entry) => sum + Math.abs(entry), 0);
    return { value: coefficients.slice(1).join(", "), steps: matrix.length ** 4 + size };
  },
  prompts: [
    (one) =>
      `The characteristic polynomial det(x I - A) of\n${matrixText(one.matrix)}\nis x^${one.matrix.length} + c_1 x^${one.matrix.length - 1} + ... + c_${one.matrix.length}. Give c_1, ..., c_${one.matrix.length}, separated by commas.`,
    (one) =>
      `By Cayley and Hamilton the matrix A with rows\n${matrixText(one.matrix)}\nsatisfies det(xI - A) = 0 with x replaced by A. Write the coefficients of this monic polynomial of degree ${one.matrix.length} in falling order, without the leading 1, with commas.`,
    (one) =>
      `Expand the determinant of xI minus M, where M is\n${matrixText(one.matrix)}\nYou get a polynomial in x with leading coefficient 1. List its other ${one.matrix.length} coefficients from the highest power to the constant term (comma-separated integers).`,
    (one) =>
      `Find the monic polynomial of degree ${one.matrix.length} whose roots, with multiplicity, are the eigenvalues of\n${matrixText(one.matrix)}\nAnswer: all coefficients after the first, ordered by falling powers of x, and divided by commas.`,
  ],
  slips({ matrix }) {
    const [, ...rest] = coefficientsOf(matrix);
    return [
      rest.map((one, index) => (index % 2 === 0 ? -one : one)),
      rest.map((one) => -one),
      [...rest.slice(0, -1), -(rest.at(-1) ?? 0)],
      coefficientsOf(matrix).slice(0, -1),
    ].map((list) => list.join(", "));
  },
});

function coefficientsOf(matrix: Matrix): number[] {
  const size = matrix.length;
  const coefficients = [1];
  let auxiliary = range(size).map((row) => range(size).map((column) => Number(row === column)));
  for (let step = 1; step <= size; step++) {
    const next = product(matrix, auxiliary);
    const trace = range(size).reduce((sum, index) => sum + at(at(next, index), index), 0);
    const coefficient = -trace / step;
    coefficients.push(coefficient);
    auxiliary = next.map((row, index) => row.with(index, at(row, index) + coefficient));
  }
  return coefficients;
}
