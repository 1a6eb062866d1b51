/** ode-series-coefficient: a coefficient of the power series that solves a linear differential equation. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { polynomialText } from "../polynomials/polynomial.ts";
import { over, plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  /** y'' = p·y' + q·y + r with polynomials, the lowest power first. */
  p: number[];
  q: number[];
  r: number[];
  start: [number, number];
  order: number;
}

/** By level: degrees of p, q and r (-1 for 0), least and largest order. */
const SIZES = [
  [0, 0, -1, 3, 4],
  [0, 1, -1, 4, 5],
  [1, 1, 0, 5, 6],
  [1, 2, 1, 7, 9],
  [2, 2, 2, 10, 14],
] as const;

export const odeSeriesCoefficient = exactRow<Problem>({
  id: "ode-series-coefficient",
  asks: "a coefficient of the power series that solves a linear differential equation",
  kind: "fraction",
  draw(rng, level) {
    const [p, q, r, least, most] = at(SIZES, level - 1);
    const drawn = (degree: number): number[] => range(degree + 1).map(() => between(rng, -4, 4));
    const problem = { p: drawn(p), q: drawn(q), r: drawn(r), order: between(rng, least, most) };
    if (problem.p.at(-1) === 0 || problem.q.at(-1) === 0 || problem.r.at(-1) === 0) return null;
    return { ...problem, start: [between(rng, -5, 5), between(rng, -5, 5)] };
  },
  solve(problem) {
    const found = coefficient(problem, problem.order);
    const terms = problem.p.length + problem.q.length + problem.r.length;
    return found.n === 0n ? null : { value: textOf(found), steps: problem.order * terms };
  },
  prompts: [
    (one) =>
      `Let y solve y'' = ${rightText(one)} with y(0) = ${one.start[0]} and y'(0) = ${one.start[1]}. Find the coefficient of x^${one.order} in the power series of y around 0.`,
    (one) =>
      `A function has the value ${one.start[0]} and the slope ${one.start[1]} at x = 0, and its second derivative always equals ${rightText(one)}. Write it as a_0 + a_1·x + a_2·x^2 + ... and compute a_${one.order} exactly.`,
    (one) =>
      `Use the Frobenius ansatz (a plain power series) for the initial value problem y'' = ${rightText(one)}, y(0) = ${one.start[0]}, y'(0) = ${one.start[1]}. Which fraction multiplies x^${one.order}?`,
    (one) =>
      `Determine y^(${one.order})(0) / ${one.order}! (a derivative of order ${one.order} over a factorial) for the solution of y'' - [${rightText(one)}] = 0 that starts at x = 0 with y = ${one.start[0]}, y' = ${one.start[1]}.`,
  ],
  slips(problem) {
    const { order, q } = problem;
    return [
      coefficient(problem, order - 1),
      coefficient(problem, order + 1),
      coefficient({ ...problem, r: [] }, order),
      coefficient({ ...problem, q: q.map((value) => -value) }, order),
    ].map(textOf);
  },
});

function rightText({ p, q, r }: Problem): string {
  const wrapped = (list: readonly number[], name: string): string => `(${polynomialText(list.toReversed())})·${name}`;
  return `${wrapped(p, "y'")} + ${wrapped(q, "y")}${r.length === 0 ? "" : ` + (${polynomialText(r.toReversed())})`}`;
}

/** Term by term: (n + 2)(n + 1)·a_(n+2) is what the right side has at x^n. */
function coefficient({ p, q, r, start }: Problem, order: number): Rational {
  const a = start.map((value) => ratio(value));
  for (const n of range(Math.max(0, order - 1))) {
    let sum = ratio(r[n] ?? 0);
    for (const [power, factor] of p.entries()) {
      const place = n - power + 1;
      if (place >= 1) sum = plus(sum, times(ratio(factor * place), a[place] ?? ZERO));
    }
    for (const [power, factor] of q.entries()) if (n >= power) sum = plus(sum, times(ratio(factor), at(a, n - power)));
    a.push(over(sum, ratio((n + 2) * (n + 1))));
  }
  return at(a, order);
}
