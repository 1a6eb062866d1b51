/** value-from-points: a value of a polynomial from values, slopes and its degree. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { plus, type Rational, ratio, solveLinear, textOf, times, total } from "../rational.ts";

interface Problem {
  /** Places with p(x) = y. */
  values: [x: number, y: number][];
  /** Places with p'(x) = y. */
  slopes: [x: number, y: number][];
  place: number;
}

/** By level: values, slopes, range of the places. */
const SIZES = [
  [3, 0, 4],
  [4, 0, 5],
  [4, 1, 5],
  [5, 1, 6],
  [5, 3, 7],
] as const;

export const valueFromPoints = exactRow<Problem>({
  id: "value-from-points",
  asks: "a value of a polynomial from values, slopes and its degree",
  kind: "fraction",
  draw(rng, level) {
    const [values, slopes, most] = at(SIZES, level - 1);
    const places = sample(
      range(2 * most + 1).map((index) => index - most),
      values + 1,
      rng,
    );
    const bent = sample(places.slice(1), slopes, rng);
    return {
      values: places.slice(1).map((x) => [x, between(rng, -9, 9)]),
      slopes: bent.map((x) => [x, between(rng, -9, 9)]),
      place: at(places, 0),
    };
  },
  solve({ values, slopes, place }) {
    const size = values.length + slopes.length;
    const solved = coefficientsOf({ values, slopes });
    if (solved === null || at(solved, size - 1).n === 0n) return null;
    return { value: textOf(valueOf(solved, place)), steps: size ** 3 };
  },
  prompts: [
    (one) =>
      `A polynomial p of degree at most ${degreeOf(one)} satisfies ${conditions(one)}. Compute p(${one.place}) exactly.`,
    (one) =>
      `Given are ${conditions(one)} for a polynomial p whose degree does not exceed ${degreeOf(one)} (p' is its derivative). What is its value at ${one.place}? Answer with an integer or a reduced fraction.`,
    (one) =>
      `Someone interpolates with a polynomial p(x) of least possible degree, ${degreeOf(one)} at most, such that ${conditions(one)}. Which value does it take for x = ${one.place}?`,
    (one) =>
      `Extend the data ${conditions(one)} to x = ${one.place}, assuming that p is a polynomial with at most ${degreeOf(one) + 1} terms x^0, ..., x^${degreeOf(one)}. State p(${one.place}) as an exact rational number.`,
  ],
  slips({ values, slopes, place }) {
    const lower = slopes.length > 0 ? { values, slopes: [] } : { values: values.slice(1), slopes };
    const exchanged = { values: values.map(([x, y], index) => [x, index === 0 ? -y : y] as [number, number]), slopes };
    return [lower, exchanged].map((data) => textOf(valueOf(coefficientsOf(data) ?? [], place)));
  },
});

/** The lowest power first. */
function coefficientsOf({ values, slopes }: Pick<Problem, "values" | "slopes">): Rational[] | null {
  const size = values.length + slopes.length;
  const rows = [
    ...values.map(([x]) => range(size).map((power) => ratio(x ** power))),
    ...slopes.map(([x]) => range(size).map((power) => ratio(power === 0 ? 0 : power * x ** (power - 1)))),
  ];
  return solveLinear(
    rows,
    [...values, ...slopes].map(([, y]) => ratio(y)),
  );
}

function valueOf(coefficients: readonly Rational[], place: number): Rational {
  return plus(total(coefficients.map((factor, power) => times(factor, ratio(place ** power)))), ratio(0));
}

function degreeOf({ values, slopes }: Problem): number {
  return values.length + slopes.length - 1;
}

function conditions({ values, slopes }: Problem): string {
  return [...values.map(([x, y]) => `p(${x}) = ${y}`), ...slopes.map(([x, y]) => `p'(${x}) = ${y}`)].join(", ");
}
