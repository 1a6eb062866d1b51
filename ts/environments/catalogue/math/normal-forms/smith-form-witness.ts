/** smith-form-witness: unimodular matrices that bring a matrix to Smith normal form; the product is computed. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { tableIn } from "../certificate-text.ts";
import {
  bigProduct,
  determinant,
  drawUnimodularPair,
  identity,
  type Matrix,
  matrixText,
  product,
} from "../linear-algebra/matrices.ts";

interface Problem {
  matrix: Matrix;
}

/** By level: size, largest factor between neighbours, row operations on each side. */
const SIZES = [
  [2, 5, 1],
  [2, 9, 3],
  [3, 4, 4],
  [3, 6, 7],
  [4, 4, 9],
] as const;
/** Larger entries are refused. */
const MOST_ENTRY = 1e9;

export const smithFormWitness = certificateRow<Problem>({
  id: "smith-form-witness",
  asks: "unimodular matrices that bring a matrix of whole numbers to Smith normal form",
  draw(rng, level) {
    const [size, most, steps] = at(SIZES, level - 1);
    let factor = 1;
    const diagonal = range(size).map((index) => {
      factor *= between(rng, index === 0 ? 1 : 2, index === 0 ? 3 : most);
      return range(size).map((column) => (column === index ? factor : 0));
    });
    const [left, right] = [drawUnimodularPair(rng, size, steps), drawUnimodularPair(rng, size, steps)];
    const problem = { matrix: product(product(left.matrix, diagonal), right.matrix) };
    if (isDiagonalised(problem, identity(size), identity(size))) return null;
    const certificate = [...left.inverse, ...right.inverse].map((row) => row.join(", ")).join("\n");
    return { problem, certificate, steps: size ** 3 * (steps + 1) };
  },
  proves(problem, answer) {
    const size = problem.matrix.length;
    const table = tableIn(answer);
    if (table?.length !== 2 * size) return false;
    if (!table.every((row) => row.length === size && row.every((entry) => Math.abs(entry) <= MOST_ENTRY))) return false;
    return isDiagonalised(problem, table.slice(0, size), table.slice(size));
  },
  prompts: [
    (one) =>
      `Let A be the matrix\n${matrixText(one.matrix)}\nFind integer matrices U and V of determinant 1 or -1 such that U·A·V is diagonal with positive entries d_1, d_2, ..., each of which divides the next one. ${FORMAT}`,
    (one) =>
      `Record the row operations (as U) and column operations (as V) of an integer elimination that turns\n${matrixText(one.matrix)}\ninto its Smith form UAV: diagonal, positive, every diagonal entry a divisor of its successor. ${FORMAT}`,
    (one) =>
      `${FORMAT} U and V shall be unimodular, and UAV shall be the Smith normal form (positive diagonal, successive divisibility, zeros elsewhere) of A:\n${matrixText(one.matrix)}`,
    (one) =>
      `A homomorphism of free abelian groups has the matrix\n${matrixText(one.matrix)}\nChange the bases on both sides over the integers so that it becomes diagonal with positive invariant factors that divide one another in order. Which transformation matrices U (from the left) and V (from the right) do this? ${FORMAT}`,
  ],
  slips({ matrix }, certificate) {
    const rows = certificate.split("\n");
    const size = matrix.length;
    const unit = identity(size).map((row) => row.join(", "));
    return [
      [...unit, ...unit].join("\n"),
      [...rows.slice(size), ...rows.slice(0, size)].join("\n"),
      [...rows.slice(0, size), ...unit].join("\n"),
      [...unit.map(() => unit[0]), ...rows.slice(size)].join("\n"),
    ];
  },
  variants: (_, certificate) => [certificate.replaceAll(", ", " ")],
});

const FORMAT = "Write the rows of U, one on each line with commas, and below them the rows of V in the same way.";

function isDiagonalised({ matrix }: Problem, left: Matrix, right: Matrix): boolean {
  if ([left, right].some((one) => ![1n, -1n].includes(determinant(one)))) return false;
  const inner = bigProduct(left, matrix);
  const entries = inner.map((row) =>
    range(matrix.length).map((column) =>
      row.reduce((sum, entry, index) => sum + entry * BigInt(at(at(right, index), column)), 0n),
    ),
  );
  const diagonal = entries.map((row, index) => at(row, index));
  const isClear = entries.every((row, r) => row.every((entry, c) => r === c || entry === 0n));
  return (
    isClear && diagonal.every((entry, index) => entry > 0n && (index === 0 || entry % at(diagonal, index - 1) === 0n))
  );
}
