/** Problems whose answers take a computer: sums over primes, recurrences, counts, big remainders. Each with its exact answer. */
import type { Rng } from "../../../random/rng.ts";

export interface Problem {
  readonly text: string;
  readonly answer: string;
  /** A program in Python whose last line is the answer. */
  readonly program: string;
}

type Make = (rng: Rng) => Problem;

const between = (rng: Rng, low: number, high: number): number => low + rng.integer(high - low + 1);
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);
const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
const digitSum = (n: number): number => (n < 10 ? n : (n % 10) + digitSum(Math.floor(n / 10)));

function primesBelow(n: number): number[] {
  const isComposite = new Uint8Array(n);
  const primes: number[] = [];
  for (let p = 2; p < n; p += 1) {
    if (isComposite[p] === 1) continue;
    primes.push(p);
    for (let multiple = p * p; multiple < n; multiple += p) isComposite[multiple] = 1;
  }
  return primes;
}

const primeSum: Make = (rng) => {
  const [limit, modulus] = [between(rng, 500, 20_000), between(rng, 3, 9)];
  const remainder = between(rng, 1, modulus - 1);
  const sum = primesBelow(limit)
    .filter((p) => p % modulus === remainder)
    .reduce((total, p) => total + p, 0);
  return {
    text: `What is the sum of all primes below ${limit} that leave the remainder ${remainder} when divided by ${modulus}?`,
    answer: String(sum),
    program: `sum(p for p in range(2, ${limit}) if p % ${modulus} == ${remainder} and all(p % q for q in range(2, int(p ** 0.5) + 1)))`,
  };
};

const coprimeDigits: Make = (rng) => {
  const [limit, number, k] = [between(rng, 1_000, 50_000), between(rng, 6, 400), between(rng, 2, 9)];
  const count = upTo(limit).filter((n) => gcd(n, number) === 1 && digitSum(n) % k === 0).length;
  return {
    text: `How many whole numbers from 1 to ${limit} share no divisor above 1 with ${number} and have a digit sum divisible by ${k}?`,
    answer: String(count),
    program: `from math import gcd\nsum(gcd(n, ${number}) == 1 and sum(map(int, str(n))) % ${k} == 0 for n in range(1, ${limit} + 1))`,
  };
};

const recurrence: Make = (rng) => {
  const [a, b, c, n] = [between(rng, 2, 9), between(rng, 1, 9), between(rng, 0, 20), between(rng, 200, 5_000)];
  const modulus = between(rng, 1_000, 1_000_000);
  let [before, last] = [1, 1];
  for (let i = 3; i <= n; i += 1) [before, last] = [last, (a * last + b * before + c) % modulus];
  return {
    text: `A sequence begins with 1, 1. Each further term is ${a} times the one before it, plus ${b} times the one before that, plus ${c}. What is the remainder of its term number ${n} when divided by ${modulus}?`,
    answer: String(last % modulus),
    program: `x, y = 1, 1\nfor i in range(3, ${n} + 1):\n    x, y = y, (${a} * y + ${b} * x + ${c}) % ${modulus}\n\ny`,
  };
};

const partitions: Make = (rng) => {
  const [n, largest] = [between(rng, 40, 120), between(rng, 4, 12)];
  const ways: bigint[] = Array.from({ length: n + 1 }, (_, i) => (i === 0 ? 1n : 0n));
  for (const part of upTo(largest)) {
    for (let sum = part; sum <= n; sum += 1) ways[sum] = (ways[sum] ?? 0n) + (ways[sum - part] ?? 0n);
  }
  return {
    text: `In how many ways can ${n} be written as a sum of whole numbers from 1 to ${largest}, when the order of the summands does not matter?`,
    answer: String(ways[n]),
    program: `from functools import lru_cache\n@lru_cache(None)\ndef ways(n, k):\n    if n == 0: return 1\n    if n < 0 or k == 0: return 0\n    return ways(n - k, k) + ways(n, k - 1)\n\nways(${n}, ${largest})`,
  };
};

const bigRemainder: Make = (rng) => {
  const [base, exponent, modulus] = [between(rng, 3, 99), between(rng, 100, 9_999), between(rng, 1_000, 999_999)];
  let result = 1n;
  for (let i = 0; i < exponent; i += 1) result = (result * BigInt(base)) % BigInt(modulus);
  return {
    text: `What is the remainder of ${base}^${exponent} when divided by ${modulus}?`,
    answer: String(result),
    program: `pow(${base}, ${exponent}, ${modulus})`,
  };
};

const latticePoints: Make = (rng) => {
  const [radius, a, b] = [between(rng, 20, 200), between(rng, 1, 5), between(rng, 1, 5)];
  let count = 0;
  for (let x = -radius; x <= radius; x += 1) {
    for (let y = -radius; y <= radius; y += 1) if (a * x * x + b * y * y <= radius * radius) count += 1;
  }
  return {
    text: `How many pairs (x, y) of whole numbers, negative ones included, fulfil ${a}x^2 + ${b}y^2 <= ${radius * radius}?`,
    answer: String(count),
    program: `r = ${radius}\nsum(${a} * x * x + ${b} * y * y <= r * r for x in range(-r, r + 1) for y in range(-r, r + 1))`,
  };
};

const chance: Make = (rng) => {
  const [dice, sides] = [between(rng, 2, 5), rng.pick([4, 6, 8, 10])];
  const target = between(rng, dice + 1, dice * sides - 1);
  let sums = new Map([[0, 1]]);
  for (let i = 0; i < dice; i += 1) {
    const next = new Map<number, number>();
    for (const [sum, ways] of sums) {
      for (const side of upTo(sides)) next.set(sum + side, (next.get(sum + side) ?? 0) + ways);
    }
    sums = next;
  }
  const [ways, all] = [sums.get(target) ?? 0, sides ** dice];
  const common = gcd(ways, all);
  return {
    text: `${dice} fair dice with ${sides} sides each (1 to ${sides}) are thrown. What is the probability that they show ${target} in sum? Answer with a fraction.`,
    answer: `\\frac{${ways / common}}{${all / common}}`,
    program: `from fractions import Fraction\nfrom itertools import product\nstr(Fraction(sum(sum(d) == ${target} for d in product(range(1, ${sides + 1}), repeat=${dice})), ${sides} ** ${dice}))`,
  };
};

const divisorSum: Make = (rng) => {
  const [from, length] = [between(rng, 1_000, 90_000), between(rng, 20, 400)];
  let most = 0;
  let best = from;
  for (let n = from; n < from + length; n += 1) {
    let sum = 0;
    for (let d = 1; d * d <= n; d += 1) if (n % d === 0) sum += d * d === n ? d : d + n / d;
    if (sum > most) [most, best] = [sum, n];
  }
  return {
    text: `Which whole number from ${from} to ${from + length - 1} has the largest sum of divisors? (The smallest of several.)`,
    answer: String(best),
    program: `def s(n): return sum(d + (n // d if d * d < n else 0) for d in range(1, int(n ** 0.5) + 1) if n % d == 0)\n\nmax(range(${from}, ${from + length}), key=s)`,
  };
};

const ALL: readonly Make[] = [
  primeSum,
  coprimeDigits,
  recurrence,
  partitions,
  bigRemainder,
  latticePoints,
  chance,
  divisorSum,
];

export function makeProblem(rng: Rng): Problem {
  return rng.pick(ALL)(rng);
}
