/** jordan-blocks: the sizes of the blocks of the Jordan form, from the ranks of powers. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { ratio, reduced } from "../rational.ts";
import { determinant, drawUnimodularPair, type Matrix, matrixText, product } from "../linear-algebra/matrices.ts";

interface Problem {
  matrix: Matrix;
}

/** By level: size, row operations. */
const SIZES = [
  [2, 3],
  [3, 4],
  [4, 5],
  [5, 7],
  [6, 9],
] as const;
/** Eigenvalues lie between its negative and itself. */
const MOST = 4;

export const jordanBlocks = exactRow<Problem>({
  id: "jordan-blocks",
  asks: "the eigenvalues of a matrix with the sizes of their Jordan blocks",
  kind: "tuple",
  draw(rng, level) {
    const [size, operations] = at(SIZES, level - 1);
    const values = range(1 + rng.integer(2)).map(() => between(rng, -MOST, MOST));
    let value = at(values, 0);
    const form = range(size).map((row) => {
      const isJoined = row > 0 && rng.integer(2) === 0;
      if (!isJoined) value = rng.pick(values);
      return range(size).map((column) => (column === row ? value : isJoined && column === row - 1 ? 1 : 0));
    });
    const { matrix, inverse } = drawUnimodularPair(rng, size, operations);
    return { matrix: product(product(matrix, form), inverse) };
  },
  solve({ matrix }) {
    if (matrix.every((row, r) => row.every((entry, c) => c <= r || entry === 0))) return null;
    return { value: blocksOf(matrix).flat().join(", "), steps: matrix.length ** 4 };
  },
  prompts: [
    (one) =>
      `Find the Jordan normal form of\n${matrixText(one.matrix)}\nAll eigenvalues are integers. Write a list: the smallest eigenvalue, the sizes of its blocks from large to small, then the next eigenvalue, the sizes of its blocks, and so on.`,
    (one) =>
      `The linear map with the matrix\n${matrixText(one.matrix)}\nhas integer eigenvalues only. For each of them, in ascending order, give the eigenvalue followed by the lengths of its Jordan chains in descending order; everything in one comma-separated list.`,
    (one) =>
      `How does the matrix M decompose into Jordan blocks?\n${matrixText(one.matrix)}\nFor every eigenvalue k of M (whole numbers, ascending) state k and then its block sizes, largest first. Example of the format: 2, 2, 1, 5, 3 means blocks of sizes 2 and 1 for the eigenvalue 2, and one of size 3 for 5.`,
    (one) =>
      `Determine the similarity class over the complex numbers of\n${matrixText(one.matrix)}\nin this code: eigenvalues in growing order, behind each one its block sizes in falling order. The eigenvalues are integers; use commas only.`,
  ],
  slips({ matrix }) {
    const blocks = blocksOf(matrix);
    const merged = blocks.map(([value = 0, ...sizes]) => [value, sizes.reduce((sum, size) => sum + size, 0)]);
    const single = blocks.map(([value = 0, ...sizes]) => [
      value,
      ...range(sizes.reduce((sum, size) => sum + size, 0)).map(() => 1),
    ]);
    return [merged, single, blocks.toReversed(), blocks.map(([value = 0, ...sizes]) => [...sizes, value])].map((list) =>
      list.flat().join(", "),
    );
  },
});

/** For each eigenvalue: itself, and the sizes of its blocks. */
function blocksOf(matrix: Matrix): number[][] {
  const size = matrix.length;
  const candidates = range(2 * MOST + 1).map((index) => index - MOST);
  return candidates.flatMap((value) => {
    const shifted = matrix.map((row, r) => row.map((entry, c) => entry - (r === c ? value : 0)));
    if (determinant(shifted) !== 0n) return [];
    const ranks = [size];
    let power = shifted;
    for (const _ of range(size + 1)) {
      ranks.push(rankOf(power));
      power = product(power, shifted);
    }
    // Blocks of size k or more: the fall of the rank from power k - 1 to power k.
    const falls = range(size + 1).map((index) => at(ranks, index) - at(ranks, index + 1));
    const sizes = range(at(falls, 0)).map((block) => falls.filter((count) => count > block).length);
    return [[value, ...sizes]];
  });
}

function rankOf(matrix: Matrix): number {
  return reduced(
    matrix.map((row) => row.map((entry) => ratio(entry))),
    matrix.length,
  ).pivots.length;
}
