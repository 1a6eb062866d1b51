/** product-coefficient: a coefficient of a product of polynomials and geometric series. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  /** c0 + c1 x^s + c2 x^(2s), to a power. */
  polynomials: { factors: number[]; step: number; power: number }[];
  /** Steps k of factors 1 / (1 - x^k). */
  series: number[];
  /** Exponent whose coefficient is asked. */
  place: number;
}

/** By level: polynomials, largest power, series, least and largest exponent. */
const SIZES = [
  [1, 3, 1, 3, 6],
  [1, 5, 2, 7, 12],
  [2, 5, 2, 13, 22],
  [2, 8, 3, 24, 45],
  [3, 12, 3, 50, 120],
] as const;

export const productCoefficient = exactRow<Problem>({
  id: "product-coefficient",
  asks: "a coefficient of a product of polynomials and geometric series",
  kind: "integer",
  draw(rng, level) {
    const [count, most, series, least, largest] = at(SIZES, level - 1);
    const factor = (): number => between(rng, 1, 4) * rng.pick([1, -1]);
    return {
      polynomials: range(count).map(() => ({
        factors: [factor(), factor(), factor()],
        step: between(rng, 1, 3),
        power: between(rng, 2, most),
      })),
      series: range(series).map(() => between(rng, 1, level + 2)),
      place: between(rng, least, largest),
    };
  },
  solve(problem) {
    const value = coefficientOf(problem);
    const isSmall = value > -4n && value < 4n;
    const factors = problem.polynomials.reduce((sum, { power }) => sum + power, problem.series.length);
    return isSmall ? null : { value: String(value), steps: problem.place * factors };
  },
  prompts: [
    (one) => `Find the coefficient of x^${one.place} in the power series of ${productText(one)}.`,
    (one) =>
      `Expand f(x) = ${productText(one)} around x = 0, where fractions stand for their geometric series. By which integer is x^${one.place} multiplied?`,
    (one) =>
      `The generating function of a sequence a_0, a_1, a_2, ... is ${productText(one)}. Compute the term a_${one.place}.`,
    (one) =>
      `Let F(x) = ${productText(one)}. What is the value of the derivative of order ${one.place} of F at 0, divided by ${one.place}! (the factorial)? It is a whole number.`,
  ],
  slips(problem) {
    return [
      coefficientOf({ ...problem, place: problem.place - 1 }),
      coefficientOf({ ...problem, place: problem.place + 1 }),
      coefficientOf({ ...problem, series: problem.series.slice(1) }),
      -coefficientOf(problem),
    ];
  },
});

function coefficientOf({ polynomials, series, place }: Problem): bigint {
  let found = range(place + 1).map((exponent): bigint => (exponent === 0 ? 1n : 0n));
  for (const { factors, step, power } of polynomials) {
    for (let time = 0; time < power; time++) {
      const before = found;
      found = before.map((_, exponent) =>
        factors.reduce((sum, factor, index) => sum + BigInt(factor) * (before[exponent - index * step] ?? 0n), 0n),
      );
    }
  }
  for (const step of series)
    for (let exponent = step; exponent <= place; exponent++)
      found[exponent] = at(found, exponent) + at(found, exponent - step);
  return at(found, place);
}

function productText({ polynomials, series }: Problem): string {
  const powerText = (exponent: number): string => (exponent === 1 ? "x" : `x^${exponent}`);
  const top = polynomials.map(({ factors, step, power }) => {
    const terms = factors.map((factor, index) => {
      const size = Math.abs(factor);
      const sign = index === 0 ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ";
      return `${sign}${size === 1 && index > 0 ? "" : size}${index === 0 ? "" : powerText(index * step)}`;
    });
    return `(${terms.join("")})^${power}`;
  });
  return `${top.join(" · ")} · ${series.map((step) => `1/(1 - ${powerText(step)})`).join(" · ")}`;
}
