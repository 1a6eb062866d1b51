/** Modular arithmetic against loops over all candidates. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { factorialValuations } from "../../../../../ts/environments/catalogue/math/modular/factorial-valuations.ts";
import { modularArithmetic } from "../../../../../ts/environments/catalogue/math/modular/index.ts";
import { LEVELS } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { compareWith } from "./against-brute-force.ts";

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
function first(holds: (n: number) => boolean, from = 0): number {
  let n = from;
  while (!holds(n)) n += 1;
  return n;
}
function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}
function phi(n: number): number {
  return upTo(n).filter((k) => gcd(k + 1, n) === 1).length;
}
function divisorsOf(n: number): number[] {
  return upTo(n)
    .map((k) => k + 1)
    .filter((k) => n % k === 0);
}
function factorial(n: number): bigint {
  return upTo(n).reduce((product, k) => product * BigInt(k + 1), 1n);
}
function powersOf(a: number, n: number): number[] {
  const powers = [1 % n];
  for (let next = a % n; next !== powers[0]; next = (next * a) % n) powers.push(next);
  return powers;
}

const PHI = upTo(1_200).map(phi);
const SIGMA = upTo(1_000).map((n) => divisorsOf(n).reduce((sum, d) => sum + d, 0));

compareWith(modularArithmetic, {
  "congruence-system": [
    3,
    ({ congruences }: { congruences: { residue: number; modulus: number }[] }) =>
      String(first((x) => congruences.every(({ residue, modulus }) => x % modulus === residue))),
  ],
  "discrete-log-classes": [
    4,
    ({ base, target, modulus }: { base: number; target: number; modulus: number }) => {
      const powers = powersOf(base, modulus);
      return `${powers.indexOf(target)}, ${powers.length}`;
    },
  ],
  "composite-square-roots": [
    4,
    ({ linear, constant, modulus }: { linear: number; constant: number; modulus: number }) =>
      upTo(modulus)
        .filter((x) => (x * x + linear * x + constant) % modulus === 0)
        .join(", "),
  ],
  "order-and-generators": [
    3,
    ({ prime, unit, above }: { prime: number; unit: number; above: number }) =>
      `${powersOf(unit, prime).length}, ${first((g) => powersOf(g, prime).length === prime - 1, above + 1)}`,
  ],
  "inverse-totient-sets": [
    1,
    ({ of, value, above }: { of: string; value: number; above: number }) =>
      upTo(1_000)
        .filter((n) => n > above && (of === "phi" ? PHI : SIGMA)[n] === value)
        .join(", "),
  ],
  "factorial-valuations": [
    2,
    ({ top, first: a, second, base }: { top: string; first: string; second: string; base: number }) => {
      let [rest, zeros] = [factorial(Number(top)) / factorial(Number(a)) / factorial(Number(second)), 0];
      for (; rest % BigInt(base) === 0n; rest /= BigInt(base)) zeros += 1;
      return String(zeros);
    },
  ],
  "binomial-mod-prime-power": [
    2,
    ({ n, k, prime, exponent }: { n: string; k: string; prime: number; exponent: number }) => {
      let row = [1n];
      const modulus = BigInt(prime) ** BigInt(exponent);
      for (let line = 0; line < Number(n); line++)
        row = [...row, 0n].map((entry, at) => (entry + (row[at - 1] ?? 0n)) % modulus);
      return String(row[Number(k)]);
    },
  ],
  "divisor-sum-of-function": [
    2,
    ({ powers, a, b, c, e }: { powers: [number, number][]; a: number; b: number; c: number; e: number }) => {
      const n = powers.reduce((product, [prime, exponent]) => product * prime ** exponent, 1);
      // Larger numbers take a loop over all numbers below too long.
      const divisors = upTo(Math.floor(Math.sqrt(n)))
        .map((k) => k + 1)
        .filter((k) => n % k === 0);
      const all = new Set([...divisors, ...divisors.map((d) => n / d)]);
      const value = (d: number): bigint => {
        const own = powers.flatMap(([prime]) =>
          upTo(60)
            .filter((k) => k > 0 && d % prime ** k === 0)
            .slice(-1)
            .map((k) => [prime, k] as const),
        );
        const tau = own.reduce((product, [, k]) => product * (k + 1), 1);
        const totient = own.reduce((product, [prime]) => (product / prime) * (prime - 1), d);
        const mu = own.some(([, k]) => k > 1) ? 0 : (-1) ** own.length;
        return (
          BigInt(d) ** BigInt(a) * BigInt(tau) ** BigInt(b) * BigInt(totient) ** BigInt(c) * BigInt(mu) ** BigInt(e)
        );
      };
      return String([...all].reduce((sum, d) => sum + value(d), 0n));
    },
  ],
  "floor-sum": [
    3,
    ({ slope, offset, divisor, terms }: { slope: number; offset: number; divisor: number; terms: number }) =>
      String(upTo(terms).reduce((sum, i) => sum + Math.floor((slope * i + offset) / divisor), 0)),
  ],
  "digit-set-multiple": [
    2,
    ({ divisor, digits }: { divisor: number; digits: number[] }) => {
      let numbers = digits.filter((digit) => digit > 0).map(BigInt);
      for (;;) {
        const found = numbers.find((n) => n % BigInt(divisor) === 0n);
        if (found !== undefined) return String(found);
        numbers = numbers.flatMap((n) => digits.map((digit) => n * 10n + BigInt(digit)));
        if (numbers.length > 40_000) return "too long for this method";
      }
    },
  ],
  "coprime-count-range": [
    3,
    ({
      from,
      to,
      primes,
      residue,
      modulus,
    }: {
      from: string;
      to: string;
      primes: number[];
      residue: number;
      modulus: number;
    }) => {
      let count = 0;
      for (let n = Number(from); n <= Number(to); n++)
        count += Number(n % modulus === residue && primes.every((prime) => n % prime !== 0));
      return String(count);
    },
  ],
  "coin-gap-numbers": [
    3,
    ({ coins }: { coins: number[] }) => {
      const payable = upTo(2_000).map(() => false);
      payable[0] = true;
      for (const n of upTo(2_000)) if (coins.some((coin) => n >= coin && payable[n - coin] === true)) payable[n] = true;
      return `${payable.lastIndexOf(false)}, ${payable.filter((one) => !one).length}`;
    },
  ],
  "sequence-period-mod": [
    4,
    (one: {
      quadratic: number;
      linear: number;
      before: number;
      constant: number;
      first: number;
      second: number;
      modulus: number;
    }) => {
      const terms = [one.first, one.second];
      while (terms.length < 600) {
        const [a = 0, b = 0] = terms.slice(-2);
        terms.push((one.quadratic * b * b + one.linear * b + one.before * a + one.constant) % one.modulus);
      }
      const repeats = (t: number, p: number): boolean =>
        terms.slice(t, 400).every((term, at) => term === terms[t + at + p]);
      const period = first((p) => repeats(200, p), 1);
      return `${first((t) => repeats(t, period))}, ${period}`;
    },
  ],
});

test("factorial-valuations: the top has as many digits as its level says", () => {
  const rng = createRng(3);
  const digits = LEVELS.map((level) =>
    Array.from({ length: 20 }, () => {
      const { instance } = drawInstance(factorialValuations, level, rng);
      return (instance as { problem: { top: string } }).problem.top.length;
    }),
  );
  expect(digits.map((lengths) => [...new Set(lengths)])).toEqual([[2], [3], [5], [8], [13]]);
});
