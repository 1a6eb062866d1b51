/** Polynomials as lists of coefficients, the highest power first, as prompts and answers show them; arithmetic over fractions and residues. */
import { at, range } from "../../lists.ts";
import { minus, over, plus, type Rational, ratio, times, ZERO } from "../rational.ts";

/** `2x^3 - x + 5`. */
export function polynomialText(coefficients: readonly number[], letter = "x"): string {
  const degree = coefficients.length - 1;
  const terms = coefficients.flatMap((factor, index) => {
    if (factor === 0) return [];
    const power = degree - index;
    const size = Math.abs(factor) === 1 && power > 0 ? "" : String(Math.abs(factor));
    const base = power === 0 ? "" : power === 1 ? letter : `${letter}^${power}`;
    return [`${factor < 0 ? "-" : "+"} ${size}${base}`];
  });
  if (terms.length === 0) return "0";
  return terms.join(" ").replace(/^\+ /u, "").replace(/^- /u, "-");
}

export function multiply(a: readonly number[], b: readonly number[]): number[] {
  const product = Array.from({ length: a.length + b.length - 1 }, () => 0);
  for (const [i, x] of a.entries()) for (const [j, y] of b.entries()) product[i + j] = at(product, i + j) + x * y;
  return product;
}

export function multiplyAll(factors: readonly (readonly number[])[]): number[] {
  return factors.reduce<number[]>((product, factor) => multiply(product, factor), [1]);
}

/** By Horner's scheme. */
export function valueAt(coefficients: readonly (number | bigint)[], x: Rational): Rational {
  return coefficients.reduce<Rational>((sum, factor) => plus(times(sum, x), ratio(factor)), ZERO);
}

export function derivative(coefficients: readonly number[]): number[] {
  const degree = coefficients.length - 1;
  return coefficients.slice(0, -1).map((factor, index) => factor * (degree - index));
}

/** Without leading zeros; the zero polynomial is empty. */
export function trimmed(coefficients: readonly Rational[]): Rational[] {
  const first = coefficients.findIndex(({ n }) => n !== 0n);
  return first < 0 ? [] : coefficients.slice(first);
}

/** Quotient and remainder; both trimmed. Throws RangeError for a division by the zero polynomial. */
export function divide(
  a: readonly Rational[],
  b: readonly Rational[],
): { quotient: Rational[]; remainder: Rational[] } {
  const divisor = trimmed(b);
  let rest = trimmed(a);
  const lead = at(divisor, 0);
  const quotient: Rational[] = Array.from({ length: Math.max(0, rest.length - divisor.length + 1) }, () => ZERO);
  while (rest.length >= divisor.length) {
    const factor = over(at(rest, 0), lead);
    quotient[quotient.length - 1 - (rest.length - divisor.length)] = factor;
    rest = trimmed(
      rest.map((value, index) => (index < divisor.length ? minus(value, times(factor, at(divisor, index))) : value)),
    );
  }
  return { quotient: trimmed(quotient), remainder: rest };
}

/** Number of different real roots, by Sturm's chain at both infinities. */
export function realRoots(coefficients: readonly (number | bigint)[]): number {
  const degree = coefficients.length - 1;
  let last = trimmed(coefficients.map((factor) => ratio(factor)));
  let next = trimmed(last.slice(0, -1).map((factor, index) => times(factor, ratio(degree - index))));
  const chain = [last];
  while (next.length > 0) {
    chain.push(next);
    const { remainder } = divide(last, next);
    [last, next] = [next, remainder.map((value) => times(value, ratio(-1)))];
  }
  const changes = (isNegative: boolean): number => {
    const signs = chain.map((one) => {
      const sign = at(one, 0).n > 0n ? 1 : -1;
      return isNegative && one.length % 2 === 0 ? -sign : sign;
    });
    return range(signs.length - 1).filter((index) => signs[index] !== signs[index + 1]).length;
  };
  return changes(true) - changes(false);
}

/** The product of two residues modulo a monic polynomial and a number; both have as many coefficients as the degree. */
export function multiplyModulo(
  a: readonly number[],
  b: readonly number[],
  { monic, prime }: { monic: readonly number[]; prime: number },
): number[] {
  const degree = monic.length - 1;
  const product = multiply(a, b).map((value) => value % prime);
  for (let index = 0; index + degree < product.length; index++) {
    const factor = at(product, index);
    for (let place = 0; place <= degree; place++)
      product[index + place] = (at(product, index + place) - factor * at(monic, place)) % prime;
  }
  return product.slice(-degree).map((value) => ((value % prime) + prime) % prime);
}
