/** absolute-deviation-minimum: the least value of a weighted sum of absolute values, which a corner takes. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { compare, minus, type Rational, ratio, textOf, times, total } from "../rational.ts";

interface Problem {
  /** weight · |slope · x - shift|. */
  terms: { weight: number; slope: number; shift: number }[];
}

/** By level: terms, largest slope, largest shift. */
const SIZES = [
  [3, 3, 9],
  [4, 5, 20],
  [6, 7, 30],
  [8, 9, 50],
  [11, 12, 90],
] as const;

export const absoluteDeviationMinimum = exactRow<Problem>({
  id: "absolute-deviation-minimum",
  asks: "the least value of a weighted sum of absolute values of linear functions",
  kind: "fraction",
  draw(rng, level) {
    const [count, slope, shift] = at(SIZES, level - 1);
    return {
      terms: range(count).map(() => ({
        weight: between(rng, 1, 5),
        slope: between(rng, 2, slope),
        shift: between(rng, -shift, shift),
      })),
    };
  },
  solve(problem) {
    const { least, place } = leastValue(problem);
    return least.d === 1n || place.d === 1n ? null : { value: textOf(least), steps: problem.terms.length ** 2 };
  },
  prompts: [
    (one) => `Find the exact minimum over all real x of\nf(x) = ${sumText(one)}.`,
    (one) => `How small can ${sumText(one)} become when x runs through the real numbers? Give the least value exactly.`,
    (one) =>
      `A machine is set to a real value x. The penalty is ${sumText(one)}. Determine the smallest possible penalty as a fraction in lowest terms.`,
    (one) =>
      `The function x -> ${sumText(one)} is convex and piecewise linear on the line. Which value does it have at its lowest point?`,
  ],
  slips(problem) {
    const { place } = leastValue(problem);
    const mean = total(problem.terms.map(({ slope, shift }) => ratio(shift, slope)));
    const average = times(mean, ratio(1, problem.terms.length));
    const unweighted = leastValue({ terms: problem.terms.map((term) => ({ ...term, weight: 1 })) }).place;
    return [textOf(place), textOf(valueAt(problem, average)), textOf(valueAt(problem, unweighted))];
  },
});

function sumText({ terms }: Problem): string {
  return terms
    .map(({ weight, slope, shift }) => {
      const inner = shift === 0 ? `${slope}x` : `${slope}x ${shift > 0 ? "-" : "+"} ${Math.abs(shift)}`;
      return `${weight === 1 ? "" : weight}|${inner}|`;
    })
    .join(" + ");
}

function valueAt({ terms }: Problem, x: Rational): Rational {
  return total(
    terms.map(({ weight, slope, shift }) => {
      const inner = minus(times(ratio(slope), x), ratio(shift));
      return times(ratio(inner.n < 0n ? -weight : weight), inner);
    }),
  );
}

function leastValue(problem: Problem): { least: Rational; place: Rational } {
  const corners = problem.terms.map(({ slope, shift }) => {
    const place = ratio(shift, slope);
    return { place, least: valueAt(problem, place) };
  });
  return corners.reduce((a, b) => (compare(b.least, a.least) < 0 ? b : a));
}
