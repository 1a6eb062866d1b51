/** anova-table-repair: the missing cells of an analysis of variance, each from identities among the others. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

/** Cells by name, such as "SS A"; blank cells are left out. */
type Table = Record<string, number>;

interface Given {
  sources: string[];
  /** Levels of the factors, and measurements in each combination of them. */
  factors: number[];
  repeats: number;
  shown: Table;
  blanks: string[];
}

/** By level: factors, blank cells. */
const KNOBS = [
  [1, 3],
  [1, 5],
  [2, 6],
  [2, 7],
  [2, 9],
] as const;

export const anovaTableRepair = quantityRow<Given>({
  id: "anova-table-repair",
  asks: "blank cells of an analysis of variance from the sums, quotients and the design",
  draw,
  solve,
  isShared: true,
  asides: [
    "The fields lie at 310 m above the sea.",
    "Harvest was in week 38.",
    "The seeds came in bags of 25 kg.",
    "Spilled coffee made the cells illegible.",
  ],
  wordings: [
    (one, aside) =>
      `Fill in the blanks of this analysis of variance (${design(one)}):\n${shownTable(one)}\n${aside} ${names(one)}`,
    (one, aside) =>
      `${names(one)} ${aside} The experiment whose table lost some of its cells: ${design(one)}.\n${shownTable(one)}`,
    (one, aside) =>
      `An old report has the table below, with cells c1, c2, ... that cannot be read any more. It belongs to ${design(one)}. ${aside} Recover them.\n${shownTable(one)}\n${names(one)}`,
    (one, aside) => `Reconstruct what is missing.\n${shownTable(one)}\nDesign: ${design(one)}. ${aside} ${names(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, blankCount] = at(KNOBS, level - 1);
  const factors = range(count).map(() => between(rng, 3, 6));
  const repeats = between(rng, 3, 7);
  const sources = count === 1 ? ["A", "error", "total"] : ["A", "B", "AxB", "error", "total"];
  const [a = 0, b = 0] = factors;
  const all = a * (count === 1 ? 1 : b) * repeats;
  const df =
    count === 1
      ? [a - 1, a * (repeats - 1), all - 1]
      : [a - 1, b - 1, (a - 1) * (b - 1), a * b * (repeats - 1), all - 1];
  const table: Table = {};
  const squares = sources.slice(0, -1).map(() => between(rng, 400, 9000) / 10);
  for (const [index, source] of sources.entries()) {
    table[`df ${source}`] = at(df, index);
    table[`SS ${source}`] = squares[index] ?? Math.round(10 * squares.reduce((x, y) => x + y, 0)) / 10;
    if (source !== "total") table[`MS ${source}`] = at(squares, index) / at(df, index);
  }
  for (const source of sources.slice(0, -2))
    table[`F ${source}`] = (table[`MS ${source}`] ?? 0) / (table["MS error"] ?? 1);
  const blanks = shuffled(Object.keys(table), rng).slice(0, blankCount);
  const shown = Object.fromEntries(
    Object.entries(table)
      .filter(([cell]) => !blanks.includes(cell))
      .map(([cell, value]) => [cell, Number(value.toPrecision(6))]),
  );
  return { sources, factors, repeats, shown, blanks };
}

function solve({ sources, shown, blanks }: Given): Solution | null {
  const known = { ...shown };
  let steps = 0;
  const order: string[] = [];
  // One cell after the other follows from an identity in which it is the only unknown one.
  for (let found = true; found;) {
    found = false;
    for (const cell of blanks) {
      if (Object.hasOwn(known, cell)) continue;
      const value = followed(cell, sources, known);
      if (value === null) continue;
      known[cell] = value;
      order.push(cell);
      found = true;
      steps += 2 + order.length;
    }
  }
  if (order.length < blanks.length) return null;
  const parts = blanks.map((cell, index) => ({
    name: `c${index + 1}`,
    value: known[cell] ?? 0,
    unit: "",
    relative: 0.005,
  }));
  if (parts.some(({ value }) => !(value > 0.05))) return null;
  const values = parts.map(({ value }) => value);
  const numbers = Object.values(shown);
  return {
    parts,
    slips: [
      values.map((value, index) => (index === 0 ? value * 1.1 : value)),
      values.map(() => numbers.reduce((a, b) => a + b, 0) / numbers.length),
      values.map((value, index) => (index === values.length - 1 ? value + 1 : value)),
    ],
    steps,
  };
}

/** Null where no identity gives the cell from known ones. Degrees of freedom follow from sums only, not from the design. */
function followed(cell: string, sources: readonly string[], known: Table): number | null {
  const [column = "", source = ""] = cell.split(" ");
  const get = (name: string): number => known[name] ?? Number.NaN;
  const parts = sources.slice(0, -1);
  const total = parts.reduce((sum, one) => sum + get(`${column} ${one}`), 0);
  const rest =
    get(`${column} total`) -
    parts.filter((one) => one !== source).reduce((sum, one) => sum + get(`${column} ${one}`), 0);
  const tries: Readonly<Record<string, number[]>> = {
    df: [source === "total" ? total : rest, get(`SS ${source}`) / get(`MS ${source}`)],
    SS: [source === "total" ? total : rest, get(`MS ${source}`) * get(`df ${source}`)],
    MS: [
      get(`SS ${source}`) / get(`df ${source}`),
      source === "error"
        ? at(
            parts.slice(0, -1).map((one) => get(`MS ${one}`) / get(`F ${one}`)),
            0,
          )
        : get(`F ${source}`) * get("MS error"),
    ],
    F: [get(`MS ${source}`) / get("MS error")],
  };
  const found = (tries[column] ?? []).find(Number.isFinite);
  return found === undefined ? null : column === "df" ? Math.round(found) : found;
}

function shownTable({ sources, shown, blanks }: Given): string {
  const text = (cell: string): string => {
    const blank = blanks.indexOf(cell);
    return blank >= 0 ? `c${blank + 1}` : Object.hasOwn(shown, cell) ? String(shown[cell]) : "";
  };
  const rows = sources.map(
    (source) => `| ${source} | ${["SS", "df", "MS", "F"].map((column) => text(`${column} ${source}`)).join(" | ")} |`,
  );
  return ["| source | SS | df | MS | F |", ...rows].join("\n");
}

function design({ factors }: Given): string {
  return factors.length === 1
    ? "one factor A, fixed effects, all groups of one size"
    : "two crossed factors A and B with fixed effects, their interaction AxB, the same number of measurements in every cell";
}

function names({ blanks }: Given): string {
  return `Give ${blanks.map((_, index) => `c${index + 1}`).join(", ")} as plain numbers; SS are sums of squares, MS mean squares, F are quotients over the mean square of the error, and the shown numbers are rounded to six figures.`;
}
