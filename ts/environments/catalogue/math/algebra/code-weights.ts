/** code-weights: how many words of a linear code have each weight. */
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  prime: 2 | 3;
  rows: number[][];
}

/** By level: field, rows, columns. */
const SIZES = [
  [2, 2, 5],
  [2, 3, 7],
  [3, 3, 6],
  [2, 6, 9],
  [3, 5, 8],
] as const;

export const codeWeights = exactRow<Problem>({
  id: "code-weights",
  asks: "how many words of a linear code have each weight",
  kind: "tuple",
  draw(rng, level) {
    const [prime, count, length] = at(SIZES, level - 1);
    const rows = range(count).map(() => range(length).map(() => rng.integer(prime)));
    const hasEmpty = range(length).some((column) => rows.every((row) => row[column] === 0));
    return hasEmpty ? null : { prime, rows };
  },
  solve(problem) {
    const counts = countsOf(problem);
    const { prime, rows } = problem;
    // A second word of weight 0 would be a dependence of the rows.
    if (counts[0] !== 1) return null;
    return { value: counts.join(", "), steps: prime ** rows.length * counts.length };
  },
  canonical: ({ prime, rows }) => [prime, rows],
  prompts: [
    (one) =>
      `The rows below generate a linear code over the field with ${one.prime} elements.\n${rowsText(one)}\nHow many of its ${one.prime ** one.rows.length} words have exactly 0, 1, 2, ..., ${at(one.rows, 0).length} nonzero entries? Give the ${at(one.rows, 0).length + 1} numbers in this order, with commas.`,
    (one) =>
      `Find the weight distribution A_0, A_1, ..., A_n (n = ${at(one.rows, 0).length}) of the code with generator matrix\n${rowsText(one)}\nover GF(${one.prime}).`,
    (one) =>
      `Take all combinations, modulo ${one.prime}, of these linearly independent vectors:\n${rowsText(one)}\nSort the resulting ${one.prime ** one.rows.length} vectors by the number of coordinates that are not 0. State the sizes of the groups, from no such coordinate up to all of them, zeros included.`,
    (one) =>
      `W(z) = sum of A_i z^i counts the words of weight i in the code spanned, over the integers modulo ${one.prime}, by\n${rowsText(one)}\nList the coefficients of W from z^0 to z^${at(one.rows, 0).length}.`,
  ],
  slips(problem, value) {
    const counts = value.split(", ").map(Number);
    const other = countsOf({ ...problem, rows: problem.rows.slice(1) });
    return [counts.with(0, 0), counts.toReversed(), other, counts.slice(1)].map((list) => list.join(", "));
  },
});

function rowsText({ rows }: Problem): string {
  return rows.map((row) => row.join(" ")).join("\n");
}

function countsOf({ prime, rows }: Problem): number[] {
  const length = at(rows, 0).length;
  let words = [range(length).map(() => 0)];
  for (const row of rows)
    words = words.flatMap((word) =>
      range(prime).map((factor) => word.map((value, index) => (value + factor * at(row, index)) % prime)),
    );
  const counts = range(length + 1).map(() => 0);
  for (const word of words) {
    const weight = word.filter((value) => value !== 0).length;
    counts[weight] = at(counts, weight) + 1;
  }
  return counts;
}
