/** matrix-power-entry: an entry of a high power of a matrix, modulo a prime. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { powerMod, primesTo } from "../number-theory.ts";
import { drawMatrix, type Matrix, matrixText } from "./matrices.ts";

interface Problem {
  matrix: Matrix;
  power: number;
  modulus: number;
  row: number;
  column: number;
}

/** By level: size, least and most power, largest entry, least and largest modulus. */
const SIZES = [
  [2, 5, 9, 3, 50, 200],
  [2, 20, 60, 6, 200, 900],
  [3, 100, 999, 6, 200, 2_000],
  [3, 10_000, 999_999, 9, 1_000, 9_000],
  [4, 1_000_000_000, 2_000_000_000, 9, 1_000, 9_000],
] as const;

export const matrixPowerEntry = exactRow<Problem>({
  id: "matrix-power-entry",
  asks: "an entry of a high power of a matrix, modulo a prime",
  kind: "integer",
  draw(rng, level) {
    const [size, least, most, entry, low, high] = at(SIZES, level - 1);
    return {
      matrix: drawMatrix(rng, size, size, entry),
      power: between(rng, least, most),
      modulus: rng.pick(primesTo(high).filter((prime) => prime > low)),
      row: rng.integer(size),
      column: rng.integer(size),
    };
  },
  solve(problem) {
    const value = entryOf(problem);
    // Powers of single entries are what a naive reading computes.
    if (value === entrywise(problem) || value < 2n) return null;
    return { value: String(value), steps: Math.ceil(Math.log2(problem.power)) * problem.matrix.length ** 3 };
  },
  prompts: [
    (one) =>
      `Let A be the matrix with the rows\n${matrixText(one.matrix)}\nFind the entry in row ${one.row + 1}, column ${one.column + 1} of A^${one.power}, reduced modulo ${one.modulus} to a number from 0 to ${one.modulus - 1}.`,
    (one) =>
      `A state vector (a column) is multiplied by\n${matrixText(one.matrix)}\nin every step, and numbers are kept modulo the prime ${one.modulus}. It starts as the ${one.column + 1}. unit vector. Which number from 0 to ${one.modulus - 1} is its component ${one.row + 1} after ${one.power} steps?`,
    (one) =>
      `Compute (M^${one.power})_{${one.row + 1},${one.column + 1}} mod ${one.modulus} for M =\n${matrixText(one.matrix)}\nThe power is that of matrix multiplication; give the least residue that is not negative.`,
    (one) =>
      `Over the field with ${one.modulus} elements the map f is given by this matrix (lines are rows):\n${matrixText(one.matrix)}\nWhich residue, between 0 and ${one.modulus - 1}, stands in line ${one.row + 1} at place ${one.column + 1} of the matrix of f applied ${one.power} times?`,
  ],
  slips(problem) {
    return [
      entrywise(problem),
      entryOf({ ...problem, row: problem.column, column: problem.row }) + 1n,
      entryOf({ ...problem, power: problem.power - 1 }),
      entryOf({ ...problem, power: problem.power + 1 }),
    ];
  },
});

function entryOf({ matrix, power, modulus, row, column }: Problem): bigint {
  const prime = BigInt(modulus);
  const size = matrix.length;
  const times = (a: readonly bigint[][], b: readonly bigint[][]): bigint[][] =>
    a.map((line) =>
      range(size).map((to) => line.reduce((sum, entry, index) => sum + entry * at(at(b, index), to), 0n) % prime),
    );
  let square = matrix.map((line) => line.map((entry) => BigInt(((entry % modulus) + modulus) % modulus)));
  let result = range(size).map((line) => range(size).map((to) => BigInt(Number(line === to))));
  for (let left = power; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = times(result, square);
    square = times(square, square);
  }
  return at(at(result, row), column);
}

function entrywise({ matrix, power, modulus, row, column }: Problem): bigint {
  return powerMod(BigInt(at(at(matrix, row), column)), BigInt(power), BigInt(modulus));
}
