/** taylor-coefficient: a coefficient of the Taylor series of a composed function. */
import { between } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { polynomialText } from "../polynomials/polynomial.ts";
import { type Rational, textOf } from "../rational.ts";
import { composed, ELEMENTARY, productOf, seriesOf } from "./series.ts";

interface Problem {
  /** The function that is applied last, and one that is multiplied to it. */
  outer: string;
  factor: string | null;
  /** Inner polynomial without a constant, the lowest power first. */
  inner: number[];
  order: number;
}

/** By level: degree of the inner polynomial, with a factor, least and largest order. */
const SIZES = [
  [2, false, 2, 3],
  [2, false, 4, 5],
  [2, true, 5, 6],
  [3, true, 7, 8],
  [3, true, 10, 13],
] as const;
const NAMES: Readonly<Record<string, (inner: string) => string>> = {
  exp: (inner) => `exp(${inner})`,
  sin: (inner) => `sin(${inner})`,
  cos: (inner) => `cos(${inner})`,
  log1p: (inner) => `ln(1 + (${inner}))`,
  atan: (inner) => `arctan(${inner})`,
  sqrt1p: (inner) => `sqrt(1 + (${inner}))`,
};

export const taylorCoefficient = exactRow<Problem>({
  id: "taylor-coefficient",
  asks: "a coefficient of the Taylor series of a composed function",
  kind: "fraction",
  draw(rng, level) {
    const [degree, hasFactor, least, most] = at(SIZES, level - 1);
    const inner = Array.from({ length: degree + 1 }, (_, power) => (power === 0 ? 0 : between(rng, -4, 4)));
    if (inner[1] === 0 || inner[degree] === 0) return null;
    const outer = rng.pick(Object.keys(NAMES));
    return { outer, factor: hasFactor ? rng.pick(Object.keys(NAMES)) : null, inner, order: between(rng, least, most) };
  },
  solve(problem) {
    const found = coefficient(problem);
    const { order, factor } = problem;
    return found.n === 0n ? null : { value: textOf(found), steps: order ** 2 * (factor === null ? 1 : 2) };
  },
  prompts: [
    (one) => `Find the coefficient of x^${one.order} in the Maclaurin series of f(x) = ${functionText(one)}.`,
    (one) =>
      `Expand ${functionText(one)} in powers of x around 0. Which rational number stands in front of x^${one.order}?`,
    (one) =>
      `Let f(x) = ${functionText(one)}. Compute the derivative of order ${one.order} of f at 0, divided by ${one.order} factorial, as an exact fraction.`,
    (one) =>
      `The Taylor polynomials of ${functionText(one)} at the origin are needed. What is the last coefficient of the one of degree ${one.order}, that of x^${one.order}?`,
  ],
  slips(problem) {
    const { order } = problem;
    const plain = coefficient({ ...problem, inner: problem.inner.map((value, power) => (power === 1 ? value : 0)) });
    const others = [order - 1, order + 1].map((place) => coefficient({ ...problem, order: place }));
    return [plain, ...others].map(textOf);
  },
});

function functionText({ outer, factor, inner }: Problem): string {
  const text = NAMES[outer]?.(polynomialText(inner.toReversed())) ?? "";
  return factor === null ? text : `${NAMES[factor]?.("x") ?? ""} · ${text}`;
}

function coefficient({ outer, factor, inner, order }: Problem): Rational {
  const series = (name: string): Rational[] => ELEMENTARY[name]?.(order) ?? [];
  const whole = composed(series(outer), seriesOf(inner, order));
  return at(factor === null ? whole : productOf(series(factor), whole), order);
}
