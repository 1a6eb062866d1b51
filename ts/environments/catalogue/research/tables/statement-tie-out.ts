/** statement-tie-out: the wrong figures of a table with totals, found by the sums that do not agree. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { table } from "../documents.ts";

interface Given {
  /** The last row and the last column hold totals. */
  cells: number[][];
}

/** By level: rows and columns without totals, wrong figures. */
const SIZES = [
  [3, 3, 1],
  [4, 4, 2],
  [5, 5, 3],
  [6, 6, 4],
  [8, 8, 6],
] as const;
const LETTERS = "ABCDEFGH";
const TOTAL = "T";

export const statementTieOut = fieldRow<Given>({
  id: "statement-tie-out",
  asks: "the wrong figures of a table of accounts whose totals do not agree, and their right sum",
  draw,
  solve,
  values: () =>
    "wrong lists the wrong figures as row letter and column number, with T for the total row or column (B3, BT, T3, TT), separated by commas, and sum is the sum of the right values of these figures",
  wordings: [
    (one) =>
      `Someone mistyped figures in this table. The rows and columns should add up to their totals (row T, column T):\n${shown(one)}\n\nFind the smallest set of figures whose correction makes all sums agree. ${rule()}`,
    (one) =>
      `Tie out the statement below: each line has to add up to its last figure, each column to its last figure. ${rule()} Which figures have to be changed, if as few as possible are wrong?\n${shown(one)}`,
    (one) =>
      `${shown(one)}\nThe last row and the last column (T) are meant to be sums. They are not, because of some wrong figures, which may be totals themselves. ${rule()} Name the fewest figures that explain it.`,
    (one) =>
      `An accountant knows that all totals (T) were right before the table was copied. ${rule()} Reconstruct the original with the fewest changes.\n${shown(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [rows, columns, wrong] = at(SIZES, level - 1);
  const inner = range(rows).map(() => range(columns).map(() => between(rng, 20, 400)));
  const withTotals = inner.map((row) => [...row, row.reduce((a, b) => a + b, 0)]);
  const cells = [
    ...withTotals,
    range(columns + 1).map((column) => withTotals.reduce((sum, row) => sum + at(row, column), 0)),
  ];
  const [places, columnsHit] = [sample(range(rows + 1), wrong, rng), shuffled(range(columns + 1), rng)];
  for (const [index, row] of places.entries()) {
    const column = at(columnsHit, index);
    const line = at(cells, row);
    line[column] = at(line, column) + (rng.integer(2) === 0 ? -1 : 1) * between(rng, 3, 60);
    if (at(line, column) < 1) return null;
  }
  return { cells };
}

function solve({ cells }: Given): Solution | null {
  const [lastRow, lastColumn] = [cells.length - 1, (cells[0]?.length ?? 0) - 1];
  const excess = (values: readonly number[]): number =>
    values.slice(0, -1).reduce((a, b) => a + b, 0) - at(values, values.length - 1);
  const rows = cells.map(excess);
  const columns = range(lastColumn + 1).map((column) => excess(cells.map((row) => at(row, column))));
  const [badRows, badColumns] = [rows, columns].map((all) =>
    range(all.length).filter((index) => at(all, index) !== 0),
  ) as [number[], number[]];
  // A figure is the only one in its row and column, so the errors are as many as the rows that do not agree.
  const sizes = badRows.map((row) => Math.abs(at(rows, row)));
  if (badRows.length !== badColumns.length || new Set(sizes).size < sizes.length) return null;
  const errors = badRows.flatMap((row) =>
    badColumns.flatMap((column) => {
      // A total that is too large makes the excess smaller.
      const fromRow = at(rows, row) * (column === lastColumn ? -1 : 1);
      const fromColumn = at(columns, column) * (row === lastRow ? -1 : 1);
      return fromRow === fromColumn ? [{ row, column, by: fromRow }] : [];
    }),
  );
  if (errors.length !== badRows.length || new Set(errors.map(({ column }) => column)).size < errors.length) return null;
  const options = cells.flatMap((row, index) => row.map((_, column) => markOf(index, column)));
  const right = marked(options.filter((mark) => errors.some(({ row, column }) => markOf(row, column) === mark)));
  const sum = errors.reduce((all, { row, column, by }) => all + at(at(cells, row), column) - by, 0);
  const shift = errors.reduce((all, { by }) => all + by, 0);
  const totals = marked(options.filter((mark) => errors.some(({ row }) => markOf(row, lastColumn) === mark)));
  const slips = [
    [right, String(sum + shift)],
    [right, String(sum + 2 * shift)],
    [totals, String(sum)],
    [markOf(at(badRows, 0), at(badColumns, 0)), String(sum + 1)],
  ];
  return {
    fields: [
      { name: "wrong", kind: "set", value: right, options },
      { name: "sum", kind: "number", value: String(sum) },
    ],
    slips: slips.filter((slip) => slip.join(";") !== `${right};${sum}`),
    steps: cells.length * (lastColumn + 1) + 4 * errors.length,
  };

  function markOf(row: number, column: number): string {
    return `${row === lastRow ? TOTAL : LETTERS[row]}${column === lastColumn ? TOTAL : column + 1}`;
  }
}

function shown({ cells }: Given): string {
  const columns = (cells[0]?.length ?? 1) - 1;
  return table(
    ["", ...range(columns).map((column) => String(column + 1)), TOTAL],
    cells.map((row, index) => [index === cells.length - 1 ? TOTAL : (LETTERS[index] ?? ""), ...row]),
  );
}

function rule(): string {
  return "No two wrong figures stand in one row or in one column.";
}
