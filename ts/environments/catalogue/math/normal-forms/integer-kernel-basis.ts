/** integer-kernel-basis: a basis of all whole solutions of homogeneous equations; its minors must be coprime. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { tableIn } from "../certificate-text.ts";
import {
  bigProduct,
  determinant,
  drawUnimodularPair,
  type Matrix,
  matrixText,
  product,
} from "../linear-algebra/matrices.ts";

interface Problem {
  /** Each row is an equation. */
  matrix: Matrix;
}

/** By level: equations, unknowns, row operations. */
const SIZES = [
  [1, 3, 3],
  [2, 4, 5],
  [2, 5, 8],
  [3, 6, 10],
  [4, 7, 14],
] as const;
/** Larger entries are refused. */
const MOST_ENTRY = 1e9;

export const integerKernelBasis = certificateRow<Problem>({
  id: "integer-kernel-basis",
  asks: "a basis of all whole solutions of a system of homogeneous equations",
  draw(rng, level) {
    const [equations, unknowns, operations] = at(SIZES, level - 1);
    const { matrix: basis, inverse } = drawUnimodularPair(rng, unknowns, operations);
    const mixing = range(equations).map(() => range(equations).map(() => between(rng, -3, 3)));
    const factor = determinant(mixing);
    if (factor > -2n && factor < 2n) return null;
    const problem = { matrix: product(mixing, inverse.slice(0, equations)) };
    if (problem.matrix.flat().filter((entry) => entry !== 0).length < equations * 3) return null;
    const vectors = range(unknowns)
      .slice(equations)
      .map((column) => basis.map((row) => at(row, column)));
    const certificate = vectors.map((vector) => vector.join(", ")).join("\n");
    return { problem, certificate, steps: equations * unknowns ** 2 };
  },
  proves({ matrix }, answer) {
    const unknowns = at(matrix, 0).length;
    const count = unknowns - matrix.length;
    const table = tableIn(answer);
    if (table?.length !== count) return false;
    if (!table.every((row) => row.length === unknowns && row.every((entry) => Math.abs(entry) <= MOST_ENTRY)))
      return false;
    const columns = range(unknowns).map((column) => table.map((row) => at(row, column)));
    return (
      bigProduct(matrix, columns)
        .flat()
        .every((entry) => entry === 0n) && commonFactor(columns) === 1n
    );
  },
  prompts: [
    (one) =>
      `All integer vectors x with Ax = 0, where A is\n${matrixText(one.matrix)}\nform a lattice of rank ${rank(one)}. Find a basis of this lattice: every integer solution must be a whole combination of your vectors. ${FORMAT}`,
    (one) =>
      `Each row of\n${matrixText(one.matrix)}\nholds the coefficients of a homogeneous linear equation. Describe the whole-numbered solutions by ${rank(one)} basic ones, from which all the others arise by integer combinations (rational multiples are not enough). ${FORMAT}`,
    (one) =>
      `Reactions must not change these ${one.matrix.length} conserved sum(s), whose weights are the rows:\n${matrixText(one.matrix)}\nA reaction is an integer vector with product 0 with each row. Give ${rank(one)} reactions such that each reaction is an integer combination of them in one way. ${FORMAT}`,
    (one) =>
      `${FORMAT} They shall be a Z-basis (with ${rank(one)} members) of the kernel, in integers, of the matrix\n${matrixText(one.matrix)}`,
  ],
  slips(_, certificate) {
    const rows = certificate.split("\n").map((row) => row.split(", ").map(Number));
    const text = (table: Matrix): string => table.map((row) => row.join(", ")).join("\n");
    const [first = []] = rows;
    return [
      text(rows.map((row, index) => (index === 0 ? row.map((entry) => 2 * entry) : row))),
      text(
        rows.map((row, index) => (index === 0 ? row.map((entry) => entry * 3) : row.map((e, i) => e + at(first, i)))),
      ),
      text(rows.map(() => first.map((entry) => entry * 2))),
      text(rows.slice(1)),
      text(rows.map((row) => row.map(Math.abs))),
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n")],
});

const FORMAT = "Write one vector on each line, its coordinates separated by commas.";

function rank({ matrix }: Problem): number {
  return at(matrix, 0).length - matrix.length;
}

/** Of all largest minors; `columns` has one row for each coordinate. */
function commonFactor(columns: Matrix): bigint {
  let common = 0n;
  const size = at(columns, 0).length;
  const choose = (from: number, chosen: readonly number[][]): void => {
    if (common === 1n) return;
    if (chosen.length === size) {
      let [a, b] = [common, determinant([...chosen])];
      while (b !== 0n) [a, b] = [b, a % b];
      common = a < 0n ? -a : a;
      return;
    }
    for (const index of range(columns.length).slice(from)) choose(index + 1, [...chosen, at(columns, index)]);
  };
  choose(0, []);
  return common;
}
