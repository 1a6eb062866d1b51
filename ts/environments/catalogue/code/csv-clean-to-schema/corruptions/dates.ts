/** What happens to dates, which are YYYY-MM-DD where they are clean. No two forms look the same. */
import { MONTHS } from "../../../months.ts";
import { py } from "../../json.ts";
import type { CellCorruption } from "./cell.ts";

const ISO = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/u;
const DAY_MS = 86_400_000;
/** Day 0 of spreadsheets. */
const SERIAL_START = Date.UTC(1899, 11, 30);
const SHORT = MONTHS.map((month) => month.slice(0, 3));
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

interface Form {
  readonly id: string;
  readonly note: string;
  readonly write: (year: string, month: string, day: string) => string;
  readonly pattern: RegExp;
  /** From the parts of the pattern. */
  readonly read: (parts: readonly string[]) => string;
  /** The pattern and an expression of Python for the clean date, with `p` as the tuple of parts. */
  readonly python: readonly [pattern: string, expression: string];
}

function dayOf(year: string, month: string, day: string): number {
  return Date.UTC(Number(year), Number(month) - 1, Number(day));
}

function isoOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

const part = (parts: readonly string[], index: number): string => parts[index] ?? "";

const FORMS: readonly Form[] = [
  {
    id: "day-first",
    note: "Dates may be written as DD.MM.YYYY.",
    write: (year, month, day) => `${day}.${month}.${year}`,
    pattern: /^([0-9]{2})\.([0-9]{2})\.([0-9]{4})$/u,
    read: (parts) => `${part(parts, 2)}-${part(parts, 1)}-${part(parts, 0)}`,
    python: ["([0-9]{2})\\.([0-9]{2})\\.([0-9]{4})", 'f"{p[2]}-{p[1]}-{p[0]}"'],
  },
  {
    id: "month-first",
    note: "Dates may be written as MM/DD/YYYY.",
    write: (year, month, day) => `${month}/${day}/${year}`,
    pattern: /^([0-9]{2})\/([0-9]{2})\/([0-9]{4})$/u,
    read: (parts) => `${part(parts, 2)}-${part(parts, 0)}-${part(parts, 1)}`,
    python: ["([0-9]{2})/([0-9]{2})/([0-9]{4})", 'f"{p[2]}-{p[0]}-{p[1]}"'],
  },
  {
    id: "two-digit-year",
    note: "Dates may be written as YY-MM-DD, and all years are from 2000 on.",
    write: (year, month, day) => `${year.slice(2)}-${month}-${day}`,
    pattern: /^([0-9]{2})-([0-9]{2})-([0-9]{2})$/u,
    read: (parts) => `20${part(parts, 0)}-${part(parts, 1)}-${part(parts, 2)}`,
    python: ["([0-9]{2})-([0-9]{2})-([0-9]{2})", 'f"20{p[0]}-{p[1]}-{p[2]}"'],
  },
  {
    id: "month-names",
    note: `Dates may be written with a month's first three letters in English, as in '5 ${SHORT[2] ?? ""} 2024'.`,
    write: (year, month, day) => `${Number(day)} ${SHORT[Number(month) - 1] ?? ""} ${year}`,
    pattern: /^([0-9]{1,2}) ([A-Z][a-z]{2}) ([0-9]{4})$/u,
    read: (parts) =>
      `${part(parts, 2)}-${String(SHORT.indexOf(part(parts, 1)) + 1).padStart(2, "0")}-${part(parts, 0).padStart(2, "0")}`,
    python: [
      "([0-9]{1,2}) ([A-Z][a-z]{2}) ([0-9]{4})",
      `f"{p[2]}-{${py(SHORT.join(" "))}.split().index(p[1]) + 1:02}-{int(p[0]):02}"`
        .replaceAll('"Jan', "'Jan")
        .replaceAll('Dec"', "Dec'"),
    ],
  },
  {
    id: "compact-date",
    note: "Dates may be written without marks, as YYYYMMDD.",
    write: (year, month, day) => `${year}${month}${day}`,
    pattern: /^([0-9]{4})([0-9]{2})([0-9]{2})$/u,
    read: (parts) => parts.join("-"),
    python: ["([0-9]{4})([0-9]{2})([0-9]{2})", '"-".join(p)'],
  },
  {
    id: "serial-day",
    note: "Dates may be numbers of five digits: the days since 1899-12-30.",
    write: (year, month, day) => String((dayOf(year, month, day) - SERIAL_START) / DAY_MS),
    pattern: /^([0-9]{5})$/u,
    read: (parts) => isoOf(SERIAL_START + DAY_MS * Number(part(parts, 0))),
    python: ["([0-9]{5})", "str(datetime.date(1899, 12, 30) + datetime.timedelta(days=int(p[0])))"],
  },
  {
    id: "day-of-year",
    note: "Dates may be a year, a slash and the number of the day in the year, as in 2024/366 for the last day of 2024.",
    write: (year, month, day) =>
      `${year}/${String((dayOf(year, month, day) - dayOf(year, "01", "01")) / DAY_MS + 1).padStart(3, "0")}`,
    pattern: /^([0-9]{4})\/([0-9]{3})$/u,
    read: (parts) => isoOf(dayOf(part(parts, 0), "01", "01") + DAY_MS * (Number(part(parts, 1)) - 1)),
    python: ["([0-9]{4})/([0-9]{3})", "str(datetime.date(int(p[0]), 1, 1) + datetime.timedelta(days=int(p[1]) - 1))"],
  },
  {
    id: "with-time",
    note: "Dates may be followed by a time of the day, as in '2024-03-05 14:20' or '2024-03-05T14:20'; it is dropped.",
    write: (year, month, day) => `${year}-${month}-${day}${Number(day) % 2 === 0 ? "T" : " "}${month}:20`,
    pattern: /^([0-9]{4}-[0-9]{2}-[0-9]{2})[ T][0-9]{2}:[0-9]{2}$/u,
    read: (parts) => part(parts, 0),
    python: ["([0-9]{4}-[0-9]{2}-[0-9]{2})[ T][0-9]{2}:[0-9]{2}", "p[0]"],
  },
  {
    id: "with-weekday",
    note: "The weekday may stand before a date, as in 'Tue 2024-03-05'; it is dropped.",
    write: (year, month, day) =>
      `${WEEKDAYS[new Date(dayOf(year, month, day)).getUTCDay()] ?? ""} ${year}-${month}-${day}`,
    pattern: /^[A-Z][a-z]{2} ([0-9]{4}-[0-9]{2}-[0-9]{2})$/u,
    read: (parts) => part(parts, 0),
    python: ["[A-Z][a-z]{2} ([0-9]{4}-[0-9]{2}-[0-9]{2})", "p[0]"],
  },
];

export const DATES: readonly CellCorruption[] = FORMS.map(({ id, note, write, pattern, read, python }) => ({
  id,
  types: ["date"],
  note: () => note,
  dirty: (cell) => {
    const parts = ISO.exec(cell);
    return parts === null ? null : write(parts[1] ?? "", parts[2] ?? "", parts[3] ?? "");
  },
  clean: (cell) => {
    const parts = pattern.exec(cell);
    return parts === null ? cell : read(parts.slice(1));
  },
  python: () => [
    `match = re.fullmatch(r"${python[0]}", cell)`,
    "if match:",
    "    p = match.groups()",
    `    cell = ${python[1]}`,
  ],
}));
