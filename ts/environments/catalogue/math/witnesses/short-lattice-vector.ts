/** short-lattice-vector: a short vector of a lattice that is given by long ones; membership and length are checked. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { drawUnimodular, type Matrix, matrixText, product } from "../linear-algebra/matrices.ts";
import { ratio, solveLinear } from "../rational.ts";

interface Problem {
  basis: Matrix;
  /** Greatest squared length. */
  bound: number;
}

/** By level: dimension, entries of the short basis, row operations. */
const SIZES = [
  [2, 4, 6],
  [2, 12, 12],
  [3, 7, 14],
  [3, 14, 26],
  [4, 10, 40],
] as const;

const REACH = 2;

export const shortLatticeVector = certificateRow<Problem>({
  id: "short-lattice-vector",
  asks: "a short nonzero vector of a lattice that long vectors generate",
  draw(rng, level) {
    const [size, most, steps] = at(SIZES, level - 1);
    const short = range(size).map(() => range(size).map(() => between(rng, -most, most)));
    const best = shortestOf(short);
    const basis = product(drawUnimodular(rng, size, steps), short);
    const bound = lengthOf(best);
    if (
      solveLinear(
        basis.map((row) => row.map((entry) => ratio(entry))),
        range(size).map(() => ratio(1)),
      ) === null
    )
      return null;
    // No given vector, and no sum or difference of two, is short.
    const easy = basis.flatMap((a, index) => [
      a,
      ...basis.slice(index + 1).flatMap((b) => [sum(a, b, 1), sum(a, b, -1)]),
    ]);
    if (bound < 3 || easy.some((vector) => lengthOf(vector) <= bound)) return null;
    const digits = basis.flat().reduce((all, entry) => all + String(Math.abs(entry)).length, 0);
    return { problem: { basis, bound }, certificate: best.join(", "), steps: size ** 3 * digits };
  },
  proves({ basis, bound }, answer) {
    const vector = integersIn(answer);
    if (vector === null || vector.length !== basis.length || lengthOf(vector) > bound || lengthOf(vector) === 0)
      return false;
    const solved = solveLinear(
      range(basis.length).map((column) => basis.map((row) => ratio(at(row, column)))),
      vector.map((entry) => ratio(entry)),
    );
    return solved !== null && solved.every(({ n, d }) => n % d === 0n);
  },
  prompts: [
    (one) =>
      `The integer combinations of the rows\n${matrixText(one.basis)}\nform a lattice. Find a vector of it, other than zero, whose squared length is at most ${one.bound}. Give its ${one.basis.length} coordinates, separated by commas.`,
    (one) =>
      `A basis of a lattice in dimension ${one.basis.length} consists of\n${matrixText(one.basis)}\nReduce it: which nonzero lattice vector has a sum of squares of its coordinates of no more than ${one.bound}? Write the coordinates with commas between.`,
    (one) =>
      `You may add and subtract the vectors below any number of times.\n${matrixText(one.basis)}\nReach a point different from the origin with x_1^2 + x_2^2 + ... <= ${one.bound}, and state it as a comma-separated list.`,
    (one) =>
      `Somewhere in the lattice spanned over the integers by\n${matrixText(one.basis)}\nthere is a very short vector: its norm squared does not exceed ${one.bound} (and is not 0). Answer with such a vector, coordinates comma-separated.`,
  ],
  slips({ basis }, certificate) {
    const vector = certificate.split(", ").map(Number);
    return [
      at(basis, 0).join(", "),
      vector.map(() => 0).join(", "),
      vector.map(() => 1).join(", "),
      vector.map((entry) => 2 * entry).join(", "),
      vector.toReversed().join(", "),
    ];
  },
  variants: (_, certificate) => [
    `(${certificate
      .split(", ")
      .map((entry) => -Number(entry))
      .join(", ")})`,
  ],
});

/** Among small combinations of vectors that are short already. */
function shortestOf(short: Matrix): number[] {
  let factors: number[][] = [[]];
  for (const _ of short)
    factors = factors.flatMap((list) => range(2 * REACH + 1).map((index) => [...list, index - REACH]));
  const vectors = product(factors, short).filter((vector) => lengthOf(vector) > 0);
  return vectors.reduce((best, vector) => (lengthOf(vector) < lengthOf(best) ? vector : best), at(short, 0));
}

function lengthOf(vector: readonly number[]): number {
  return vector.reduce((all, entry) => all + entry * entry, 0);
}

function sum(a: readonly number[], b: readonly number[], sign: number): number[] {
  return a.map((entry, index) => entry + sign * at(b, index));
}
