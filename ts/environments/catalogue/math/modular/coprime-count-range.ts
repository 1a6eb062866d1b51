/** coprime-count-range: numbers of a range that are coprime to one number and in a residue class of another. */
import { between, sample } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { inverseMod, mod } from "../number-theory.ts";

interface Problem {
  from: string;
  to: string;
  /** Primes of the number to which they are coprime. */
  primes: number[];
  residue: number;
  modulus: number;
}

/** By level: primes, largest prime, digits of the range's end. */
const SIZES = [
  [2, 7, 2],
  [3, 11, 3],
  [3, 17, 5],
  [5, 23, 8],
  [7, 37, 14],
] as const;
/** Digits that are drawn; zeros follow. */
const MOST_DRAWN = 8;
const PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

export const coprimeCountRange = exactRow<Problem>({
  id: "coprime-count-range",
  asks: "how many numbers of a range are coprime to a number and in a residue class",
  kind: "integer",
  draw(rng, level) {
    const [count, largest, digits] = at(SIZES, level - 1);
    const primes = sample(
      PRIMES.filter((prime) => prime <= largest),
      count,
      rng,
    ).toSorted((a, b) => a - b);
    const modulus = level === 1 ? 1 : between(rng, 2, 2 + 2 * level);
    if (primes.some((prime) => modulus % prime === 0)) return null;
    const head = Math.min(digits, MOST_DRAWN);
    const end = BigInt(between(rng, 10 ** (head - 1), 10 ** head - 1)) * 10n ** BigInt(digits - head);
    const to = end + BigInt(rng.integer(1_000));
    const from = to / BigInt(between(rng, 2, 9));
    return { from: String(from), to: String(to), primes, residue: rng.integer(modulus), modulus };
  },
  solve(problem) {
    const { from, to, primes, modulus, residue } = problem;
    let [total, steps] = [0n, 0];
    // Inclusion and exclusion over products of the primes.
    for (let set = 0; set < 1 << primes.length; set++) {
      const chosen = primes.filter((_, index) => (set & (1 << index)) !== 0);
      const product = chosen.reduce((all, prime) => all * BigInt(prime), 1n);
      const [m, r] = [BigInt(modulus), BigInt(residue)];
      // Multiples product·t with product·t ≡ r: t ≡ r·product⁻¹.
      const first = modulus === 1 ? 0n : mod(r * (inverseMod(product, m) ?? 0n), m) * product;
      const step = product * m;
      const upTo = (bound: bigint): bigint => (bound < first ? 0n : (bound - first) / step + 1n);
      const count = upTo(BigInt(to)) - upTo(BigInt(from) - 1n);
      total += chosen.length % 2 === 0 ? count : -count;
      steps += 1;
    }
    return total < 3n ? null : { value: String(total), steps: steps * to.length };
  },
  prompts: [
    (one) =>
      `How many integers n with ${one.from} ≤ n ≤ ${one.to} are coprime to ${numberOf(one)}${one.modulus === 1 ? "" : ` and leave the remainder ${one.residue} on division by ${one.modulus}`}?`,
    (one) =>
      `Tickets are numbered from ${one.from} to ${one.to}. A ticket wins if its number shares no prime factor with ${numberOf(one)}${one.modulus === 1 ? "" : ` and is congruent to ${one.residue} modulo ${one.modulus}`}. Count the winning tickets.`,
    (one) =>
      `Count the numbers from ${one.from} up to ${one.to}, both included, that none of the primes ${one.primes.join(", ")} divides${one.modulus === 1 ? "" : `, and that are ${one.residue} more than a multiple of ${one.modulus}`}.`,
    (one) =>
      `Find the number of elements of { n : ${one.from} ≤ n ≤ ${one.to}, gcd(n, ${numberOf(one)}) = 1${one.modulus === 1 ? "" : `, n ≡ ${one.residue} mod ${one.modulus}`} }.`,
  ],
  slips({ from, to, primes, modulus }, value) {
    const width = BigInt(to) - BigInt(from) + 1n;
    const [kept, all] = primes.reduce(
      ([a, b], prime) => [a * BigInt(prime - 1), b * BigInt(prime)],
      [1n, BigInt(modulus)],
    );
    return [(width * kept) / all, (width * kept) / all + 1n, width / BigInt(modulus) - BigInt(value)];
  },
});

function numberOf({ primes }: Problem): number {
  return primes.reduce((product, prime) => product * prime, 1);
}
