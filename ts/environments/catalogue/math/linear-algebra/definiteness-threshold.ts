/** definiteness-threshold: the least whole parameter that makes a quadratic form positive definite. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { determinant, type Matrix, matrixText } from "./matrices.ts";

interface Problem {
  /** Symmetric. */
  matrix: Matrix;
  /** Diagonal places to which the parameter is added. */
  places: number[];
}

/** By level: size, largest entry, places with the parameter. */
const SIZES = [
  [2, 5, 1],
  [2, 20, 2],
  [3, 12, 2],
  [4, 14, 3],
  [5, 16, 4],
] as const;
/** Parameters beyond it are not searched. */
const MOST = 2_000;

export const definitenessThreshold = exactRow<Problem>({
  id: "definiteness-threshold",
  asks: "the least whole parameter that makes a quadratic form positive definite",
  kind: "integer",
  draw(rng, level) {
    const [size, most, count] = at(SIZES, level - 1);
    const places = sample(range(size), count, rng).toSorted((a, b) => a - b);
    const upper = range(size).map(() => range(size).map(() => between(rng, -most, most)));
    const matrix = upper.map((row, r) =>
      row.map((entry, c) =>
        r < c ? entry : r > c ? at(at(upper, c), r) : places.includes(r) ? entry : Math.abs(entry) + 1,
      ),
    );
    return { matrix, places };
  },
  solve(problem) {
    if (!isDefinite(problem, MOST)) return null;
    let [low, high] = [-MOST, MOST];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (isDefinite(problem, middle)) high = middle;
      else low = middle;
    }
    if (high === diagonalGuess(problem) || Math.abs(high) < 2) return null;
    return { value: String(high), steps: problem.matrix.length ** 3 * problem.places.length };
  },
  prompts: [
    (one) =>
      `For which least integer t is the symmetric matrix A + tD positive definite, where A is\n${matrixText(one.matrix)}\nand D is the diagonal matrix with ${diagonalText(one)} on its diagonal?`,
    (one) =>
      `Springs of stiffness t are attached to the places ${placesText(one)} of a structure whose stiffness matrix is\n${matrixText(one.matrix)}\n(t is added to these diagonal entries). What is the smallest whole number t, which may be negative, for which all eigenvalues are positive?`,
    (one) =>
      `The quadratic form x^T A x + t·(${one.places.map((place) => `x_${place + 1}^2`).join(" + ")}) has the matrix A =\n${matrixText(one.matrix)}\nFind the smallest integer t (negative values included) for which the form is positive for every x other than 0.`,
    (one) =>
      `A function has at its critical point the second derivatives\n${matrixText(one.matrix)}\nplus an integer t on the diagonal at ${placesText(one)}. From which t on (the least integer) are all leading principal minors positive?`,
  ],
  slips: (problem, value) => [diagonalGuess(problem), Number(value) - 2, Number(value) + 2, -Number(value)],
});

/** By Sylvester: all leading principal minors are positive. */
function isDefinite({ matrix, places }: Problem, parameter: number): boolean {
  const moved = matrix.map((row, index) =>
    places.includes(index) ? row.with(index, at(row, index) + parameter) : row,
  );
  return range(matrix.length).every(
    (last) => determinant(moved.slice(0, last + 1).map((row) => row.slice(0, last + 1))) > 0n,
  );
}

/** From which parameter on the diagonal alone is positive. */
function diagonalGuess({ matrix, places }: Problem): number {
  return 1 - Math.min(...places.map((place) => at(at(matrix, place), place)));
}

function diagonalText({ matrix, places }: Problem): string {
  return matrix.map((_, index) => Number(places.includes(index))).join(", ");
}

function placesText({ places }: Problem): string {
  return places.map((place) => place + 1).join(", ");
}
