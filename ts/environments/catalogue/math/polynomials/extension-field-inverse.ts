/** extension-field-inverse: the inverse of an element of a finite field; the product is reduced. */
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { multiplyModulo, polynomialText } from "./polynomial.ts";

interface Problem {
  prime: number;
  monic: number[];
  element: number[];
}

/** By level: primes, degree. */
const SIZES = [
  [[7, 11], 2],
  [[17, 19, 23], 2],
  [[7, 11, 13], 3],
  [[5, 7], 4],
  [[7, 11], 5],
] as const;

/** A field with more elements would take too long to raise to its order. */
const MOST_VALUE = 1e6;

export const extensionFieldInverse = certificateRow<Problem>({
  id: "extension-field-inverse",
  asks: "the inverse of an element of a finite field that a polynomial defines",
  draw(rng, level) {
    const [primes, degree] = at(SIZES, level - 1);
    const prime = rng.pick(primes);
    const monic = [1, ...range(degree).map(() => rng.integer(prime))];
    const element = range(degree).map(() => rng.integer(prime));
    const field = { monic, prime };
    if (element.slice(0, -1).every((value) => value === 0) || !isIrreducible(field)) return null;
    const inverse = power(element, prime ** degree - 2, field);
    return {
      problem: { prime, monic, element },
      certificate: inverse.join(", "),
      steps: degree ** 3 * Math.ceil(Math.log2(prime)),
    };
  },
  proves({ prime, monic, element }, answer) {
    const list = integersIn(answer);
    if (list === null || list.length !== element.length || list.some((value) => Math.abs(value) > MOST_VALUE))
      return false;
    const residues = list.map((value) => ((value % prime) + prime) % prime);
    return multiplyModulo(residues, element, { monic, prime }).every(
      (value, index) => value === Number(index === element.length - 1),
    );
  },
  prompts: [
    (one) =>
      `The field F with ${one.prime}^${one.element.length} elements is F_${one.prime}[t] modulo m(t) = ${polynomialText(one.monic, "t")}. Find the inverse of ${polynomialText(one.element, "t")} in F. ${listing(one)}`,
    (one) =>
      `Modulo ${one.prime} the polynomial ${polynomialText(one.monic, "t")} is irreducible. Which polynomial of degree below ${one.element.length} times ${polynomialText(one.element, "t")} leaves the remainder 1 when divided by it (coefficients modulo ${one.prime})? ${listing(one)}`,
    (one) =>
      `Let t be a root of ${polynomialText(one.monic, "t")} in an extension of the integers modulo ${one.prime}. Write 1/(${polynomialText(one.element, "t")}) as a polynomial in t. ${listing(one)}`,
    (one) =>
      `A code over GF(${one.prime}^${one.element.length}), with modulus ${polynomialText(one.monic, "t")}, needs the multiplicative inverse of the symbol ${polynomialText(one.element, "t")}. ${listing(one)}`,
  ],
  slips({ prime, element }, certificate) {
    const list = certificate.split(", ").map(Number);
    return [
      element.join(", "),
      list.map((value) => (prime - value) % prime).join(", "),
      list.toReversed().join(", "),
      `0, ${certificate}`,
    ];
  },
  variants: ({ prime }, certificate) => [
    certificate
      .split(", ")
      .map((value) => Number(value) - prime)
      .join(" "),
  ],
});

interface Ring {
  monic: readonly number[];
  prime: number;
}

/** By Rabin: t^(p^n) = t, and t^(p^d) - t shares no factor for the largest proper divisors d. Degrees here are 2 to 5. */
function isIrreducible(field: Ring): boolean {
  const degree = field.monic.length - 1;
  const t = range(degree).map((index) => Number(index === degree - 2));
  let image = t;
  for (const step of range(degree)) {
    image = power(image, field.prime, field);
    const isProper = step + 1 < degree && degree % (step + 1) === 0;
    const difference = image.map((value, index) => (value - at(t, index) + field.prime) % field.prime);
    if (isProper && !isUnit(difference, field)) return false;
  }
  return image.every((value, index) => value === t[index]);
}

/** Whether it shares no factor with the modulus: multiplication by it is one to one. */
function isUnit(element: readonly number[], field: Ring): boolean {
  const degree = element.length;
  const { prime } = field;
  let rows = range(degree).map((place) =>
    multiplyModulo(
      element,
      range(degree).map((index) => Number(index === place)),
      field,
    ),
  );
  for (const column of range(degree)) {
    const top = rows.find((row) => at(row, column) !== 0);
    if (top === undefined) return false;
    const inverse = numberPower(at(top, column), prime - 2, prime);
    rows = rows
      .filter((row) => row !== top)
      .map((row) => {
        const factor = (at(row, column) * inverse) % prime;
        return row.map((value, index) => (((value - factor * at(top, index)) % prime) + prime) % prime);
      });
  }
  return true;
}

function power(element: readonly number[], exponent: number, field: Ring): number[] {
  let result = element.map((_, index) => Number(index === element.length - 1));
  let square = [...element];
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiplyModulo(result, square, field);
    square = multiplyModulo(square, square, field);
  }
  return result;
}

function numberPower(base: number, exponent: number, prime: number): number {
  let result = 1;
  for (const _ of range(exponent)) result = (result * base) % prime;
  return result;
}

function listing({ element }: Problem): string {
  return `Give its ${element.length} coefficients from t^${element.length - 1} down to the constant, zeros included, with commas between.`;
}
