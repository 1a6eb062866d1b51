/** Reads a file and undoes what the dictionary names. It shares no code with the generator of dirty files. */
import type { Json } from "../json.ts";
import { CANCEL, COMMENT, DITTO, END_MARK, RECORD_SIGN, TOTAL } from "./corruptions/files.ts";
import { cellCorruptions, isMapped, type Spec, undoneBy } from "./spec.ts";
import { type Column, type Row, valueIn } from "./table.ts";

type Settings = ReadonlyMap<string, string>;

/** The rows of the clean table, or why there are none. */
export function cleaned(spec: Spec, file: string): Row[] | string {
  const settings = undoneBy(spec);
  const { text, delimiter } = textOf(file, settings);
  const records = recordsIn(text, delimiter, settings);
  const places = placesOf(spec.columns, records, settings);
  if (places === null) return "no header";
  return rowsOf(spec, records.slice(places.header + 1), places.columns, settings);
}

function textOf(file: string, settings: Settings): { text: string; delimiter: string } {
  let text = file;
  if (settings.has("byte-order-mark")) text = text.replace(/^\ufeff/u, "");
  if (settings.has("record-sign")) text = text.replaceAll(RECORD_SIGN, "\n");
  if (settings.has("end-mark")) text = text.split(`${END_MARK}\n`)[0] ?? "";
  if (settings.has("sep-line") && text.startsWith("sep=")) return { text: text.slice(6), delimiter: text.charAt(4) };
  const sign = settings.get("delimiter");
  return { text, delimiter: sign !== undefined && text.includes(sign) ? sign : "," };
}

function recordsIn(text: string, delimiter: string, settings: Settings): string[][] {
  const [escapes, skips] = [settings.has("backslash-quotes"), settings.has("spaces-after-delimiter")];
  const records: string[][] = [];
  let record: string[] = [];
  let cell = "";
  let isQuoted = false;
  let isStart = true;
  for (let index = 0; index < text.length; index++) {
    const sign = text[index] ?? "";
    if (isQuoted) {
      const isEscape = (escapes && sign === "\\") || (sign === '"' && text[index + 1] === '"');
      if (isEscape) cell += text[++index] ?? "";
      else if (sign === '"') isQuoted = false;
      else cell += sign;
    } else if (isStart && sign === '"') {
      isQuoted = true;
      isStart = false;
    } else if (isStart && skips && sign === " ") {
      continue;
    } else if (sign === delimiter || sign === "\n") {
      record.push(cell);
      cell = "";
      isStart = true;
      if (sign === "\n") {
        records.push(record);
        record = [];
      }
    } else {
      cell += sign;
      isStart = false;
    }
  }
  return records;
}

function placesOf(
  columns: readonly Column[],
  records: readonly (readonly string[])[],
  settings: Settings,
): { header: number; columns: number[] } | null {
  const styled = (name: string): string =>
    settings.has("header-style") ? name.toLowerCase().replaceAll(/[ -]/gu, "_") : name;
  const names = columns.map(({ name }) => name);
  const isHeader = (record: readonly string[]): boolean => names.every((name) => record.map(styled).includes(name));
  const header = settings.has("preamble") ? records.findIndex(isHeader) : 0;
  const found = records[header]?.map(styled);
  if (found === undefined) return null;
  const places = isMapped(settings) ? names.map((name) => found.indexOf(name)) : [...names.keys()];
  return places.includes(-1) ? null : { header, columns: places };
}

function rowsOf(
  spec: Spec,
  records: readonly (readonly string[])[],
  places: readonly number[],
  settings: Settings,
): Row[] | string {
  const { columns, ignored } = spec;
  const nulls = new Set(["", ...(settings.get("null-words")?.split(" ") ?? [])]);
  const inverses = columns.map((column) => cellCorruptions(column, settings).toReversed());
  const keyName = columns.findIndex(({ type }) => type === "key");
  const rows: Row[] = [];
  let above: Row = columns.map(() => null);
  for (const record of records) {
    const cells = places.map((place) => record[place] ?? (settings.has("short-records") ? "" : null));
    if (isNoData(record, spec, settings)) continue;
    if (cells.includes(null)) return "a short record";
    const key = cells[keyName] ?? "";
    const cancels = settings.has("cancellations") && key.endsWith(CANCEL);
    const row = columns.map((column, index): Json => {
      const cell = cells[index] ?? "";
      if (settings.has("ditto") && cell === DITTO) return above[index] ?? null;
      if (nulls.has(cell)) return ignored === "empty-is-null" ? cell : null;
      const bare = cancels && index === keyName ? cell.slice(0, -1) : cell;
      const context = { column, rng: null };
      const text = (inverses[index] ?? []).reduce((so, [one, setting]) => one.clean(so, setting, context), bare);
      const value = valueIn(text, column.type);
      return ignored === "cents" && column.type === "money" && typeof value === "number"
        ? Math.trunc(value / 100)
        : value;
    });
    above = row;
    const place = rows.findIndex((other) => other[keyName] === row[keyName]);
    if (cancels) {
      if (place >= 0) rows.splice(place, 1);
    } else if (place < 0 || !(settings.has("duplicates") || settings.has("corrections"))) rows.push(row);
    else if (settings.has("corrections")) rows[place] = row;
  }
  return settings.has("unsorted") ? rows.toSorted((a, b) => Number(a[keyName] ?? 0) - Number(b[keyName] ?? 0)) : rows;
}

function isNoData(record: readonly string[], { columns }: Spec, settings: Settings): boolean {
  const first = record[0] ?? "";
  if (settings.has("blank-lines") && record.every((cell) => cell === "")) return true;
  if (settings.has("comments") && first.startsWith(COMMENT)) return true;
  if (settings.has("total-line") && first === TOTAL) return true;
  if (!settings.has("repeated-header")) return false;
  const styled = record.map((name) =>
    settings.has("header-style") ? name.toLowerCase().replaceAll(/[ -]/gu, "_") : name,
  );
  return columns.every(({ name }) => styled.includes(name));
}
