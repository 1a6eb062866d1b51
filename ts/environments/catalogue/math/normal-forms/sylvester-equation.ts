/** sylvester-equation: the matrix X with AX + XB = C. */
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { type Rational, ratio, solveLinear, textOf } from "../rational.ts";
import { drawMatrix, type Matrix, matrixText, product } from "../linear-algebra/matrices.ts";

interface Problem {
  a: Matrix;
  b: Matrix;
  c: Matrix;
}

/** By level: rows, columns, largest entry. */
const SIZES = [
  [2, 1, 4],
  [2, 2, 3],
  [3, 2, 3],
  [3, 3, 3],
  [4, 3, 3],
] as const;

export const sylvesterEquation = exactRow<Problem>({
  id: "sylvester-equation",
  asks: "the matrix X that solves AX + XB = C",
  kind: "tuple",
  draw(rng, level) {
    const [rows, columns, most] = at(SIZES, level - 1);
    const [a, b] = [drawMatrix(rng, rows, rows, most), drawMatrix(rng, columns, columns, most)];
    const hidden = drawMatrix(rng, rows, columns, most + 2);
    const [left, right] = [product(a, hidden), product(hidden, b)];
    return { a, b, c: left.map((row, r) => row.map((entry, column) => entry + at(at(right, r), column))) };
  },
  solve(problem) {
    const found = solutionOf(problem);
    if (found === null || found.every(({ n }) => n === 0n)) return null;
    return { value: found.map(textOf).join(", "), steps: found.length ** 3 };
  },
  prompts: [
    (one) => `Solve the matrix equation AX + XB = C for X.\n${matricesText(one)}\n${listing(one)}`,
    (one) =>
      `${matricesText(one)}\nExactly one matrix X has the property that A times X, plus X times B, is C. ${listing(one)}`,
    (one) =>
      `The Sylvester operator sends X to A·X + X·B. Which X does it send to C? Here\n${matricesText(one)}\n${listing(one)}`,
    (one) =>
      `Given are three matrices.\n${matricesText(one)}\nDetermine the unknown X in AX = C - XB; it is unique. ${listing(one)}`,
  ],
  slips(problem, value) {
    const list = value.split(", ").map(Number);
    const { a, b, c } = problem;
    const turned = solutionOf({ a, b: b.map((row) => row.map((entry) => -entry)), c });
    const width = at(c, 0).length;
    const transposed = range(width).flatMap((column) => c.map((_, row) => at(list, row * width + column)));
    return [
      ...(turned === null ? [] : [turned.map(textOf).join(", ")]),
      transposed.join(", "),
      list.map((entry) => -entry).join(", "),
    ].filter((text) => !text.includes("/"));
  },
});

function matricesText({ a, b, c }: Problem): string {
  return `A =\n${matrixText(a)}\nB =\n${matrixText(b)}\nC =\n${matrixText(c)}`;
}

function listing({ c }: Problem): string {
  const [rows, columns] = [c.length, at(c, 0).length];
  return `X has ${rows} rows and ${columns} column(s) of integers: list its ${rows * columns} entries row by row, with commas.`;
}

/** The entries of X, row by row, as the unknowns of one linear system. */
function solutionOf({ a, b, c }: Problem): Rational[] | null {
  const [rows, columns] = [a.length, b.length];
  const cells = range(rows * columns).map((index) => [Math.floor(index / columns), index % columns] as const);
  const system = cells.map(([row, column]) =>
    cells.map(([r, s]) => ratio((s === column ? at(at(a, row), r) : 0) + (r === row ? at(at(b, s), column) : 0))),
  );
  return solveLinear(
    system,
    cells.map(([row, column]) => ratio(at(at(c, row), column))),
  );
}
