/** factorial-valuations: zeros at the end of factorials and their quotients, in bases that are no prime. */
import { between } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { factorise } from "../number-theory.ts";

/** Trailing zeros of (top)! / ((first)! · (second)!) in a base. */
interface Problem {
  top: string;
  first: string;
  second: string;
  base: number;
}

/** By level: digits of the top, bases. */
const SIZES = [
  [2, [6, 10, 14, 15]],
  [3, [12, 18, 20, 24, 45]],
  [5, [24, 36, 40, 48, 54, 72]],
  [8, [48, 80, 96, 108, 144, 360]],
  [13, [144, 240, 288, 432, 720, 1728]],
] as const;

/** Digits that one draw gives. */
const MOST_DRAWN = 9;

export const factorialValuations = exactRow<Problem>({
  id: "factorial-valuations",
  asks: "trailing zeros of a quotient of factorials in a composite base",
  kind: "integer",
  draw(rng, level) {
    const [digits, bases] = at(SIZES, level - 1);
    // A draw has 32 bits, so that longer numbers take two.
    const head = Math.min(digits, MOST_DRAWN);
    const tail = 10 ** (digits - head);
    const drawn = between(rng, 10 ** (head - 1), 10 ** head - 1);
    const top = BigInt(drawn) * BigInt(tail) + (tail > 1 ? BigInt(rng.integer(tail)) : 0n);
    const first = level === 1 ? 0n : top / BigInt(between(rng, 3, 9)) + BigInt(rng.integer(10));
    // Without a remainder the quotient is whole; the second factorial makes it a multinomial part.
    const second = level < 3 ? 0n : (top - first) / BigInt(between(rng, 2, 5));
    return { top: String(top), first: String(first), second: String(second), base: rng.pick<number>(bases) };
  },
  solve({ top, first, second, base }) {
    let [least, steps]: [bigint | null, number] = [null, 0];
    for (const [prime, exponent] of factorise(base)) {
      const [all = 0n, a = 0n, b = 0n] = [top, first, second].map((n) => legendre(BigInt(n), BigInt(prime)));
      const zeros = (all - a - b) / BigInt(exponent);
      if (least === null || zeros < least) least = zeros;
      steps +=
        Math.ceil((top.length * 3.4) / Math.log2(prime)) * (1 + Number(first !== "0") + Number(second !== "0")) +
        exponent;
    }
    return least === null || least < 2n ? null : { value: String(least), steps };
  },
  prompts: [
    (one) => `How many zeros stand at the end of ${quotient(one)} when it is written in base ${one.base}?`,
    (one) => `Let N = ${quotient(one)}. Find the largest integer k such that ${one.base}^k divides N.`,
    (one) =>
      `The whole number ${quotient(one)} is divided by ${one.base} as often as this leaves no remainder. How often is that?`,
    (one) =>
      `Someone writes ${quotient(one)} in the number system with base ${one.base}. Count the zeros after its last digit that is not zero.`,
  ],
  slips({ top, first, second, base }) {
    const power = (prime: number): bigint =>
      legendre(BigInt(top), BigInt(prime)) -
      legendre(BigInt(first), BigInt(prime)) -
      legendre(BigInt(second), BigInt(prime));
    const primes = factorise(base).map(([prime]) => prime);
    return [
      ...primes.map(power),
      legendre(BigInt(top), BigInt(primes.at(-1) ?? 2)),
      legendre(BigInt(top), 5n),
      BigInt(top) / BigInt(base),
    ];
  },
});

/** Exponent of the prime in n! (Legendre's formula). */
function legendre(n: bigint, prime: bigint): bigint {
  let sum = 0n;
  for (let rest = n / prime; rest > 0n; rest /= prime) sum += rest;
  return sum;
}

function quotient({ top, first, second }: Problem): string {
  if (first === "0") return `${top}!`;
  return second === "0" ? `${top}! / ${first}!` : `${top}! / (${first}! · ${second}!)`;
}
