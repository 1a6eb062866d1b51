/** root-sums: the sum of a rational function over all complex roots of a polynomial, without finding them. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { binomial } from "../number-theory.ts";
import { minus, over, plus, type Rational, ratio, textOf, times, total, ZERO } from "../rational.ts";
import { polynomialText, valueAt } from "./polynomial.ts";

interface Problem {
  coefficients: number[];
  /** The sum of r^above / (r - shift)^below. */
  above: number;
  below: number;
  shift: number;
}

/** By level: degree, power above, power below, largest coefficient. */
const SIZES = [
  [2, 3, 0, 6],
  [3, 4, 0, 6],
  [3, 2, 1, 6],
  [4, 3, 1, 7],
  [5, 4, 2, 7],
] as const;

export const rootSums = exactRow<Problem>({
  id: "root-sums",
  asks: "the sum of a rational function over all complex roots of a polynomial",
  kind: "fraction",
  draw(rng, level) {
    const [degree, above, below, most] = at(SIZES, level - 1);
    const coefficients = [between(rng, 1, 3), ...range(degree).map(() => between(rng, -most, most))];
    return { coefficients, above, below, shift: below === 0 ? 0 : rng.pick([-3, -2, -1, 1, 2, 3]) };
  },
  solve(problem) {
    const { coefficients, above, below, shift } = problem;
    const zeros = coefficients.filter((factor) => factor === 0).length;
    if (zeros > 1 || valueAt(coefficients, ratio(shift)).n === 0n || coefficients.at(-1) === 0) return null;
    const degree = coefficients.length - 1;
    return { value: textOf(sumOf(problem)), steps: degree * (above + 1) * (1 + 2 * below) };
  },
  prompts: [
    (one) =>
      `Let r run through all complex roots (with multiplicity) of ${polynomialText(one.coefficients)}. Find the exact value of the sum of ${termText(one)}, as a fraction in lowest terms.`,
    (one) =>
      `The polynomial P(x) = ${polynomialText(one.coefficients)} has ${one.coefficients.length - 1} complex roots, equal ones counted as often as they occur. Add ${termText(one)} over all of them. The total is rational; which number is it?`,
    (one) =>
      `Without solving ${polynomialText(one.coefficients)} = 0, compute the total of ${termText(one)}, one term for each solution r in the complex numbers. Give it exactly.`,
    (one) =>
      `Each root r of ${polynomialText(one.coefficients)} is replaced by ${termText(one)}. What do the ${one.coefficients.length - 1} new numbers add up to? An integer or a fraction is expected, no decimals.`,
  ],
  slips(problem) {
    const { coefficients, above } = problem;
    const monic = { ...problem, coefficients: [1, ...coefficients.slice(1)] };
    const mirrored = {
      ...problem,
      coefficients: coefficients.map((factor, index) => (index % 2 === 0 ? factor : -factor)),
    };
    return [monic, mirrored, { ...problem, above: above - 1 }, { ...problem, shift: -problem.shift }]
      .filter((one) => valueAt(one.coefficients, ratio(one.shift)).n !== 0n)
      .map((one) => textOf(sumOf(one)));
  },
});

/** With s = r - shift, r^above is a polynomial in s, and sums of powers of s follow from Newton's identities. */
function sumOf({ coefficients, above, below, shift }: Problem): Rational {
  const moved = shifted(coefficients, shift);
  const positive = powerSums(moved, above);
  const negative = powerSums(moved.toReversed(), below);
  return total(
    range(above + 1).map((power) => {
      const exponent = power - below;
      const sum = exponent >= 0 ? at(positive, exponent) : at(negative, -exponent);
      return times(ratio(binomial(above, power) * BigInt(shift) ** BigInt(above - power)), sum);
    }),
  );
}

/** P(x + shift), by repeated synthetic division. */
function shifted(coefficients: readonly number[], shift: number): number[] {
  const moved = [...coefficients];
  for (let last = moved.length - 1; last > 0; last--)
    for (let index = 1; index <= last; index++) moved[index] = at(moved, index) + shift * at(moved, index - 1);
  return moved;
}

/** Sums of the powers 0 to `most` of the roots. */
function powerSums(coefficients: readonly number[], most: number): Rational[] {
  const degree = coefficients.length - 1;
  const lead = ratio(at(coefficients, 0));
  const sums: Rational[] = [ratio(degree)];
  for (let power = 1; power <= most; power++) {
    let sum = power <= degree ? times(ratio(-power), over(ratio(at(coefficients, power)), lead)) : ZERO;
    for (let index = 1; index < power && index <= degree; index++)
      sum = minus(sum, times(over(ratio(at(coefficients, index)), lead), at(sums, power - index)));
    sums.push(plus(sum, ZERO));
  }
  return sums;
}

function termText({ above, below, shift }: Problem): string {
  if (below === 0) return `r^${above}`;
  const base = `(r ${shift > 0 ? "-" : "+"} ${Math.abs(shift)})`;
  return `r^${above} / ${base}${below === 1 ? "" : `^${below}`}`;
}
