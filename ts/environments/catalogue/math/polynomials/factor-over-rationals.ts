/** factor-over-rationals: the complete factorisation of a polynomial with whole coefficients; the factors are multiplied and counted. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { tableIn } from "../certificate-text.ts";
import { divisors, gcd } from "../number-theory.ts";
import { ratio } from "../rational.ts";
import { multiplyAll, polynomialText, valueAt } from "./polynomial.ts";

interface Problem {
  product: number[];
  /** Irreducible factors, with multiplicity. */
  count: number;
}

/** By level: degrees of the factors, largest coefficient. */
const SIZES = [
  [[1, 2], 5],
  [[2, 2], 5],
  [[1, 2, 2], 5],
  [[2, 2, 3], 4],
  [[2, 3, 3], 5],
] as const;

export const factorOverRationals = certificateRow<Problem>({
  id: "factor-over-rationals",
  asks: "the complete factorisation of a polynomial over the rational numbers",
  draw(rng, level) {
    const [degrees, most] = at(SIZES, level - 1);
    const factors = degrees.map((degree) => {
      const lead = between(rng, 1, degree === 1 ? 3 : 2);
      return [lead, ...range(degree).map(() => between(rng, -most, most))];
    });
    if (!factors.every(isIrreducible)) return null;
    const product = multiplyAll(factors);
    return {
      problem: { product, count: factors.length },
      certificate: factors.map((factor) => factor.join(", ")).join("\n"),
      steps: product.length ** 2 * factors.length * at(degrees, degrees.length - 1),
    };
  },
  proves({ product, count }, answer) {
    const factors = tableIn(answer);
    // As many factors of positive degree as there are irreducible ones: each of them is irreducible.
    if (factors === null || factors.length !== count) return false;
    if (factors.some((factor) => factor.length < 2 || factor.length > product.length || factor[0] === 0)) return false;
    if (factors.flat().some((factor) => Math.abs(factor) > 1e6)) return false;
    const found = multiplyAll(factors);
    return found.length === product.length && found.every((value, index) => value === product[index]);
  },
  prompts: [
    (one) =>
      `Factor ${polynomialText(one.product)} completely over the rational numbers, into polynomials with integer coefficients. ${FORMAT}`,
    (one) =>
      `Write P(x) = ${polynomialText(one.product)} as a product of polynomials with integer coefficients that are irreducible over Q. ${FORMAT}`,
    (one) =>
      `The polynomial ${polynomialText(one.product)} splits over Q into irreducible parts. Which? The parts have integer coefficients and their product is exactly the given polynomial. ${FORMAT}`,
    (one) =>
      `${FORMAT} The lines shall be the irreducible factors (integer coefficients, none of them constant) whose product equals ${polynomialText(one.product)}.`,
  ],
  slips({ product }, certificate) {
    const factors = certificate.split("\n");
    const [first = "", second = "", ...rest] = factors;
    const joined = multiplyAll([first.split(", ").map(Number), second.split(", ").map(Number)]).join(", ");
    return [product.join(", "), [joined, ...rest].join("\n"), `${certificate}\n1`, factors.slice(1).join("\n")];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n"), certificate.replaceAll(", ", " ")],
});

const FORMAT =
  "Answer with one line per factor (a repeated factor on several lines): its coefficients from the highest power to the constant, with commas between.";

/** Of degree 3 at most: without a rational root, and without a common divisor of the coefficients. */
function isIrreducible(factor: readonly number[]): boolean {
  if (factor.reduce(gcd, 0) !== 1) return false;
  if (factor.length === 2) return factor[1] !== 0;
  const [lead = 0, last = 0] = [factor[0], factor.at(-1)];
  if (last === 0) return false;
  return !divisors(Math.abs(last)).some((top) =>
    divisors(Math.abs(lead)).some((bottom) =>
      [top, -top].some((signed) => valueAt(factor, ratio(signed, bottom)).n === 0n),
    ),
  );
}
