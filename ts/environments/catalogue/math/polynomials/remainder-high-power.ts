/** remainder-high-power: the remainder of a huge power modulo a polynomial over a prime field. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { multiplyModulo, polynomialText } from "./polynomial.ts";

interface Problem {
  /** x + base is raised. */
  base: number;
  exponent: number;
  monic: number[];
  prime: number;
}

/** By level: degree, primes, least and largest exponent. */
const SIZES = [
  [2, [5, 7], 6, 20],
  [2, [11, 13], 50, 200],
  [3, [11, 13, 17], 300, 3_000],
  [4, [17, 19, 23], 10_000, 1_000_000],
  [5, [29, 31, 37], 1_000_000, 1_000_000_000_000],
] as const;

export const remainderHighPower = exactRow<Problem>({
  id: "remainder-high-power",
  asks: "the remainder of a huge power modulo a polynomial over a prime field",
  kind: "tuple",
  draw(rng, level) {
    const [degree, primes, least, most] = at(SIZES, level - 1);
    const prime = rng.pick(primes);
    const monic = [1, ...range(degree).map(() => rng.integer(prime))];
    return { base: rng.integer(prime), exponent: between(rng, least, most), monic, prime };
  },
  solve(problem) {
    const { monic, exponent } = problem;
    const remainder = powerOf(problem, exponent);
    // Constants come from exponents that the order of x + base divides.
    if (remainder.slice(0, -1).every((value) => value === 0) || monic.at(-1) === 0) return null;
    return { value: remainder.join(", "), steps: (monic.length - 1) ** 2 * Math.ceil(Math.log2(exponent)) };
  },
  prompts: [
    (one) =>
      `Divide ${powerText(one)} by ${polynomialText(one.monic)}, with all coefficients modulo ${one.prime}. Give the ${one.monic.length - 1} coefficients of the remainder, from x^${one.monic.length - 2} down to the constant, each from 0 to ${one.prime - 1}, separated by commas.`,
    (one) =>
      `In the ring F_${one.prime}[x] find the remainder of ${powerText(one)} modulo m(x) = ${polynomialText(one.monic)}. Write its coefficients (highest power x^${one.monic.length - 2} first, zeros included, values in 0..${one.prime - 1}) with commas between.`,
    (one) =>
      `Polynomials in a over the field with ${one.prime} elements are taken modulo ${polynomialText(one.monic, "a")}, which need not be irreducible. Write ${powerText(one).replace("x", "a")} as a combination of the powers of a from a^${one.monic.length - 2} down to 1, and list the factors in that order, reduced to 0..${one.prime - 1}, as a comma-separated list.`,
    (one) =>
      `Coefficients count modulo ${one.prime}. The polynomial ${powerText(one)} leaves a rest of degree below ${one.monic.length - 1} when it is divided by ${polynomialText(one.monic)}. State this rest by its coefficients in falling order of the powers: ${one.monic.length - 1} numbers between 0 and ${one.prime - 1}, commas between them.`,
  ],
  slips(problem) {
    const { exponent, monic, prime } = problem;
    const mirrored = { ...problem, monic: [1, ...monic.slice(1).map((value) => (prime - value) % prime)] };
    return [
      powerOf(problem, exponent + 1),
      powerOf(problem, exponent - 1),
      powerOf(mirrored, exponent),
      powerOf(problem, exponent).toReversed(),
    ].map((list) => list.join(", "));
  },
});

function powerOf({ base, monic, prime }: Problem, exponent: number): number[] {
  const degree = monic.length - 1;
  const field = { monic, prime };
  let result = range(degree).map((index) => Number(index === degree - 1));
  let square = range(degree).map((index) => (index === degree - 1 ? base : Number(index === degree - 2)));
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiplyModulo(result, square, field);
    square = multiplyModulo(square, square, field);
  }
  return result;
}

function powerText({ base, exponent }: Problem): string {
  return base === 0 ? `x^${exponent}` : `(x + ${base})^${exponent}`;
}
