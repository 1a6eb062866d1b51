/** margin-tables: tables of whole numbers with given sums of rows and columns. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  rows: number[];
  columns: number[];
  /** Largest entry. */
  most: number;
}

/** By level: rows, columns, least and largest entry bound, largest drawn entry. */
const SIZES = [
  [2, 3, 2, 4, 3],
  [3, 3, 3, 7, 6],
  [3, 4, 1, 4, 3],
  [4, 4, 1, 4, 3],
  [5, 5, 1, 3, 2],
] as const;

export const marginTables = exactRow<Problem>({
  id: "margin-tables",
  asks: "tables of bounded whole numbers with given sums of rows and columns",
  kind: "integer",
  draw(rng, level) {
    const [height, width, least, largest, entry] = at(SIZES, level - 1);
    const most = between(rng, least, largest);
    const cells = range(height).map(() => range(width).map(() => between(rng, 0, Math.min(most, entry))));
    const rows = cells.map((row) => row.reduce((sum, cell) => sum + cell, 0));
    const columns = range(width).map((column) => cells.reduce((sum, row) => sum + at(row, column), 0));
    return [...rows, ...columns].includes(0) ? null : { rows, columns, most };
  },
  solve(problem) {
    const value = countOf(problem);
    const { rows, columns } = problem;
    const size = rows.reduce((sum, row) => sum + row, 0);
    return value < 4n ? null : { value: String(value), steps: rows.length * columns.length * 10 + size };
  },
  canonical: ({ rows, columns, most }) => {
    const sides = [rows, columns].map((side) => side.toSorted((a, b) => a - b).join()).toSorted();
    return [sides, most];
  },
  prompts: [
    (one) =>
      `How many ${one.rows.length} × ${one.columns.length} matrices with entries from {0, ..., ${one.most}} have the row sums ${one.rows.join(", ")} (from top to bottom) and the column sums ${one.columns.join(", ")} (from left to right)?`,
    (one) =>
      `Factories make ${one.rows.join(", ")} tons; shops need ${one.columns.join(", ")} tons. Everything that is made is delivered and all needs are met exactly, in whole tons, and on each road from a factory to a shop at most ${one.most} tons can go. Factories are different, and so are shops. Count the delivery plans.`,
    (one) =>
      `A contingency table has lost its inner cells; the row totals ${one.rows.join(", ")} and the column totals ${one.columns.join(", ")} are still readable. Cells are whole numbers, not negative, none above ${one.most}. How many tables are consistent with the totals?`,
    (one) =>
      `Left nodes have degrees ${one.rows.join(", ")}, right nodes ${one.columns.join(", ")}. Between a left node and a right node there may be up to ${one.most} parallel edges (or none), and no others exist. Nodes are labelled, parallel edges are alike. Determine how many such bipartite multigraphs there are.`,
  ],
  slips(problem) {
    const { rows, columns, most } = problem;
    return [
      countOf({ ...problem, most: most + 1 }),
      countOf({ ...problem, most: Math.max(...rows) }),
      BigInt(most + 1) ** BigInt((rows.length - 1) * (columns.length - 1)),
      countOf(problem) / 2n,
    ];
  },
});

/** Row by row; the column sums that are left are the state, sorted because their order does not matter. */
function countOf({ rows, columns, most }: Problem): bigint {
  const known = new Map<string, bigint>();
  const fill = (row: number, left: readonly number[]): bigint => {
    const size = rows[row];
    if (size === undefined) return left.every((sum) => sum === 0) ? 1n : 0n;
    const key = `${row}|${left.join()}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    let count = 0n;
    const below = (rows.length - row - 1) * most;
    const choose = (column: number, rest: number, after: number[]): void => {
      const need = left[column];
      if (need === undefined) {
        if (rest === 0)
          count += fill(
            row + 1,
            after.toSorted((a, b) => a - b),
          );
        return;
      }
      for (let cell = Math.max(0, need - below); cell <= Math.min(most, need, rest); cell++)
        choose(column + 1, rest - cell, [...after, need - cell]);
    };
    choose(0, size, []);
    known.set(key, count);
    return count;
  };
  return fill(
    0,
    columns.toSorted((a, b) => a - b),
  );
}
