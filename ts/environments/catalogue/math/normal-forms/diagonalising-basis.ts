/** diagonalising-basis: a matrix of eigenvectors with their eigenvalues; it is multiplied out. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { tableIn } from "../certificate-text.ts";
import {
  bigProduct,
  determinant,
  drawUnimodularPair,
  type Matrix,
  matrixText,
  product,
} from "../linear-algebra/matrices.ts";

interface Problem {
  matrix: Matrix;
}

/** By level: size, largest eigenvalue, row operations. */
const SIZES = [
  [2, 4, 2],
  [2, 9, 5],
  [3, 5, 6],
  [4, 5, 9],
  [5, 5, 12],
] as const;
/** Larger entries are refused. */
const MOST_ENTRY = 1e9;

export const diagonalisingBasis = certificateRow<Problem>({
  id: "diagonalising-basis",
  asks: "a basis of eigenvectors of a matrix with their eigenvalues",
  draw(rng, level) {
    const [size, most, operations] = at(SIZES, level - 1);
    const values = range(size).map(() => between(rng, -most, most));
    const { matrix, inverse } = drawUnimodularPair(rng, size, operations);
    const diagonal = values.map((value, row) => values.map((_, column) => (row === column ? value : 0)));
    const conjugate = product(product(matrix, diagonal), inverse);
    if (conjugate.filter((row, r) => row.some((entry, c) => r !== c && entry !== 0)).length < Math.min(size, 2))
      return null;
    const columns = range(size).map((column) => matrix.map((row) => at(row, column)));
    const certificate = columns.map((vector, index) => [at(values, index), ...vector].join(", ")).join("\n");
    return { problem: { matrix: conjugate }, certificate, steps: size ** 3 * operations };
  },
  proves({ matrix }, answer) {
    const size = matrix.length;
    const table = tableIn(answer);
    if (table?.length !== size) return false;
    if (!table.every((row) => row.length === size + 1 && row.every((entry) => Math.abs(entry) <= MOST_ENTRY)))
      return false;
    const vectors = table.map((row) => row.slice(1));
    if (determinant(vectors) === 0n) return false;
    return table.every(([value = 0, ...vector]) =>
      bigProduct(
        matrix,
        vector.map((entry) => [entry]),
      ).every(([image = 0n], index) => image === BigInt(value) * BigInt(at(vector, index))),
    );
  },
  prompts: [
    (one) =>
      `Diagonalise\n${matrixText(one.matrix)}\nIts eigenvalues are integers, and there is a basis of eigenvectors with integer entries. ${FORMAT}`,
    (one) =>
      `Give ${one.matrix.length} linearly independent column vectors v with whole coordinates, each with an integer k, such that Mv = kv for\nM =\n${matrixText(one.matrix)}\n${FORMAT}`,
    (one) =>
      `${FORMAT} The vectors must be a basis of eigenvectors (integer coordinates) of the matrix\n${matrixText(one.matrix)}\nwhich is diagonalisable over the integers' quotients; repeated eigenvalues are listed once for each vector.`,
    (one) =>
      `Along which directions does the linear map x -> Mx only stretch? M is\n${matrixText(one.matrix)}\nand these directions span the whole space; all factors are whole numbers. Name a full set of independent directions by integer vectors. ${FORMAT}`,
  ],
  slips({ matrix }, certificate) {
    const rows = certificate.split("\n");
    const transposed = range(matrix.length).map((column) => matrix.map((row) => at(row, column)));
    return [
      rows.map(() => rows[0]).join("\n"),
      rows.map((row) => row.replace(/^[^,]*, /u, "")).join("\n"),
      rows.map((row) => row.replace(/,.*$/u, ", 0".repeat(matrix.length))).join("\n"),
      transposed.map((row, index) => [at(row, index), ...row].join(", ")).join("\n"),
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n")],
});

const FORMAT =
  "On each line write one eigenvalue and then the coordinates of an eigenvector for it, all separated by commas.";
