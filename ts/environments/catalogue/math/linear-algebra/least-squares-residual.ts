/** least-squares-residual: the exact squared distance of a vector from the span of others. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { minus, plus, ratio, solveLinear, textOf, times, ZERO } from "../rational.ts";
import { drawMatrix, matrixText } from "./matrices.ts";

interface Problem {
  /** Spanning vectors. */
  spanning: number[][];
  target: number[];
}

/** By level: dimension of the space, vectors, largest entry. */
const SIZES = [
  [2, 1, 5],
  [3, 2, 4],
  [4, 2, 6],
  [5, 3, 6],
  [6, 4, 7],
] as const;

export const leastSquaresResidual = exactRow<Problem>({
  id: "least-squares-residual",
  asks: "the exact squared distance of a vector from the span of others",
  kind: "fraction",
  draw(rng, level) {
    const [dimension, vectors, most] = at(SIZES, level - 1);
    return {
      spanning: drawMatrix(rng, vectors, dimension, most),
      target: range(dimension).map(() => between(rng, -most - 2, most + 2)),
    };
  },
  solve(problem) {
    const { spanning, target } = problem;
    const gram = spanning.map((one) => spanning.map((other) => ratio(inner(one, other))));
    const right = spanning.map((one) => ratio(inner(one, target)));
    const factors = solveLinear(gram, right);
    if (factors === null || factors.every(({ n }) => n === 0n)) return null;
    const shadow = factors.reduce((sum, factor, index) => plus(sum, times(factor, at(right, index))), ZERO);
    const value = minus(ratio(inner(target, target)), shadow);
    if (value.d === 1n || value.n === 0n) return null;
    return { value: textOf(value), steps: (spanning.length + 1) ** 3 * target.length };
  },
  prompts: [
    (one) =>
      `Find the exact square of the (Euclidean) distance from the point (${one.target.join(", ")}) to the subspace that is spanned by the rows of\n${matrixText(one.spanning)}\nGive a fraction.`,
    (one) =>
      `A signal b = (${one.target.join(", ")}) is approximated by linear combinations of\n${matrixText(one.spanning)}\nwith real factors. What is the least possible sum of squared errors? Answer with an exact fraction.`,
    (one) =>
      `Least squares: the unknown factors x make x_1 v_1 + x_2 v_2 + ... as close as possible to y = (${one.target.join(", ")}), where the lines below are v_1, v_2, ...\n${matrixText(one.spanning)}\nCompute min |y - (x_1 v_1 + ...)|^2 as a rational number.`,
    (one) =>
      `Let p be the orthogonal projection of w onto the span U of these vectors:\n${matrixText(one.spanning)}\nFor w = (${one.target.join(", ")}), how large is |w - p|^2? No decimals: write the fraction.`,
  ],
  slips({ spanning, target }) {
    const length = ratio(inner(target, target));
    const shadows = spanning
      .filter((one) => inner(one, one) > 0)
      .map((one) => ratio(inner(one, target) ** 2, inner(one, one)));
    const together = shadows.reduce(plus, ZERO);
    return [length, together, minus(length, together), minus(length, shadows[0] ?? ZERO)]
      .slice(0, spanning.length === 1 ? 2 : 4)
      .map(textOf);
  },
});

function inner(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, entry, index) => sum + entry * at(b, index), 0);
}
