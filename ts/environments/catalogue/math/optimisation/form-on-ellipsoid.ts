/** form-on-ellipsoid: the largest square of a linear form on an ellipsoid, also inside a hyperplane. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { drawMatrix, type Matrix, matrixText, product } from "../linear-algebra/matrices.ts";
import { minus, over, type Rational, ratio, solveLinear, textOf, times, total } from "../rational.ts";

interface Problem {
  /** Symmetric and positive definite. */
  matrix: Matrix;
  form: number[];
  level: number;
  /** A linear form that must vanish. */
  plane: number[] | null;
}

/** By level: dimension, largest entry, with a hyperplane. */
const SIZES = [
  [2, 2, false],
  [2, 4, true],
  [3, 2, false],
  [3, 3, true],
  [4, 2, true],
] as const;

export const formOnEllipsoid = exactRow<Problem>({
  id: "form-on-ellipsoid",
  asks: "the largest square of a linear form on an ellipsoid",
  kind: "fraction",
  draw(rng, level) {
    const [size, most, isCut] = at(SIZES, level - 1);
    const root = drawMatrix(rng, size, size, most);
    const transposed = range(size).map((column) => root.map((row) => at(row, column)));
    const vector = (): number[] => range(size).map(() => between(rng, -4, 4));
    return {
      matrix: product(transposed, root),
      form: vector(),
      level: between(rng, 2, 12),
      plane: isCut ? vector() : null,
    };
  },
  solve(problem) {
    const found = largest(problem);
    const size = problem.form.length;
    return found === null || found.n === 0n
      ? null
      : { value: textOf(found), steps: size ** 3 + (problem.plane === null ? 0 : size ** 2) };
  },
  prompts: [
    (one) =>
      `Over all real vectors x with x^T A x = ${one.level}${planeText(one)}, what is the maximum of (c·x)^2? Here c = (${one.form.join(", ")}) and A =\n${matrixText(one.matrix)}`,
    (one) =>
      `The symmetric matrix\n${matrixText(one.matrix)}\ndefines an ellipsoid q(x) = ${one.level}, where q(x) is the quadratic form x^T A x. Compute the largest value that the square of L(x) = (${one.form.join(", ")})·x takes on it${planeText(one)}.`,
    (one) =>
      `Let c = (${one.form.join(", ")}). By the Cauchy-Schwarz inequality in a suitable inner product, (c·x)^2 ≤ M for all x with x^T A x ≤ ${one.level}${planeText(one)}. Find the best constant M for A =\n${matrixText(one.matrix)}`,
    (one) =>
      `Energy budget: a state x costs x^T A x, with A =\n${matrixText(one.matrix)}\nand exactly ${one.level} units are spent${planeText(one)}. The signal is c·x for c = (${one.form.join(", ")}). Give the greatest possible square of the signal, exactly.`,
  ],
  slips(problem) {
    const free = largest({ ...problem, plane: null });
    const unit = largest({ ...problem, level: 1 });
    const plain = problem.form.reduce(
      (sum, entry, index) => sum + entry * entry * at(at(problem.matrix, index), index),
      0,
    );
    return [free, unit].flatMap((value) => (value === null ? [] : [textOf(value)])).concat(String(plain));
  },
});

function planeText({ plane }: Problem): string {
  return plane === null ? "" : ` with (${plane.join(", ")})·x = 0`;
}

/** By the products of both forms in the inner product of the inverse matrix. Null where the matrix is singular, or the plane is no plane. */
function largest({ matrix, form, level, plane }: Problem): Rational | null {
  const rows = matrix.map((row) => row.map((entry) => ratio(entry)));
  const inverse = (vector: readonly number[]): Rational[] | null =>
    solveLinear(
      rows,
      vector.map((entry) => ratio(entry)),
    );
  const solved = inverse(form);
  if (solved === null) return null;
  const paired = (vector: readonly number[], other: readonly Rational[]): Rational =>
    total(vector.map((entry, index) => times(ratio(entry), at(other, index))));
  let square = paired(form, solved);
  if (plane !== null) {
    const normal = inverse(plane);
    if (normal === null || plane.every((entry) => entry === 0)) return null;
    const cross = paired(plane, solved);
    square = minus(square, over(times(cross, cross), paired(plane, normal)));
  }
  return times(ratio(level), square);
}
