/** crosstab-completion: blank cells of a table of counts, from its totals and from sentences about the cells. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { ratio, reduced } from "../../math/rational.ts";
import type { Level } from "../../row.ts";
import { bullets, table } from "../documents.ts";

/** a c_i + b c_j = value, over blanks. */
interface Fact {
  first: number;
  second: number;
  kind: "more" | "both" | "times";
  value: number;
}

interface Given {
  rows: string[];
  columns: string[];
  cells: number[][];
  /** Places of blank cells, in the order of their names. */
  blanks: [row: number, column: number][];
  facts: Fact[];
}

/** By level: rows, columns, blanks. */
const SIZES = [
  [2, 3, 4],
  [3, 3, 6],
  [3, 4, 8],
  [4, 4, 11],
  [5, 5, 16],
] as const;
const ROWS = ["bus", "train", "bicycle", "car", "on foot"];
const COLUMNS = ["pupils", "nurses", "clerks", "farmers", "smiths"];

export const crosstabCompletion = fieldRow<Given>({
  id: "crosstab-completion",
  asks: "blank cells of a table of counts from totals and from sentences about them",
  draw,
  solve,
  isShared: true,
  values: () => "every value is an integer",
  wordings: [
    (one) =>
      `People by occupation and by how they get to work; some cells are lost and stand as c1, c2, ...:\n${shown(one)}\nKnown besides:\n${facts(one)}\n\nFind all lost cells.`,
    (one) => `Fill in c1 and so on. The totals of the table are right.\n${shown(one)}\n${facts(one)}`,
    (one) =>
      `Some sentences from a burnt report:\n${facts(one)}\nand what is left of its table:\n${shown(one)}\nReconstruct the missing counts.`,
    (one) =>
      `In this survey every person is counted once, so rows and columns add up to their totals.\n${shown(one)}\nMoreover:\n${facts(one)}\nWhich numbers belong at c1, c2, ...?`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [rows, columns, count] = at(SIZES, level - 1);
  const cells = range(rows).map(() => range(columns).map(() => between(rng, 4, 60)));
  const all = range(rows).flatMap((row) => range(columns).map((column): [number, number] => [row, column]));
  const blanks = sample(all, count, rng);
  const given: Given = {
    rows: shuffled(ROWS, rng).slice(0, rows),
    columns: shuffled(COLUMNS, rng).slice(0, columns),
    cells,
    blanks,
    facts: [],
  };
  const value = (index: number): number => {
    const [row, column] = at(blanks, index);
    return at(at(cells, row), column);
  };
  for (let tries = 0; tries < 40 && rankOf(given) < count; tries++) {
    const [first = 0, second = 1] = sample(range(count), 2, rng);
    const [a, b] = [value(first), value(second)];
    const fact: Fact =
      a % b === 0 && a > b
        ? { first, second, kind: "times", value: a / b }
        : a > b
          ? { first, second, kind: "more", value: a - b }
          : { first, second, kind: "both", value: a + b };
    const longer = { ...given, facts: [...given.facts, fact] };
    if (rankOf(longer) > rankOf(given)) given.facts = longer.facts;
  }
  return given.facts.length > 0 && rankOf(given) === count ? given : null;
}

/** Equations over the blanks: one for each row, column and fact. */
function equations({ cells, blanks, facts: all }: Given): { left: number[]; right: number }[] {
  const sums = (isIn: (row: number, column: number) => boolean) => ({
    left: blanks.map(([row, column]) => Number(isIn(row, column))),
    right: blanks.reduce((sum, [row, column]) => sum + (isIn(row, column) ? at(at(cells, row), column) : 0), 0),
  });
  return [
    ...range(cells.length).map((own) => sums((row) => row === own)),
    ...range(cells[0]?.length ?? 0).map((own) => sums((_, column) => column === own)),
    ...all.map(({ first, second, kind, value }) => ({
      left: blanks.map((_, index) =>
        index === first ? 1 : index === second ? (kind === "both" ? 1 : kind === "more" ? -1 : -value) : 0,
      ),
      right: kind === "times" ? 0 : value,
    })),
  ];
}

function rankOf(given: Given): number {
  return reduced(
    equations(given).map(({ left }) => left.map((value) => ratio(value))),
    given.blanks.length,
  ).pivots.length;
}

function solve(given: Given): Solution | null {
  const count = given.blanks.length;
  const { rows, pivots } = reduced(
    equations(given).map(({ left, right }) => [...left, right].map((value) => ratio(value))),
    count,
  );
  if (pivots.length < count) return null;
  const values = range(count).map((index) => Number(at(at(rows, index), count).n));
  const texts = values.map(String);
  const mean = Math.round(values.reduce((a, b) => a + b, 0) / count);
  return {
    fields: texts.map((value, index) => ({ name: `c${index + 1}`, kind: "number", value })),
    slips: [
      texts.map(() => String(mean)),
      values.map((value, index) => String(index < 2 ? value + 1 : value)),
      texts.map(() => "0"),
    ],
    steps: count * (given.facts.length + given.cells.length + given.columns.length),
  };
}

function shown({ rows, columns, cells, blanks }: Given): string {
  const text = (row: number, column: number): string => {
    const blank = blanks.findIndex(([r, c]) => r === row && c === column);
    return blank < 0 ? String(at(at(cells, row), column)) : `c${blank + 1}`;
  };
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  return table(
    ["", ...columns, "total"],
    [
      ...rows.map((name, row) => [name, ...columns.map((_, column) => text(row, column)), sum(at(cells, row))]),
      ["total", ...columns.map((_, column) => sum(cells.map((row) => at(row, column)))), sum(cells.flat())],
    ],
  );
}

function facts(given: Given): string {
  const cell = (index: number): string => {
    const [row, column] = at(given.blanks, index);
    return `${at(given.columns, column)} who come ${wayOf(at(given.rows, row))}`;
  };
  return bullets(
    given.facts.map(({ first, second, kind, value }) => {
      if (kind === "times") return `there are ${value} times as many ${cell(first)} as ${cell(second)}`;
      if (kind === "more") return `the ${cell(first)} are ${value} more than the ${cell(second)}`;
      return `the ${cell(first)} and the ${cell(second)} are ${value} together`;
    }),
  );
}

function wayOf(row: string): string {
  return row === "on foot" ? row : `by ${row}`;
}
