/** hensel-root: the root of a polynomial modulo a high power of a prime, lifted from a root modulo the prime. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { inverseMod, mod } from "../number-theory.ts";
import { derivative, polynomialText } from "../polynomials/polynomial.ts";

interface Problem {
  /** The highest power first. */
  polynomial: number[];
  prime: number;
  exponent: number;
  start: number;
}

/** By level: degree, primes, exponent. */
const SIZES = [
  [2, [5, 7, 11], 2],
  [3, [5, 7, 11, 13], 3],
  [3, [7, 11, 13], 5],
  [4, [7, 11, 13, 17], 7],
  [5, [11, 13, 17, 19], 11],
] as const;

export const henselRoot = exactRow<Problem>({
  id: "hensel-root",
  asks: "the root of a polynomial modulo a high power of a prime that lies above a given root modulo the prime",
  kind: "integer",
  draw(rng, level) {
    const [degree, primes, exponent] = at(SIZES, level - 1);
    const prime = rng.pick(primes);
    const upper = range(degree).map((index) => (index === 0 ? 1 : between(rng, -6, 6)));
    const start = between(rng, 1, prime - 1);
    const missing = Number(mod(-valueOf([...upper, 0], BigInt(start)), BigInt(prime)));
    const polynomial = [...upper, missing - prime * rng.integer(3)];
    const isSimple = mod(valueOf(derivative(polynomial), BigInt(start)), BigInt(prime)) !== 0n;
    return isSimple ? { polynomial, prime, exponent, start } : null;
  },
  solve(problem) {
    const { prime, exponent, polynomial } = problem;
    const root = lifted(problem);
    if (root < BigInt(prime) || root > BigInt(prime) ** BigInt(exponent) - BigInt(prime)) return null;
    return { value: String(root), steps: exponent ** 2 * polynomial.length };
  },
  prompts: [
    (one) =>
      `Let f(x) = ${polynomialText(one.polynomial)}. Then ${one.prime} divides f(${one.start}). Lift this root: which x with 0 ≤ x < ${one.prime}^${one.exponent} and x ≡ ${one.start} (mod ${one.prime}) makes f(x) divisible by ${one.prime}^${one.exponent}?`,
    (one) =>
      `Modulo ${one.prime} the polynomial ${polynomialText(one.polynomial)} has the simple root ${one.start}. Find its unique lift modulo ${one.prime}^${one.exponent} (the least non-negative residue).`,
    (one) =>
      `By Hensel's lemma there is exactly one ${one.prime}-adic integer that is congruent to ${one.start} modulo ${one.prime} and a zero of ${polynomialText(one.polynomial)}. Give its residue modulo ${one.prime}^${one.exponent} as an integer from 0 on.`,
    (one) =>
      `Solve ${polynomialText(one.polynomial)} ≡ 0 (mod ${one.prime}^${one.exponent}) for the x that leaves the remainder ${one.start} when divided by ${one.prime}; x is at least 0 and less than the modulus.`,
  ],
  slips(problem) {
    const root = lifted(problem);
    const [shorter, modulus] = [
      lifted({ ...problem, exponent: problem.exponent - 1 }),
      BigInt(problem.prime) ** BigInt(problem.exponent),
    ];
    return [shorter, modulus - root, root + BigInt(problem.prime), problem.start];
  },
});

function valueOf(polynomial: readonly number[], x: bigint): bigint {
  return polynomial.reduce((sum, factor) => sum * x + BigInt(factor), 0n);
}

/** Newton's step with the inverse of the slope at the start, one digit at a time. */
function lifted({ polynomial, prime, exponent, start }: Problem): bigint {
  const p = BigInt(prime);
  const slope = inverseMod(valueOf(derivative(polynomial), BigInt(start)), p) ?? 0n;
  let [root, modulus] = [BigInt(start), p];
  for (const _ of range(exponent - 1)) {
    modulus *= p;
    root = mod(root - valueOf(polynomial, root) * slope, modulus);
  }
  return root;
}
