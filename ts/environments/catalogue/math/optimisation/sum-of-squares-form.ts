/** sum-of-squares-form: a quadratic form as positive multiples of squares of linear forms; they are expanded. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { rationalsIn } from "../certificate-text.ts";
import { compare, minus, ONE, over, plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  /** Symmetric; its entries off the diagonal count twice. */
  matrix: number[][];
}

/** By level: variables, largest factor in a square. */
const SIZES = [
  [2, 2],
  [2, 5],
  [3, 3],
  [4, 3],
  [5, 3],
] as const;
/** Certificates with longer lines are refused. */
const MOST_LENGTH = 300;

export const sumOfSquaresForm = certificateRow<Problem>({
  id: "sum-of-squares-form",
  asks: "a quadratic form as a sum of positive multiples of squares",
  draw(rng, level) {
    const [size, most] = at(SIZES, level - 1);
    const squares = range(size).map(() => range(size).map(() => between(rng, -most, most)));
    const weights = squares.map(() => between(rng, 1, 3));
    const matrix = range(size).map((row) =>
      range(size).map((column) =>
        squares.reduce((sum, square, index) => sum + at(weights, index) * at(square, row) * at(square, column), 0),
      ),
    );
    const lines = completed(matrix);
    const links = range(size).filter((row) => at(matrix, row).some((entry, column) => column !== row && entry !== 0));
    if (lines === null || links.length < size) return null;
    return {
      problem: { matrix },
      certificate: lines.map((line) => line.map(textOf).join(", ")).join("\n"),
      steps: size ** 3 * most,
    };
  },
  proves({ matrix }, answer) {
    const lines = answer.trim().split("\n");
    const size = matrix.length;
    if (lines.length > 2 * size || lines.some((line) => line.length > MOST_LENGTH)) return false;
    const parts = lines.map(rationalsIn);
    const sums = matrix.map((row) => row.map((): Rational => ZERO));
    for (const part of parts) {
      const [weight = ZERO, ...factors] = part ?? [];
      if (factors.length !== size || compare(weight, ZERO) <= 0) return false;
      for (const [row, list] of sums.entries())
        sums[row] = list.map((sum, column) => plus(sum, times(weight, times(at(factors, row), at(factors, column)))));
    }
    return sums.every((row, r) => row.every((sum, c) => compare(sum, ratio(at(at(matrix, r), c))) === 0));
  },
  prompts: [
    (one) =>
      `Prove that ${formText(one)} is never negative: write it as a sum of positive rational multiples of squares of linear forms in ${namesText(one)}. ${FORMAT}`,
    (one) =>
      `Complete the squares in ${formText(one)}. The result is w_1·(...)^2 + w_2·(...)^2 + ... with rational w_i > 0 and linear forms in ${namesText(one)} inside the brackets. ${FORMAT}`,
    (one) =>
      `${FORMAT} The weighted squares (weights positive, all numbers rational) of the linear forms in ${namesText(one)} have to add up to ${formText(one)}, identically.`,
    (one) =>
      `A quadratic form in ${namesText(one)}:\n${formText(one)}\nGive a certificate that it is positive semidefinite, namely positive numbers and linear forms, so that the form is the sum of each number times the square of its linear form. ${FORMAT}`,
  ],
  slips({ matrix }, certificate) {
    const lines = certificate.split("\n");
    const size = matrix.length;
    const diagonal = matrix.map((row, r) =>
      [at(row, r), ...range(size).map((index) => Number(index === r))].join(", "),
    );
    return [
      diagonal.join("\n"),
      lines.slice(1).join("\n"),
      lines.map((line) => line.replace(/^[^,]*/u, "1")).join("\n"),
      [...lines, lines[0]].join("\n"),
      lines.map((line) => line.replace(/^[^,]*, /u, "")).join("\n"),
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n")],
});

const FORMAT =
  "Write one line for each square: its positive factor first, then the coefficients of its linear form in the order of the variables, all with commas.";
const NAMES = ["x", "y", "z", "u", "v"];

function namesText({ matrix }: Problem): string {
  return NAMES.slice(0, matrix.length).join(", ");
}

function formText({ matrix }: Problem): string {
  const terms = matrix.flatMap((row, r) =>
    row.flatMap((entry, c) => {
      const factor = r === c ? entry : 2 * entry;
      if (c < r || factor === 0) return [];
      const name = r === c ? `${at(NAMES, r)}^2` : `${at(NAMES, r)}${at(NAMES, c)}`;
      return [`${factor < 0 ? "-" : "+"} ${Math.abs(factor) === 1 ? "" : Math.abs(factor)}${name}`];
    }),
  );
  return terms.join(" ").replace(/^\+ /u, "").replace(/^- /u, "-");
}

/** One variable after the other; null where a pivot is not positive. */
function completed(matrix: readonly number[][]): Rational[][] | null {
  let rest = matrix.map((row) => row.map((entry) => ratio(entry)));
  const lines: Rational[][] = [];
  for (const place of range(matrix.length)) {
    const row = at(rest, place);
    const pivot = at(row, place);
    if (pivot.n <= 0n) return null;
    const factors = row.map((entry, column) => (column < place ? ZERO : column === place ? ONE : over(entry, pivot)));
    lines.push([pivot, ...factors]);
    rest = rest.map((other, r) =>
      other.map((entry, c) => minus(entry, times(pivot, times(at(factors, r), at(factors, c))))),
    );
  }
  return lines;
}
