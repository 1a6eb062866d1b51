/** invariant-factors: the diagonal of the Smith normal form of a matrix of whole numbers. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { determinant, drawUnimodular, type Matrix, matrixText, product } from "./matrices.ts";

interface Problem {
  matrix: Matrix;
}

/** By level: size, largest factor between neighbours, row operations on each side. */
const SIZES = [
  [2, 9, 2],
  [2, 12, 5],
  [3, 5, 5],
  [3, 9, 9],
  [4, 6, 10],
] as const;

export const invariantFactors = exactRow<Problem>({
  id: "invariant-factors",
  asks: "the invariant factors of a matrix of whole numbers",
  kind: "tuple",
  draw(rng, level) {
    const [size, most, steps] = at(SIZES, level - 1);
    let factor = 1;
    const diagonal = range(size).map((index) => {
      factor *= between(rng, index === 0 ? 1 : 2, index === 0 ? 3 : most);
      return range(size).map((column) => (column === index ? factor : 0));
    });
    const left = drawUnimodular(rng, size, steps);
    return { matrix: product(product(left, diagonal), drawUnimodular(rng, size, steps)) };
  },
  solve({ matrix }) {
    // Off the diagonal something must stand, or the answer can be read.
    if (matrix.every((row, index) => row.every((entry, column) => index === column || entry === 0))) return null;
    const factors = factorsOf(matrix);
    if (matrix.some((row) => row.join() === factors.join())) return null;
    const size = matrix.flat().reduce((sum, entry) => sum + Math.abs(entry), 0);
    return { value: factors.join(", "), steps: matrix.length ** 4 * 4 + Math.ceil(8 * Math.sqrt(size)) };
  },
  prompts: [
    (one) =>
      `Find the Smith normal form of the integer matrix\n${matrixText(one.matrix)}\nand give its diagonal d_1, d_2, ... (positive, each dividing the next), separated by commas.`,
    (one) =>
      `The rows of\n${matrixText(one.matrix)}\nare relations between the generators of an abelian group. Write the group as a product of cyclic groups Z/d_1, Z/d_2, ... where d_1 divides d_2 and so on, with as many d_i as there are generators (1 is allowed). List d_1, d_2, ... with commas.`,
    (one) =>
      `A lattice has as basis the rows of\n${matrixText(one.matrix)}\nin the lattice of all points with integer coordinates. Determine the invariant factors of the pair in ascending order, factors 1 included: positive integers, comma-separated, each a divisor of the one after it.`,
    (one) =>
      `Row and column operations over the integers (adding multiples, swapping, changing signs) bring\n${matrixText(one.matrix)}\nto a diagonal matrix in which every diagonal entry divides the next one and all are positive. Which diagonal is it? Answer with the numbers in order, with commas.`,
  ],
  slips({ matrix }) {
    const factors = factorsOf(matrix);
    const diagonal = matrix.map((row, index) => Math.abs(at(row, index)));
    const all = Number(determinant(matrix));
    return [
      diagonal,
      factors.toReversed(),
      factors.map((_, index) => (index === factors.length - 1 ? Math.abs(all) : 1)).with(0, at(factors, 0) + 1),
    ].map((list) => list.join(", "));
  },
});

/** By elimination: the smallest entry is made the divisor of its row, its column and all others. */
function factorsOf(matrix: Matrix): number[] {
  let rest = matrix.map((row) => row.map(BigInt));
  const factors: number[] = [];
  while (rest.length > 0) {
    const step = reduceOnce(rest);
    if (step.done === null) rest = step.rows;
    else {
      factors.push(step.done);
      rest = step.rows.slice(1).map((row) => row.slice(1));
    }
  }
  return factors;
}

/** One round of elimination with the smallest entry at the corner; `done` when that divides everything. */
function reduceOnce(matrix: readonly bigint[][]): { rows: bigint[][]; done: number | null } {
  const size = (value: bigint): bigint => (value < 0n ? -value : value);
  const cells = matrix
    .flatMap((row, r) => row.map((value, c) => ({ r, c, value })))
    .filter(({ value }) => value !== 0n);
  const best = cells.reduce((a, b) => (size(b.value) < size(a.value) ? b : a));
  const swap = <Item>(list: readonly Item[], index: number): Item[] =>
    list.with(0, at(list, index)).with(index, at(list, 0));
  let rows = swap(matrix, best.r).map((row) => swap(row, best.c));
  const head = at(rows, 0);
  const corner = at(head, 0);
  rows = rows.map((row, r) => {
    const quotient = r === 0 ? 0n : at(row, 0) / corner;
    return row.map((value, c) => value - quotient * at(head, c));
  });
  rows = rows.map((row) => {
    const first = at(row, 0);
    return row.map((value, c) => (c === 0 ? value : value - first * (at(head, c) / corner)));
  });
  const isClear =
    rows.every((row, r) => r === 0 || at(row, 0) === 0n) && at(rows, 0).every((v, c) => c === 0 || v === 0n);
  if (!isClear) return { rows, done: null };
  const odd = rows.findIndex((row, r) => r > 0 && row.some((value) => value % corner !== 0n));
  if (odd < 0) return { rows, done: Number(size(corner)) };
  return {
    rows: rows.with(
      0,
      at(rows, 0).map((value, c) => value + at(at(rows, odd), c)),
    ),
    done: null,
  };
}
