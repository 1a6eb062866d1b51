/** corrupted-evaluations: the polynomial over a prime field that agrees with all but a few of its stated values. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { binomial, inverseMod } from "../number-theory.ts";

interface Problem {
  prime: number;
  /** Values at 0, 1, 2, ...; some of them are wrong. */
  values: number[];
  /** Coefficients of the polynomial. */
  size: number;
  errors: number;
}

/** By level: primes, coefficients, errors. */
const SIZES = [
  [[7, 11], 2, 1],
  [[11, 13], 3, 1],
  [[13, 17], 3, 2],
  [[17, 19], 4, 2],
  [[23, 29], 5, 3],
] as const;

export const corruptedEvaluations = exactRow<Problem>({
  id: "corrupted-evaluations",
  asks: "the polynomial over a prime field that agrees with all but a few stated values",
  kind: "tuple",
  draw(rng, level) {
    const [primes, size, errors] = at(SIZES, level - 1);
    const prime = rng.pick<number>(primes);
    const polynomial = range(size).map(() => between(rng, 1, prime - 1));
    const values = range(size + 2 * errors).map((x) => valueOf(polynomial, x, prime));
    for (const place of sample(range(values.length), errors, rng))
      values[place] = (at(values, place) + between(rng, 1, prime - 1)) % prime;
    return { prime, values, size, errors };
  },
  solve(problem) {
    const found = decoded(problem);
    const { values, size, errors } = problem;
    return found === null
      ? null
      : { value: found.join(", "), steps: Number(binomial(values.length, size)) * size ** 2 * errors };
  },
  prompts: [
    (one) =>
      `A polynomial f of degree at most ${one.size - 1} over the integers modulo ${one.prime} was evaluated at 0, 1, ..., ${one.values.length - 1}. The values came back as ${one.values.join(", ")}, but up to ${one.errors} of them are wrong. Recover f. ${listing(one)}`,
    (one) =>
      `Decode the Reed-Solomon word (${one.values.join(", ")}) over GF(${one.prime}) with evaluation points 0 to ${one.values.length - 1}, message length ${one.size}, and at most ${one.errors} error(s). The message is the coefficient list of the polynomial. ${listing(one)}`,
    (one) =>
      `Modulo ${one.prime}, exactly one polynomial with ${one.size} coefficients agrees with the sequence ${one.values.join(", ")} (values at x = 0, 1, 2, ...) in at least ${one.values.length - one.errors} places. ${listing(one)}`,
    (one) =>
      `Shares of a secret polynomial (degree below ${one.size}, arithmetic modulo ${one.prime}) were handed to persons 0, 1, ..., ${one.values.length - 1}: ${one.values.join(", ")}. At most ${one.errors} person(s) lie about the share. Find the polynomial from this. ${listing(one)}`,
  ],
  slips(problem, value) {
    const { prime, size } = problem;
    const list = value.split(", ").map(Number);
    const first = interpolated(problem, range(size));
    const last = interpolated(
      problem,
      range(size).map((index) => problem.values.length - size + index),
    );
    return [first, last, list.toReversed(), list.map((entry) => (prime - entry) % prime)].map((one) => one.join(", "));
  },
});

function listing({ size, prime }: Problem): string {
  return `Give its ${size} coefficients from 0 to ${prime - 1}, the constant first, then that of x, and so on, with commas.`;
}

/** The constant first. */
function valueOf(polynomial: readonly number[], x: number, prime: number): number {
  return polynomial.reduceRight((sum, factor) => (sum * x + factor) % prime, 0);
}

/** The first choice of points whose polynomial agrees with enough values; null where more than one does. */
function decoded(problem: Problem): number[] | null {
  const { values, size, errors, prime } = problem;
  let found: number[] | null = null;
  const choose = (from: number, places: readonly number[]): void => {
    if (found !== null) return;
    if (places.length < size) {
      for (const place of range(values.length).slice(from)) choose(place + 1, [...places, place]);
      return;
    }
    const polynomial = interpolated(problem, places);
    const wrong = values.filter((value, x) => valueOf(polynomial, x, prime) !== value).length;
    if (wrong <= errors) found = polynomial;
  };
  choose(0, []);
  return found;
}

/** Lagrange's polynomial through the values at these places. */
function interpolated({ values, prime, size }: Problem, places: readonly number[]): number[] {
  const sum = range(size).map(() => 0);
  for (const place of places) {
    let [basis, below] = [[1], 1];
    for (const other of places) {
      if (other === place) continue;
      basis = [...basis, 0].map(
        (_, power) => (((basis[power - 1] ?? 0) - other * (basis[power] ?? 0)) % prime) + prime,
      );
      below = (below * (place - other)) % prime;
    }
    const factor = at(values, place) * Number(inverseMod(BigInt(below), BigInt(prime)) ?? 0n);
    for (const power of range(size)) sum[power] = (at(sum, power) + factor * at(basis, power)) % prime;
  }
  return sum;
}
