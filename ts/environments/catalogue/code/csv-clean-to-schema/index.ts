/** csv-clean-to-schema: a function that turns the dirty files of an export into typed rows, tested corruption by corruption. */
import { between, shuffled } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Family, Level, ProgramRow } from "../../row.ts";
import { type Calls, functionRow } from "../function-row.ts";
import type { Json } from "../json.ts";
import { numbered } from "../prose.ts";
import { cleaned } from "./clean.ts";
import { dirtyFile } from "./dirty.ts";
import { programOf } from "./program.ts";
import { ALL, type Corruption, type Spec } from "./spec.ts";
import { type Column, type ColumnType, drawColumns, drawRows, type Row } from "./table.ts";

/** By level: corruptions of an instance, and its columns. */
const CORRUPTIONS = [2, 4, 6, 8, 10] as const;
const COLUMNS = [4, 5, 5, 6, 7] as const;
/** Hidden files of each corruption, and of those that mix all; one more may be shown. */
const FILES = 3;
const MIXED = 5;
const ROWS = [4, 7] as const;
/** Draws of a file until its corruption shows. */
const TRIES = 8;
/** Parts of the corruptions that a mixed file has. */
const MIXTURE = 3;

const row: ProgramRow = functionRow<Spec>({
  id: "csv-clean-to-schema",
  asks: "a function that cleans the files of an export into typed rows, tested corruption by corruption",
  name: "clean",
  parameters: ["text"],
  make,
  effort: ({ corruptions, columns }) => 4 * corruptions.length + columns.length,
  stories: [
    () =>
      "Files of an export arrive every night, and no two of them have the same faults. The data dictionary says what may happen to them.",
    () =>
      "Before data can be loaded it has to be cleaned. Several offices send the same table, each with its own habits.",
    () => "A warehouse takes only typed rows. Here is the agreement with those who send the files.",
    () => "The person who cleaned these files by routine has left; her notes are complete.",
  ],
  rules: ({ columns, corruptions }) =>
    `The columns of the result, in this order:\n\n${numbered(columns.map(columnText))}\n\nA file is a text of separated values as usual: commas between cells, quotes around cells where needed, with a quote inside written twice, and one header with the names above in this order. An empty cell is null. A file may have none, one or several of these deviations, mixed with cells and records without them, and several may meet in one cell:\n\n${numbered(corruptions.map(noteOf))}`,
  types: () =>
    "The argument is the text of a file. The result is the list of its records, in the order of the file if nothing else is said, each a list of values: whole numbers, texts, true or false, or null (None). Each deviation is tested with files for itself, and all of them together; the credit grows with the square of the share that is right.",
  calls: callsOf,
  solve: (spec, [file]) => cleaned(spec, file as string),
  python: programOf,
  slips: (spec) =>
    [...spec.corruptions.map(({ id }) => id), "empty-is-null", "cents"].map((ignored) => ({ ...spec, ignored })),
  shares: true,
});

export const csvCleanToSchema: Family<ProgramRow> = { id: "csv-clean-to-schema", rows: [row] };

function make(rng: Rng, level: Level): Spec | null {
  const groups = new Set<string>();
  const chosen: Corruption[] = [];
  const needs = new Set<ColumnType>();
  for (const one of shuffled(ALL, rng)) {
    if (chosen.length === at(CORRUPTIONS, level - 1)) break;
    if (one.group !== undefined && groups.has(one.group)) continue;
    if (one.group !== undefined) groups.add(one.group);
    if ("types" in one) needs.add(rng.pick(one.types));
    else if (one.needs !== undefined) needs.add(one.needs);
    chosen.push({ id: one.id, setting: one.draw?.(rng) ?? "" });
  }
  const columns = drawColumns(rng, Math.max(at(COLUMNS, level - 1), 3 + needs.size), needs);
  const ordered = ALL.flatMap(({ id }) => chosen.filter((one) => one.id === id));
  return { columns, corruptions: ordered, seed: rng.integer(2 ** 31) };
}

function columnText({ name, type, codes, unit }: Column): string {
  const about = {
    key: "the key, a whole number",
    text: "a text",
    code: `one of the codes ${codes.join(", ")}`,
    count: `a whole number, at least 0, in the unit '${unit}'`,
    money: "an amount of money with two decimals, which the result has in cents as a whole number",
    date: "a date, in the result a text YYYY-MM-DD",
    flag: "true or false, in a clean file written so, and in the result a boolean",
  }[type];
  return `${name}: ${about}`;
}

function noteOf({ id, setting }: Corruption): string {
  const one = ALL.find((other) => other.id === id);
  if (one === undefined) throw new RangeError(`no corruption ${id}`);
  return one.note(setting);
}

/** Mixed files come first, so that one of them is shown. */
function callsOf(spec: Spec): Calls {
  const rng = createRng(spec.seed);
  const calls: Record<string, Json[][]> = { mixed: range(MIXED + 1).map(() => [mixedFile(spec, rng)]) };
  for (const one of spec.corruptions) calls[one.id] = range(FILES + 1).map(() => [fileWith(spec, one, rng)]);
  return calls;
}

function rowsFor({ columns }: Spec, settings: ReadonlyMap<string, string>, rng: Rng): Row[] {
  const rows = drawRows(columns, between(rng, ROWS[0], ROWS[1]), rng);
  if (!settings.has("short-records")) return rows;
  // A record is short only where its last values are missing.
  return rows.map((values, index) =>
    index % 3 === 1 && columns.at(-1)?.type !== "key" ? [...values.slice(0, -1), null] : values,
  );
}

/** A file with this corruption only, which shows in it. */
function fileWith(spec: Spec, { id, setting }: Corruption, rng: Rng): string {
  const settings = new Map([[id, setting]]);
  let file = "";
  for (let turn = 0; turn < TRIES; turn++) {
    const rows = rowsFor(spec, settings, rng);
    file = dirtyFile(spec.columns, rows, settings, rng);
    if (JSON.stringify(rows) !== JSON.stringify(cleaned({ ...spec, ignored: id }, file))) break;
  }
  return file;
}

function mixedFile(spec: Spec, rng: Rng): string {
  const some = spec.corruptions.filter(() => rng.integer(MIXTURE) > 0);
  const settings = new Map(some.map(({ id, setting }) => [id, setting]));
  return dirtyFile(spec.columns, rowsFor(spec, settings, rng), settings, rng);
}
