/** basis-change-map: the matrix of a linear map in another basis. */
import { at } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { ratio, solveLinear, textOf } from "../rational.ts";
import { drawMatrix, drawUnimodular, type Matrix, matrixText, product } from "./matrices.ts";

interface Problem {
  /** In the standard basis. */
  map: Matrix;
  /** Columns are the vectors of the new basis. */
  basis: Matrix;
}

/** By level: size, largest entry, row operations that make the basis. */
const SIZES = [
  [2, 3, 2],
  [2, 7, 4],
  [3, 4, 5],
  [3, 8, 8],
  [4, 6, 12],
] as const;

export const basisChangeMap = exactRow<Problem>({
  id: "basis-change-map",
  asks: "the matrix of a linear map in another basis",
  kind: "tuple",
  draw(rng, level) {
    const [size, most, steps] = at(SIZES, level - 1);
    return { map: drawMatrix(rng, size, size, most), basis: drawUnimodular(rng, size, steps) };
  },
  solve(problem) {
    const { map, basis } = problem;
    const value = entriesText(columnsToRows(inBasis(map, basis)));
    const isTrap = [map, inBasis(columnsToRows(map), columnsToRows(basis)), product(map, basis)].some(
      (other) => entriesText(columnsToRows(other)) === value || entriesText(other) === value,
    );
    const size = [...basis, ...map].flat().reduce((sum, entry) => sum + Math.abs(entry), 0);
    return isTrap ? null : { value, steps: map.length ** 3 * 4 + size };
  },
  prompts: [
    (one) =>
      `A linear map f has, in the standard basis, the matrix with rows\n${matrixText(one.map)}\nThe new basis consists of ${basisText(one)}. Find the matrix of f in the new basis; write its entries row by row, separated by commas.`,
    (one) =>
      `New coordinates are introduced with the basis vectors ${basisText(one)} (in this order). In the old coordinates a transformation is x -> Ax, where A is\n${matrixText(one.map)}\nWhat is the matrix of the transformation in the new coordinates? All entries, line by line, with commas between.`,
    (one) =>
      `Let T be multiplication of columns by\n${matrixText(one.map)}\nThe j-th column of the matrix B holds the coordinates of T(b_j) with respect to b_1, b_2, ..., where the b_j are ${basisText(one)}. List the entries of B, first row first, as comma-separated integers.`,
    (one) =>
      `Compute the inverse of S times A times S, where the columns of S are ${basisText(one)} and A has these rows:\n${matrixText(one.map)}\nAnswer with the entries of the product read along its rows, with commas.`,
  ],
  slips: ({ map, basis }) =>
    [map, columnsToRows(inBasis(columnsToRows(map), basis)), product(map, basis), inBasis(map, basis)].map(entriesText),
});

/** Columns of the matrix in the basis: each solves basis · x = map · vector. */
function inBasis(map: Matrix, basis: Matrix): Matrix {
  const matrix = basis.map((row) => row.map((entry) => ratio(entry)));
  return columnsToRows(product(map, basis)).map((column) => {
    const solved = solveLinear(
      matrix,
      column.map((entry) => ratio(entry)),
    );
    if (solved === null) throw new RangeError("the vectors are no basis");
    return solved.map((entry) => Number(textOf(entry)));
  });
}

function columnsToRows(matrix: Matrix): Matrix {
  return at(matrix, 0).map((_, column) => matrix.map((row) => at(row, column)));
}

function entriesText(matrix: Matrix): string {
  return matrix.flat().join(", ");
}

function basisText({ basis }: Problem): string {
  return columnsToRows(basis)
    .map((vector) => `(${vector.join(", ")})`)
    .join(", ");
}
