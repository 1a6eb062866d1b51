/** full-factorisation: the prime factors of a number; they are tested and multiplied. */
import { sample } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { isPrime, primesTo } from "../number-theory.ts";

interface Problem {
  number: number;
}

/** By level: least and greatest prime, factors. */
const SIZES = [
  [3, 30, 3],
  [11, 70, 3],
  [40, 200, 3],
  [150, 600, 3],
  [500, 1_500, 3],
] as const;

const PRIMES = primesTo(1_500);

export const fullFactorisation = certificateRow<Problem>({
  id: "full-factorisation",
  asks: "the prime factors of a number without small factors",
  draw(rng, level) {
    const [least, most, count] = at(SIZES, level - 1);
    const pool = PRIMES.filter((prime) => prime >= least && prime <= most);
    const factors = sample(pool, count, rng);
    // Now and then a prime is there twice.
    if (rng.integer(4) === 0) factors[0] = at(factors, 1);
    factors.sort((a, b) => a - b);
    return {
      problem: { number: factors.reduce((product, factor) => product * factor, 1) },
      certificate: factors.join(", "),
      // Trial division ends with the second largest factor.
      steps: at(factors, 1),
    };
  },
  proves({ number }, answer) {
    const factors = integersIn(answer);
    if (factors === null || factors.length < 2 || factors.length > 60) return false;
    if (factors.some((factor) => factor < 2 || number % factor !== 0)) return false;
    return (
      factors.reduce((product, factor) => product * BigInt(factor), 1n) === BigInt(number) && factors.every(isPrime)
    );
  },
  prompts: [
    (one) =>
      `Factor ${one.number} into primes. List all prime factors, a repeated one as often as it divides, separated by commas.`,
    (one) =>
      `Which prime numbers have the product ${one.number}? Write every one of them (with repetition, where a square divides) with commas between.`,
    (one) =>
      `The integer n = ${one.number} is composite and has no tiny divisors to spare. State its complete prime factorisation as a comma-separated list of primes that multiply to n.`,
    (one) =>
      `A toy key has the modulus ${one.number}. Break it: give the primes of which it is the product, any order, commas between them, equal primes repeated.`,
  ],
  slips({ number }, certificate) {
    const [first = 1, second = 1, ...rest] = certificate.split(", ").map(Number);
    return [`1, ${number}`, [first * second, ...rest].join(", "), [first, second].join(", "), `1, ${certificate}`];
  },
  variants: (_, certificate) => [certificate.split(", ").toReversed().join(" ")],
});
