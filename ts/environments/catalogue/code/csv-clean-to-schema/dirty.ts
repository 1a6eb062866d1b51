/** Turns clean rows into a file with some of the corruptions. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { CANCEL, COMMENT, DITTO, END_MARK, RECORD_SIGN, TOTAL } from "./corruptions/files.ts";
import { cellCorruptions } from "./spec.ts";
import { type Column, drawRows, type Row, textOf } from "./table.ts";

type Settings = ReadonlyMap<string, string>;

interface Entry {
  readonly row: Row;
  readonly cancels?: boolean;
}

/** One cell of so many keeps its clean text although it could be dirty. */
const SPARED = 3;

export function dirtyFile(columns: readonly Column[], rows: readonly Row[], settings: Settings, rng: Rng): string {
  const entries = entriesOf(columns, rows, settings, rng);
  const cells = cellsOf(columns, entries, settings, rng);
  const records = withHeader(columns, cells, settings, rng);
  return fileOf(settings.has("short-records") ? records.map((one) => shortened(one)) : records, columns, settings, rng);
}

function entriesOf(columns: readonly Column[], rows: readonly Row[], settings: Settings, rng: Rng): Entry[] {
  let entries: Entry[] = rows.map((row) => ({ row }));
  const putLater = (after: number, entry: Entry): void => {
    entries.splice(between(rng, after + 1, entries.length), 0, entry);
  };
  if (settings.has("unsorted")) entries = shuffled(entries, rng);
  const keyName = columns.findIndex(({ type }) => type === "key");
  const withKey = (key: Json): Row =>
    at(drawRows(columns, 1, rng), 0).map((value, index) => (index === keyName ? key : value));
  if (settings.has("duplicates")) {
    const place = rng.integer(entries.length);
    putLater(place, at(entries, place));
  }
  if (settings.has("corrections")) {
    const place = rng.integer(entries.length);
    const right = at(entries, place);
    entries[place] = { row: withKey(right.row[keyName] ?? null) };
    putLater(place, right);
  }
  if (settings.has("cancellations")) {
    const keys = rows.map((row) => Number(row[keyName]));
    const key = Math.max(...keys) + between(rng, 1, 5);
    const place = rng.integer(entries.length + 1);
    entries.splice(place, 0, { row: withKey(key) });
    putLater(place, { row: withKey(key), cancels: true });
  }
  return entries;
}

function cellsOf(columns: readonly Column[], entries: readonly Entry[], settings: Settings, rng: Rng): string[][] {
  const nulls = settings.get("null-words")?.split(" ") ?? [""];
  const changes = columns.map((column) => cellCorruptions(column, settings));
  return entries.map(({ row, cancels }, line) =>
    columns.map((column, index) => {
      const value = row[index] ?? null;
      const above = entries[line - 1]?.row[index] ?? null;
      if (settings.has("ditto") && line > 0 && column.type !== "key" && value === above && rng.integer(SPARED) > 0)
        return DITTO;
      if (value === null) return rng.pick(nulls);
      let cell = textOf(value, column.type);
      for (const [one, setting] of at(changes, index))
        if (rng.integer(SPARED) > 0) cell = one.dirty(cell, setting, { column, rng }) ?? cell;
      return cancels === true && column.type === "key" ? `${cell}${CANCEL}` : cell;
    }),
  );
}

/** The header and the records, with columns in the order of the file. */
function withHeader(columns: readonly Column[], cells: readonly string[][], settings: Settings, rng: Rng): string[][] {
  const names = columns.map(({ name }) => (settings.has("header-style") ? styled(name, rng) : name));
  const extras = settings.has("extra-columns") ? sample(["remark", "checked_by", "row"], between(rng, 1, 2), rng) : [];
  const moves = ["column-order", "header-style", "byte-order-mark", "extra-columns"].some((id) => settings.has(id));
  const all = range(columns.length + extras.length);
  const order = moves ? shuffled(all, rng) : all;
  const arranged = (some: readonly string[]): string[] => order.map((index) => some[index] ?? "");
  const header = arranged([...names, ...extras]);
  const records = cells.map((some) =>
    arranged([...some, ...extras.map(() => rng.pick(["", "ok", "1", "see file", "2, 3"]))]),
  );
  const put = (record: string[]): void => {
    records.splice(rng.integer(records.length + 1), 0, record);
  };
  if (settings.has("blank-lines")) put(rng.integer(2) === 0 ? [""] : header.map(() => ""));
  if (settings.has("comments")) put([`${COMMENT} ${rng.pick(["checked", "page 2", "see above, twice"])}`]);
  if (settings.has("repeated-header")) put(header);
  if (settings.has("total-line"))
    records.push(
      header.map((_, index) => (index === 0 ? TOTAL : rng.integer(2) === 0 ? "" : String(rng.integer(9_000)))),
    );
  const before = settings.has("preamble")
    ? range(between(rng, 1, 2)).map(() => rng.pick([["Export"], ["Made by", "office"], [at(header, 0), "and others"]]))
    : [];
  return [...before, header, ...records];
}

function styled(name: string, rng: Rng): string {
  const words = name.split("_");
  const title = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return rng.pick([title.join(" "), words.join("-"), name.toUpperCase(), title.join("-")]);
}

function shortened(record: readonly string[]): string[] {
  const last = record.findLastIndex((cell) => cell !== "");
  return last < 0 ? [...record] : record.slice(0, last + 1);
}

function fileOf(records: readonly string[][], columns: readonly Column[], settings: Settings, rng: Rng): string {
  const named = settings.has("sep-line") ? rng.pick(["|", "~", "^"]) : null;
  const delimiter = named ?? settings.get("delimiter") ?? ",";
  const text = records
    .map((record) =>
      record
        .map((cell, index) => {
          const spaces = settings.has("spaces-after-delimiter") && index > 0 ? " ".repeat(rng.integer(3)) : "";
          const isOnly = record.length === 1;
          return `${spaces}${quoted(cell, delimiter, settings, !isOnly && rng.integer(8) === 0)}`;
        })
        .join(delimiter),
    )
    .map((line) => `${line}\n`)
    .join("");
  const head = settings.has("byte-order-mark") ? "\ufeff" : "";
  const sep = named === null ? "" : `sep=${named}\n`;
  const foot = settings.has("end-mark")
    ? `${END_MARK}\n${columns.length} columns\n${at(columns, 0).name} checked\n`
    : "";
  const file = `${head}${sep}${text}${foot}`;
  return settings.has("record-sign") ? endedBySign(file) : file;
}

function quoted(cell: string, delimiter: string, settings: Settings, always: boolean): string {
  const needs = cell.includes(delimiter) || /["\n]|^ | $/u.test(cell);
  if (!needs && !always) return cell;
  return `"${cell.replaceAll('"', settings.has("backslash-quotes") ? '\\"' : '""')}"`;
}

/** Line breaks inside of quotes stay. */
function endedBySign(file: string): string {
  let isQuoted = false;
  return Array.from(file)
    .map((sign, index) => {
      if (sign === '"' && file.charAt(index - 1) !== "\\") isQuoted = !isQuoted;
      return sign === "\n" && !isQuoted ? RECORD_SIGN : sign;
    })
    .join("");
}
