/** modular-group-word: a matrix of determinant 1 as a product of shears and quarter turns; it is multiplied out. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";

type Entries = readonly [bigint, bigint, bigint, bigint];

interface Problem {
  /** Row by row, as decimal digits. */
  matrix: string[];
  /** Exponents in the answer, at most. */
  most: number;
}

/** By level: exponents, largest of them. */
const SIZES = [
  [3, 4],
  [4, 5],
  [6, 6],
  [8, 8],
  [11, 9],
] as const;
/** Larger exponents are refused. */
const LARGEST = 10_000;

export const modularGroupWord = certificateRow<Problem>({
  id: "modular-group-word",
  asks: "a matrix of determinant 1 as a product of shears and quarter turns",
  draw(rng, level) {
    const [count, largest] = at(SIZES, level - 1);
    const exponents = range(count).map((index) => {
      const isInner = index > 0 && index < count - 1;
      return between(rng, isInner ? 2 : 1, largest) * rng.pick([1, -1]);
    });
    const matrix = productOf(exponents).map(String);
    return {
      problem: { matrix, most: count + 2 },
      certificate: exponents.join(", "),
      steps: count * matrix.join("").length,
    };
  },
  proves({ matrix, most }, answer) {
    const exponents = integersIn(answer);
    if (exponents === null || exponents.length > most) return false;
    if (exponents.some((exponent) => Math.abs(exponent) > LARGEST)) return false;
    return productOf(exponents).every((entry, index) => String(entry) === matrix[index]);
  },
  prompts: [
    (one) =>
      `With T = [1, 1; 0, 1] and S = [0, -1; 1, 0], write the matrix ${matrixText(one)} as T^a S T^b S T^c ... S T^z with integer exponents (powers of T with one S between neighbours, at most ${one.most} powers). ${FORMAT}`,
    (one) =>
      `Decompose ${matrixText(one)}, an element of SL(2, Z), in the generators S: [0, -1; 1, 0] and T: [1, 1; 0, 1]. The word has to alternate: a power of T, S, a power of T, S, ..., a power of T; it may have up to ${one.most} powers of T, negative and zero exponents included. ${FORMAT}`,
    (one) =>
      `${FORMAT} Between two of the powers of T = [1, 1; 0, 1] stands one S = [0, -1; 1, 0]; there may be at most ${one.most} powers; the product, signs included, must be ${matrixText(one)} (rows are divided by the semicolon).`,
    (one) =>
      `The Moebius map of ${matrixText(one)} is built from shifts z -> z + k and inversions z -> -1/z in alternation, shift first and last, with ${one.most} shifts or fewer. Find the amounts k from left to right, such that the product of the shift matrices [1, k; 0, 1] and, between them, [0, -1; 1, 0] is exactly this matrix (not its negative). ${FORMAT}`,
  ],
  slips(_, certificate) {
    const list = certificate.split(", ").map(Number);
    return [
      list.toReversed().join(", "),
      list.map((exponent) => -exponent).join(", "),
      list.slice(1).join(", "),
      [...list, 0, 0].join(", "),
      list.map(Math.abs).join(", "),
    ];
  },
  variants: (_, certificate) => [`(${certificate})`],
});

const FORMAT = "Answer with the exponents from left to right, separated by commas.";

function matrixText({ matrix: [a, b, c, d] }: Problem): string {
  return `[${a}, ${b}; ${c}, ${d}]`;
}

/** T^a S T^b S ... from the left. */
function productOf(exponents: readonly number[]): Entries {
  let entries: Entries = [1n, 0n, 0n, 1n];
  for (const [index, exponent] of exponents.entries()) {
    let [a, b, c, d] = entries;
    if (index > 0) [a, b, c, d] = [b, -a, d, -c];
    const shift = BigInt(exponent);
    entries = [a, a * shift + b, c, c * shift + d];
  }
  return entries;
}
