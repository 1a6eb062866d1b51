/** series-reversion: a coefficient of the inverse function of a power series. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { polynomialText } from "../polynomials/polynomial.ts";
import { ONE, over, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";
import { productOf, quotientOf, seriesOf } from "./series.ts";

interface Problem {
  /** The function, without a constant: numerator and denominator, the lowest power first. */
  top: number[];
  below: number[];
  order: number;
}

/** By level: degrees of numerator and denominator, least and largest order. */
const SIZES = [
  [2, 0, 2, 3],
  [3, 0, 4, 4],
  [3, 1, 5, 6],
  [3, 2, 7, 8],
  [4, 2, 9, 11],
] as const;

export const seriesReversion = exactRow<Problem>({
  id: "series-reversion",
  asks: "a coefficient of the power series of an inverse function",
  kind: "fraction",
  draw(rng, level) {
    const [degree, depth, least, most] = at(SIZES, level - 1);
    const top = [0, rng.pick([1, 2, 3, -1, -2]), ...range(degree - 1).map(() => between(rng, -6, 6))];
    const below = [1, ...range(depth).map(() => between(rng, -3, 3))];
    if (top.at(-1) === 0 || below.at(-1) === 0) return null;
    return { top, below, order: between(rng, least, most) };
  },
  solve(problem) {
    const found = coefficient(problem, problem.order);
    return found.n === 0n
      ? null
      : { value: textOf(found), steps: problem.order ** 3 + problem.top.length + problem.below.length };
  },
  prompts: [
    (one) =>
      `Near x = 0 the function y = ${functionText(one)} has an inverse x = b_1·y + b_2·y^2 + ... . Find b_${one.order}.`,
    (one) =>
      `Revert the series: y = ${functionText(one)} is solved for x (the branch with x = 0 at y = 0), and x is expanded in powers of y. Which coefficient does y^${one.order} get?`,
    (one) =>
      `Let g be the inverse of f(x) = ${functionText(one)} around the fixed point 0. Compute the coefficient of y^${one.order} in the Taylor series of g(y), exactly. Lagrange's formula helps.`,
    (one) =>
      `The equation ${functionText(one)} = t defines x as a power series in t with x(0) = 0. State the rational factor in front of t^${one.order}.`,
  ],
  slips(problem) {
    const { order, top, below } = problem;
    const forward = at(quotientOf(seriesOf(top, order), seriesOf(below, order)), order);
    return [
      textOf(forward),
      textOf(times(ratio(order), coefficient(problem, order))),
      textOf(coefficient(problem, order - 1)),
      textOf(coefficient({ ...problem, top: top.map((value) => -value) }, order)),
      ...(forward.n === 0n ? [] : [textOf(over(ONE, forward))]),
    ];
  },
});

function functionText({ top, below }: Problem): string {
  const text = polynomialText(top.toReversed());
  return below.length === 1 ? text : `(${text}) / (${polynomialText(below.toReversed())})`;
}

/** Lagrange: the coefficient of order n is that of x^(n-1) in (x / f(x))^n, divided by n. */
function coefficient({ top, below }: Problem, order: number): Rational {
  const base = quotientOf(seriesOf(below, order), seriesOf(top.slice(1), order));
  const power = range(order).reduce<Rational[]>((product) => productOf(product, base), seriesOf([1], order));
  return order === 0 ? ZERO : over(at(power, order - 1), ratio(order));
}
