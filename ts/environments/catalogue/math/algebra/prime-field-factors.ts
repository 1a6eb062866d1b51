/** prime-field-factors: the irreducible factors of a polynomial modulo a prime; they are multiplied and counted. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { tableIn } from "../certificate-text.ts";
import { multiply, polynomialText } from "../polynomials/polynomial.ts";

interface Problem {
  prime: number;
  /** Monic, the highest power first. */
  product: number[];
  count: number;
}

/** By level: primes, degrees of the factors. */
const SIZES = [
  [
    [5, 7, 11],
    [1, 2],
  ],
  [
    [5, 7, 11],
    [2, 2],
  ],
  [
    [5, 7, 11],
    [1, 2, 3],
  ],
  [
    [7, 11, 13],
    [2, 2, 3],
  ],
  [
    [11, 13, 17],
    [2, 3, 3, 1],
  ],
] as const;
/** Larger coefficients are refused. */
const MOST_VALUE = 1e6;

export const primeFieldFactors = certificateRow<Problem>({
  id: "prime-field-factors",
  asks: "the irreducible factors of a polynomial modulo a prime",
  draw(rng, level) {
    const [primes, degrees] = at(SIZES, level - 1);
    const prime = rng.pick<number>(primes);
    const factors = degrees.map((degree) => drawIrreducible(rng, degree, prime));
    if (factors.some((factor) => factor === null)) return null;
    const all = factors.flatMap((factor) => (factor === null ? [] : [factor]));
    const product = productOf(all, prime);
    const certificate = all.map((factor) => factor.join(", ")).join("\n");
    const steps = (product.length - 1) ** 3 * degrees.length;
    return { problem: { prime, product, count: all.length }, certificate, steps };
  },
  proves({ prime, product, count }, answer) {
    const table = tableIn(answer);
    // As many factors of positive degree as there are irreducible ones are the irreducible ones.
    if (table?.length !== count || table.some((row) => row.length < 2 || row.length > product.length)) return false;
    if (table.flat().some((value) => Math.abs(value) > MOST_VALUE)) return false;
    const factors = table.map((row) => row.map((value) => ((value % prime) + prime) % prime));
    if (factors.some(([lead]) => lead === 0)) return false;
    return productOf(factors, prime).join() === product.join();
  },
  prompts: [
    (one) =>
      `Factor ${polynomialText(one.product)} completely over the field with ${one.prime} elements. ${listing(one)}`,
    (one) =>
      `Into which irreducible polynomials does ${polynomialText(one.product)} split modulo ${one.prime}? There are ${one.count}, with multiplicity. ${listing(one)}`,
    (one) =>
      `Write f(x) = ${polynomialText(one.product)}, with coefficients in Z/${one.prime}Z, as a product of as many non-constant polynomials as possible. ${listing(one)}`,
    (one) =>
      `Berlekamp's or Cantor and Zassenhaus's method would find the prime factors of ${polynomialText(one.product)} in F_${one.prime}[x]; so can you. ${listing(one)}`,
  ],
  slips({ product }, certificate) {
    const rows = certificate.split("\n");
    return [
      product.join(", "),
      rows.slice(1).join("\n"),
      rows.map((row) => row.split(", ").toReversed().join(", ")).join("\n"),
      [product.join(", "), ...rows.slice(1).map(() => "1")].join("\n"),
      [...rows, "1"].join("\n"),
      rows.map(() => rows[0]).join("\n"),
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n")],
});

function listing({ prime }: Problem): string {
  return `Write one factor on each line: its coefficients modulo ${prime} from the highest power down, zeros included, with commas.`;
}

/** Of degree 1 to 3, where having no root is enough. */
function drawIrreducible(rng: Rng, degree: number, prime: number): number[] | null {
  const factor = [
    1,
    ...range(degree).map((index) => (index === degree - 1 ? between(rng, 1, prime - 1) : rng.integer(prime))),
  ];
  const hasRoot = range(prime).some((x) => factor.reduce((sum, value) => (sum * x + value) % prime, 0) === 0);
  return degree > 1 && hasRoot ? null : factor;
}

function productOf(factors: readonly (readonly number[])[], prime: number): number[] {
  return factors.reduce<number[]>((product, factor) => multiply(product, factor).map((value) => value % prime), [1]);
}
