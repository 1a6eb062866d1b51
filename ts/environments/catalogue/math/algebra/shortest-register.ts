/** shortest-register: the shortest linear recurrence modulo a prime that produces a sequence. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { inverseMod } from "../number-theory.ts";

interface Problem {
  prime: number;
  terms: number[];
}

/** By level: primes, length of the recurrence. */
const SIZES = [
  [[7, 11], 2],
  [[5, 7, 11], 3],
  [[5, 7, 11], 4],
  [[7, 11, 13], 6],
  [[7, 11, 13], 9],
] as const;

export const shortestRegister = exactRow<Problem>({
  id: "shortest-register",
  asks: "the shortest linear recurrence modulo a prime that produces a sequence",
  kind: "tuple",
  draw(rng, level) {
    const [primes, length] = at(SIZES, level - 1);
    const prime = rng.pick<number>(primes);
    const factors = range(length).map((index) =>
      index === length - 1 ? between(rng, 1, prime - 1) : rng.integer(prime),
    );
    const terms = range(length).map(() => rng.integer(prime));
    while (terms.length < 2 * length + 1) terms.push(next(terms, factors, prime));
    return { prime, terms };
  },
  solve({ prime, terms }) {
    const factors = recurrenceOf(terms, prime);
    const length = (terms.length - 1) / 2;
    if (factors.length !== length || factors.at(-1) === 0) return null;
    return { value: factors.join(", "), steps: length ** 3 };
  },
  prompts: [
    (one) =>
      `Modulo ${one.prime}, the sequence ${one.terms.join(", ")} obeys a linear recurrence s(n) = c1·s(n-1) + c2·s(n-2) + ... + cL·s(n-L). Find the one with the smallest L. Give c1, ..., cL (from 0 to ${one.prime - 1}), with commas.`,
    (one) =>
      `A shift register over GF(${one.prime}) put out ${one.terms.join(", ")}, first term first. Determine the shortest register that does so: list its feedback coefficients, beginning with that of the latest term, as residues 0 to ${one.prime - 1}.`,
    (one) =>
      `Apply the Berlekamp-Massey algorithm to ${one.terms.join(", ")} over the integers modulo ${one.prime}. Write each new term as a combination of as few preceding terms as possible, and state the factors of the preceding term, of the term before it, and so on (residues that are not negative).`,
    (one) =>
      `Which factors c1, c2, ..., cL in {0, ..., ${one.prime - 1}}, with L minimal, predict every term after the first L of ${one.terms.join(", ")} by s(n) ≡ c1·s(n-1) + ... + cL·s(n-L) (mod ${one.prime})? Answer c1, c2, ..., cL.`,
  ],
  slips({ prime, terms }, value) {
    const factors = value.split(", ").map(Number);
    return [
      factors.map((factor) => (prime - factor) % prime),
      factors.toReversed(),
      [...factors, 0],
      recurrenceOf(terms.toReversed(), prime),
      [1, ...factors.slice(1)],
    ].map((list) => list.join(", "));
  },
});

function next(terms: readonly number[], factors: readonly number[], prime: number): number {
  return factors.reduce((sum, factor, index) => sum + factor * (terms.at(-1 - index) ?? 0), 0) % prime;
}

/** Berlekamp and Massey. */
function recurrenceOf(terms: readonly number[], prime: number): number[] {
  let [factors, old]: [number[], number[]] = [[], []];
  let [oldPlace, oldError] = [-1, 1];
  for (const [place, term] of terms.entries()) {
    const guess = factors.reduce((sum, factor, index) => sum + factor * (terms[place - 1 - index] ?? 0), 0);
    const error = (((term - guess) % prime) + prime) % prime;
    if (error === 0) continue;
    if (factors.length === 0 && oldPlace < 0) {
      [factors, oldPlace, oldError] = [range(place + 1).map(() => 0), place, error];
      continue;
    }
    const factor = (error * Number(inverseMod(BigInt(oldError), BigInt(prime)) ?? 0n)) % prime;
    // The correction: what failed at the old place, moved here.
    const correction = [
      ...range(place - oldPlace - 1).map(() => 0),
      factor,
      ...old.map((one) => (prime - ((factor * one) % prime)) % prime),
    ];
    const longer = range(Math.max(factors.length, correction.length)).map(
      (index) => ((factors[index] ?? 0) + (correction[index] ?? 0)) % prime,
    );
    if (place - factors.length > oldPlace - old.length) [old, oldPlace, oldError] = [factors, place, error];
    factors = longer;
  }
  return factors;
}
