/** Equations in whole numbers against searches through all candidates. */
import { diophantine } from "../../../../../ts/environments/catalogue/math/diophantine/index.ts";
import { type BruteForce, compareWith } from "./against-brute-force.ts";

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

function setText(values: Iterable<number>): string {
  return [...new Set(values)].toSorted((a, b) => a - b).join(", ");
}

/** The rows whose answer is one value; certificates are checked against their problems anyway. */
const METHODS: Readonly<Record<string, BruteForce>> = {
  "pell-solutions": [
    2,
    ({ d, n, above }: { d: number; n: number; above: string }) => {
      for (let y = 1; y < 200_000; y++) {
        const x = Math.round(Math.sqrt(n + d * y * y));
        if (x > Number(above) && x * x - d * y * y === n) return `${x}, ${y}`;
      }
      return null;
    },
  ],
  "right-triangle-census": [
    1,
    ({ part, size }: { part: string; size: number }) => {
      // A leg is below half of the square of the other leg; an inradius allows legs up to 2r(r + 1).
      const most = part === "leg" ? (size * size) / 2 : 2 * size * (size + 1) + 2 * size;
      const found = upTo(Math.floor(most) + 1).flatMap((a) =>
        (part === "leg" ? [size] : upTo(Math.min(a, 4 * size) + 1)).flatMap((b) => {
          const c = Math.round(Math.hypot(a, b));
          const isTriangle = a > 0 && b > 0 && c * c === a * a + b * b;
          return isTriangle && (part === "leg" || a + b - c === 2 * size) ? [c] : [];
        }),
      );
      return setText(found);
    },
  ],
  "factored-equation-solutions": [
    3,
    ({ a, b, c, d }: { a: number; b: number; c: number; d: number }) => {
      const bound = Math.abs(a * d + b * c) + Math.abs(c) + 1;
      const places = upTo(2 * bound + 1).map((index) => index - bound);
      return setText(places.filter((x) => a * x + c !== 0 && Number.isInteger((d - b * x) / (a * x + c))));
    },
  ],
  "sum-of-squares-ways": [
    3,
    ({ n, m }: { n: number; m: number }) => {
      const places = upTo(Math.floor(Math.sqrt(n)) + 1);
      return setText(places.filter((x) => places.some((y) => x * x + m * y * y === n && (m > 1 || x >= y))));
    },
  ],
  "progression-sums": [
    2,
    ({ total, step }: { total: number; step: number }) => {
      const isSum = (first: number): boolean => {
        let [sum, term, count] = [0, first, 0];
        for (; sum < total; term += step, count++) sum += term;
        return sum === total && count > 1;
      };
      return setText(
        upTo(total)
          .slice(1)
          .filter((first) => isSum(first)),
      );
    },
  ],
  "class-number": [
    2,
    ({ size }: { size: number }) => {
      const gcd = (x: number, y: number): number => (y === 0 ? Math.abs(x) : gcd(y, x % y));
      let count = 0;
      for (let a = 1; 3 * a * a <= size; a++) {
        for (let b = -a + 1; b <= a; b++) {
          const c = (b * b + size) / (4 * a);
          if (Number.isInteger(c) && c >= a && (c > a || b >= 0) && gcd(gcd(a, b), c) === 1) count += 1;
        }
      }
      return String(count);
    },
  ],
  "hensel-root": [
    3,
    ({
      polynomial,
      prime,
      exponent,
      start,
    }: {
      polynomial: number[];
      prime: number;
      exponent: number;
      start: number;
    }) => {
      const modulus = BigInt(prime ** exponent);
      const places = upTo(prime ** (exponent - 1)).map((index) => BigInt(start + index * prime));
      const isRoot = (x: bigint): boolean =>
        polynomial.reduce((sum, factor) => (sum * x + BigInt(factor)) % modulus, 0n) === 0n;
      return places.filter((x) => isRoot(x)).join(", ") || null;
    },
  ],
  "form-reduction": [
    2,
    ({ form: [a, b, c] }: { form: [number, number, number] }) => {
      // The least value is A, the least value at a vector that completes the first one to a basis is C.
      const value = (x: number, y: number): number => a * x * x + b * x * y + c * y * y;
      const most = 60;
      const vectors = upTo(2 * most + 1).flatMap((x) => upTo(most + 1).map((y) => [x - most, y] as const));
      const nonzero = vectors.filter(([x, y]) => x !== 0 || y !== 0);
      const least = nonzero.reduce((one, other) => (value(...other) < value(...one) ? other : one));
      const found = new Set<string>();
      for (const [p, q] of [least, [-least[0], -least[1]] as const]) {
        const mates = vectors.filter(([x, y]) => p * y - q * x === 1);
        for (const [x, y] of mates) {
          const middle = 2 * a * p * x + b * (p * y + q * x) + 2 * c * q * y;
          const [first, last] = [value(p, q), value(x, y)];
          if (-first < middle && middle <= first && first <= last && (first < last || middle >= 0))
            found.add([first, middle, last].join(", "));
        }
      }
      return found.size === 1 ? ([...found][0] ?? null) : null;
    },
  ],
};

compareWith({ id: diophantine.id, rows: diophantine.rows.filter(({ id }) => id in METHODS) }, METHODS);
