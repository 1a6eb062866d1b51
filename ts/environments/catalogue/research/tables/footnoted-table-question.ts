/** footnoted-table-question: a sum or ratio from a table whose footnotes change what the figures mean. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { minus, over, plus, type Rational, ratio, textOf, times, total } from "../../math/rational.ts";
import type { Level } from "../../row.ts";
import { inWords, table } from "../documents.ts";

type Note =
  | { kind: "unit"; row: number; factor: number }
  | { kind: "restated"; row: number; column: number; by: number }
  | { kind: "includes"; row: number; other: number; from: number }
  | { kind: "months"; column: number; months: number };

interface Given {
  places: string[];
  firstYear: number;
  /** By place and year. */
  figures: number[][];
  notes: Note[];
  question: { rows: number[]; columns: number[]; base: number | null };
}

/** By level: places, years, notes. */
const SIZES = [
  [3, 3, 1],
  [4, 3, 2],
  [4, 4, 3],
  [5, 4, 5],
  [6, 5, 7],
] as const;
const UNITS: Readonly<Record<number, string>> = { 10: "tens", 12: "dozens", 100: "hundreds" };

export const footnotedTableQuestion = fieldRow<Given>({
  id: "footnoted-table-question",
  asks: "a sum or ratio from a table after footnotes about units, restatements, overlaps and short years",
  draw,
  solve,
  values: () => "the exact number, as an integer or fraction",
  wordings: [
    (one) =>
      `Ships that were registered:\n${shown(one)}\nNotes, to be applied in this order to the figures as the earlier notes have left them:\n${notes(one)}\n\n${question(one)}`,
    (one) =>
      `${question(one)} Use this table of ships on the register\n${shown(one)}\nand mind its notes, each of which acts on what the notes before it have made of the figures:\n${notes(one)}`,
    (one) =>
      `Notes to the table (work through them from first to last, each on the result of those before):\n${notes(one)}\nTable of registered ships:\n${shown(one)}\n\n${question(one)}`,
    (one) =>
      `A yearbook prints\n${shown(one)}\nwith the remarks\n${notes(one)}\nThe remarks have to be carried out one after the other. ${question(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [rows, columns, noteCount] = at(SIZES, level - 1);
  const noteOf = (index: number): Note => {
    const [row = 0, other = 1] = sample(range(rows), 2, rng);
    const kind = at(
      ["unit", "restated", "includes", "months"] as const,
      level === 1 ? rng.integer(4) : (index + level) % 4,
    );
    if (kind === "unit") return { kind, row, factor: rng.pick([10, 12, 100]) };
    if (kind === "restated")
      return { kind, row, column: rng.integer(columns), by: (rng.integer(2) === 0 ? -1 : 1) * between(rng, 3, 40) };
    if (kind === "includes") return { kind, row, other, from: rng.integer(columns) };
    return { kind, column: rng.integer(columns), months: rng.pick([6, 8, 9, 10]) };
  };
  const isRatio = rng.integer(2) === 0;
  const years = sample(range(columns), 2, rng).toSorted((a, b) => a - b);
  return {
    places: distinct(rows, () => name(rng)),
    firstYear: between(rng, 1880, 1990),
    figures: range(rows).map(() => range(columns).map(() => between(rng, 60, 900))),
    notes: range(noteCount).map(noteOf),
    question: {
      rows: sample(range(rows), between(rng, 2, rows), rng).toSorted((a, b) => a - b),
      columns: isRatio
        ? years.slice(1)
        : sample(range(columns), between(rng, 2, columns), rng).toSorted((a, b) => a - b),
      base: isRatio ? at(years, 0) : null,
    },
  };
}

function solve(one: Given): Solution | null {
  const value = answered(one, one.notes);
  // Every note matters.
  const without = one.notes.map((_, index) =>
    answered(
      one,
      one.notes.filter((_note, place) => place !== index),
    ),
  );
  if (without.includes(value) || value.startsWith("-")) return null;
  const turned = answered(one, one.notes.toReversed());
  const slips = new Set([answered(one, []), ...without, turned, `${value}0`]);
  const cells = one.question.rows.length * (one.question.columns.length + (one.question.base === null ? 0 : 1));
  return {
    fields: [{ name: "value", kind: "number", value }],
    slips: [...slips].filter((slip) => slip !== value).map((slip) => [slip]),
    steps: cells + 5 * one.notes.length,
  };
}

function answered({ figures, question: { rows, columns, base } }: Given, some: readonly Note[]): string {
  const cells = figures.map((row) => row.map((value) => ratio(value)));
  for (const note of some) {
    for (const [index, row] of cells.entries()) {
      for (const [column, value] of row.entries()) row[column] = changed(note, index, column, value);
    }
  }
  const sum = (chosen: readonly number[]): Rational =>
    total(rows.flatMap((row) => chosen.map((column) => at(at(cells, row), column))));
  const denominator = base === null ? ratio(1) : sum([base]);
  return denominator.n === 0n ? "0" : textOf(over(sum(columns), denominator));

  function changed(note: Note, row: number, column: number, value: Rational): Rational {
    switch (note.kind) {
      case "unit":
        return note.row === row ? times(value, ratio(note.factor)) : value;
      case "restated":
        return note.row === row && note.column === column ? plus(value, ratio(note.by)) : value;
      case "includes":
        return note.row === row && column >= note.from ? minus(value, at(at(cells, note.other), column)) : value;
      case "months":
        return note.column === column ? times(value, ratio(12, note.months)) : value;
    }
  }
}

function shown({ places, firstYear, figures }: Given): string {
  const years = range(figures[0]?.length ?? 0).map((column) => String(firstYear + column));
  return table(
    ["", ...years],
    places.map((place, row) => [place, ...at(figures, row)]),
  );
}

function notes({ places, firstYear, notes: all }: Given): string {
  const text = (note: Note): string => {
    switch (note.kind) {
      case "unit":
        return `the figures of ${at(places, note.row)} are given in ${UNITS[note.factor]}`;
      case "restated":
        return `the figure of ${at(places, note.row)} for ${firstYear + note.column} is ${Math.abs(note.by)} too ${note.by > 0 ? "low" : "high"}`;
      case "includes":
        return `from ${firstYear + note.from} on, the figures of ${at(places, note.row)} contain those of ${at(places, note.other)} of the same year, which have to be taken out`;
      case "months":
        return `${firstYear + note.column} covers ${note.months} months only, for all places; scale it up to 12 in proportion`;
    }
  };
  return all.map((note, index) => `(${index + 1}) ${text(note)}`).join("\n");
}

function question({ places, firstYear, question: { rows, columns, base } }: Given): string {
  const who = inWords(rows.map((row) => at(places, row)));
  const years = inWords(columns.map((column) => String(firstYear + column)));
  return base === null
    ? `How many ships do ${who} have together, added up over ${years}?`
    : `By which factor is the joint figure of ${who} in ${years} greater than theirs in ${firstYear + base} (quotient of the two sums)?`;
}
