/** report-table-audit: the statements of a report that its table does not bear out. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { numbered, table } from "../documents.ts";

/** A statement about the table, with the numbers that it names. */
type Claim =
  | { kind: "largest"; column: number; row: number }
  | { kind: "change"; row: number; from: number; to: number; by: number }
  | { kind: "above"; column: number; limit: number; count: number }
  | { kind: "sum"; rows: number[]; column: number; value: number }
  | { kind: "rises"; row: number; times: number }
  | { kind: "lead"; row: number; other: number; columns: number };

interface Given {
  names: string[];
  columns: string[];
  cells: number[][];
  claims: Claim[];
}

/** By level: rows, columns, statements. */
const SIZES = [
  [3, 3, 6],
  [4, 4, 8],
  [5, 5, 10],
  [6, 6, 13],
  [8, 7, 18],
] as const;

export const reportTableAudit = fieldRow<Given>({
  id: "report-table-audit",
  asks: "the statements of a report that disagree with the table it is about",
  draw,
  solve,
  isShared: true,
  values: () => "the marks of the false statements, separated by commas",
  wordings: [
    (one) =>
      `Table of sold bicycles:\n${shown(one)}\n\nA report says:\n${claims(one)}\n\nWhich of these statements are false?`,
    (one) =>
      `Check each sentence against the table, and list those that it contradicts.\n${claims(one)}\n\nBicycles sold by shop and month:\n${shown(one)}`,
    (one) =>
      `A trainee wrote about the following figures (bicycles per shop and month).\n${shown(one)}\nText:\n${claims(one)}\nFind the errors: name every statement that is not right.`,
    (one) =>
      `Proofreading. Statements:\n${claims(one)}\n\nData:\n${shown(one)}\n\nName the statements that do not hold for these data (numbers of bicycles; months from left to right).`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [rows, columns, count] = at(SIZES, level - 1);
  const cells = range(rows).map(() => range(columns).map(() => between(rng, 10, 99)));
  const isFalse = shuffled(
    range(count).map((index) => index < Math.floor(count * 0.4)),
    rng,
  );
  return {
    names: distinct(rows, () => name(rng)),
    columns: ["January", "February", "March", "April", "May", "June", "July"].slice(0, columns),
    cells,
    claims: isFalse.map((wrong) => claimOf(cells, rng, wrong)),
  };
}

/** A statement that is true, or one that is off by a little. */
function claimOf(cells: readonly (readonly number[])[], rng: Rng, isFalse: boolean): Claim {
  const [rows, columns] = [cells.length, cells[0]?.length ?? 0];
  const [row = 0, other = 1] = sample(range(rows), 2, rng);
  const [from = 0, to = 1] = sample(range(columns), 2, rng).toSorted((a, b) => a - b);
  const cell = (r: number, c: number): number => at(at(cells, r), c);
  const off = isFalse ? (rng.integer(2) === 0 ? -1 : 1) * between(rng, 1, 3) : 0;
  switch (rng.integer(6)) {
    case 0: {
      const order = range(rows).toSorted((a, b) => cell(b, from) - cell(a, from));
      return { kind: "largest", column: from, row: at(order, isFalse ? 1 : 0) };
    }
    case 1:
      return { kind: "change", row, from, to, by: cell(row, to) - cell(row, from) + off };
    case 2: {
      const limit = between(rng, 30, 75);
      return {
        kind: "above",
        column: from,
        limit,
        count: Math.abs(range(rows).filter((one) => cell(one, from) > limit).length + Math.sign(off)),
      };
    }
    case 3: {
      const some = sample(range(rows), between(rng, 2, Math.min(4, rows)), rng);
      return {
        kind: "sum",
        rows: some,
        column: from,
        value: some.reduce((sum, one) => sum + cell(one, from), 0) + off,
      };
    }
    case 4: {
      const rises = range(columns - 1).filter((column) => cell(row, column + 1) > cell(row, column)).length;
      return { kind: "rises", row, times: Math.abs(rises + Math.sign(off)) };
    }
    default: {
      const leads = range(columns).filter((column) => cell(row, column) > cell(other, column)).length;
      return { kind: "lead", row, other, columns: Math.abs(leads + Math.sign(off)) };
    }
  }
}

function solve({ cells, claims: all }: Given): Solution | null {
  const marks = marksOf("S", all.length);
  const wrong = marks.filter((_, index) => !holds(cells, at(all, index)));
  if (wrong.length < 2 || wrong.length > all.length / 2) return null;
  const right = marks.filter((mark) => !wrong.includes(mark));
  return {
    fields: [{ name: "false", kind: "set", value: marked(wrong), options: marks }],
    slips: [[marked(right)], [marked(wrong.slice(1))], [marked(marks)]],
    steps: all.length * (cells.length + (cells[0]?.length ?? 0)),
  };
}

function holds(cells: readonly (readonly number[])[], claim: Claim): boolean {
  const cell = (row: number, column: number): number => at(at(cells, row), column);
  const columns = range(cells[0]?.length ?? 0);
  switch (claim.kind) {
    case "largest":
      return range(cells.length).every(
        (row) => row === claim.row || cell(row, claim.column) < cell(claim.row, claim.column),
      );
    case "change":
      return cell(claim.row, claim.to) - cell(claim.row, claim.from) === claim.by;
    case "above":
      return range(cells.length).filter((row) => cell(row, claim.column) > claim.limit).length === claim.count;
    case "sum":
      return claim.rows.reduce((sum, row) => sum + cell(row, claim.column), 0) === claim.value;
    case "rises":
      return (
        columns.slice(1).filter((column) => cell(claim.row, column) > cell(claim.row, column - 1)).length ===
        claim.times
      );
    case "lead":
      return columns.filter((column) => cell(claim.row, column) > cell(claim.other, column)).length === claim.columns;
  }
}

function shown({ names, columns, cells }: Given): string {
  return table(
    ["shop", ...columns],
    names.map((who, row) => [who, ...at(cells, row)]),
  );
}

function claims({ names, columns, claims: all }: Given): string {
  const text = (claim: Claim): string => {
    switch (claim.kind) {
      case "largest":
        return `In ${at(columns, claim.column)} no other shop sold as many as ${at(names, claim.row)}.`;
      case "change": {
        const moved = claim.by === 0 ? "sold as many" : `sold ${Math.abs(claim.by)} ${claim.by > 0 ? "more" : "fewer"}`;
        return `${at(names, claim.row)} ${moved} in ${at(columns, claim.to)} ${claim.by === 0 ? "as" : "than"} in ${at(columns, claim.from)}.`;
      }
      case "above":
        return `In ${at(columns, claim.column)} the number of shops that sold more than ${claim.limit} was ${claim.count}.`;
      case "sum":
        return `${claim.rows.map((row) => at(names, row)).join(", ")} sold ${claim.value} in all in ${at(columns, claim.column)}.`;
      case "rises":
        return `The sales of ${at(names, claim.row)} were higher than in the month before in exactly ${claim.times} of the months.`;
      case "lead":
        return `${at(names, claim.row)} sold more than ${at(names, claim.other)} in exactly ${claim.columns} of the months.`;
    }
  };
  return numbered(all.map(text), "S");
}
