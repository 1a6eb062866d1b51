/** What may happen to records and to whole files. `dirty.ts` does it, `clean.ts` and `program.ts` undo it. */
import type { Rng } from "../../../../../random/rng.ts";
import { py } from "../../json.ts";
import type { ColumnType } from "../table.ts";

export interface FileCorruption {
  readonly id: string;
  readonly group?: string;
  /** A column of this type must be there. */
  readonly needs?: ColumnType;
  readonly draw?: (rng: Rng) => string;
  readonly note: (setting: string) => string;
}

export const END_MARK = "--- end of data ---";
export const DITTO = "do.";
export const COMMENT = "%%";
export const CANCEL = "*";
export const TOTAL = "TOTAL";
export const RECORD_SIGN = "\u001e";

export const FILES: readonly FileCorruption[] = [
  {
    id: "null-words",
    draw: (rng) => rng.pick(["n/a NULL -", "? none", "#N/A . unknown"]),
    note: (words) => `Instead of an empty cell there may be one of: ${words.split(" ").map(py).join(", ")}.`,
  },
  {
    id: "ditto",
    needs: "code",
    note: () =>
      `A cell with ${py(DITTO)} has the value of the cell above it: the same column in the record before it in the file, which may be empty, may be such a cell itself, and may be of a record that does not count in the end; lines that are no data are no records here.`,
  },
  { id: "blank-lines", note: () => "Lines that are empty, or have only delimiters, are skipped." },
  { id: "comments", note: () => `Records whose first cell begins with ${py(COMMENT)} are comments and are skipped.` },
  {
    id: "preamble",
    note: () =>
      "There may be lines before the header. The header is the first record that has the names of all columns.",
  },
  { id: "total-line", note: () => `A record whose first cell is ${TOTAL} is a sum and not data.` },
  { id: "repeated-header", note: () => "The header may be repeated between records." },
  { id: "column-order", note: () => "The columns of a file may be in another order; the header names them." },
  {
    id: "header-style",
    note: () =>
      "Names in the header may be written with other capitals, and with spaces or hyphens for underscores; the columns of a file may be in another order.",
  },
  {
    id: "extra-columns",
    note: () => "A file may have further columns, which are dropped; the header names all columns.",
  },
  { id: "short-records", note: () => "Empty cells at the end of a record may be missing altogether." },
  {
    id: "duplicates",
    group: "same-key",
    note: () => "Records may be repeated; the first of those with the same key counts.",
  },
  {
    id: "corrections",
    group: "same-key",
    note: () => "A later record with the same key replaces the earlier one, and takes its place in the order.",
  },
  {
    id: "cancellations",
    note: () =>
      `A record whose key has ${py(CANCEL)} behind it, at the very end of the cell, is not data: it cancels the earlier records with its key.`,
  },
  { id: "unsorted", note: () => "Records may be in any order; the result is sorted by key, ascending." },
  {
    id: "byte-order-mark",
    note: () =>
      "A file may begin with U+FEFF; the columns of a file may be in another order, and the header names them.",
  },
  { id: "record-sign", note: () => `Records may end with the sign U+001E instead of a line break.` },
  {
    id: "delimiter",
    group: "delimiter",
    draw: (rng) => rng.pick(["|", "~", "\t"]),
    note: (sign) => `A file in which ${py(sign)} occurs has it in the place of the commas between cells.`,
  },
  {
    id: "sep-line",
    group: "delimiter",
    note: () =>
      "A file may begin with a line like 'sep=|', which names the sign between cells; other files have commas.",
  },
  { id: "backslash-quotes", note: () => 'A quote inside of a quoted cell may be written as \\" instead of "".' },
  {
    id: "spaces-after-delimiter",
    note: () =>
      "There may be spaces between a delimiter and the next cell, also before a quote; they do not belong to the cell.",
  },
  { id: "end-mark", note: () => `What follows a line ${py(END_MARK)} does not belong to the data.` },
];
