/**
 * A line plot of Braille characters, two by four dots each: values over steps, single points marked on top. It uses no colours and no
 * cursor.
 */
import { formatNumber } from "../progress/number-format.ts";
import type { PlotPoint } from "./plot.ts";

export interface TerminalPlot {
  line: readonly PlotPoint[];
  /** Drawn over the line with their own character each. */
  marks: readonly { character: string; points: readonly PlotPoint[] }[];
  /** Characters, axes included. */
  width: number;
  height: number;
}

const BRAILLE = 0x2800;
/** Bit of a dot by row and column within its character. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;
const SMALLEST = 2;

/** The plot's lines; empty when no point is finite. */
export function terminalPlot({ line, marks, width, height }: TerminalPlot): string[] {
  const points = line.filter(isFinitePoint).toSorted((a, b) => a.x - b.x);
  const marked = marks.map((mark) => ({ ...mark, points: mark.points.filter(isFinitePoint) }));
  const all = [...points, ...marked.flatMap((mark) => mark.points)];
  if (all.length === 0) return [];
  const rows = Math.max(SMALLEST, height - 2);
  const [left, right] = extent(all.map((point) => point.x));
  const [low, high] = extent(all.map((point) => point.y));
  const labels = [
    high > low ? formatNumber(high) : "",
    ...Array.from({ length: rows - 2 }, () => ""),
    formatNumber(low),
  ];
  const axis = Math.max(...labels.map((label) => label.length)) + 2;
  const columns = Math.max(SMALLEST, width - axis);
  const across = (x: number, cells: number): number => Math.round(share(x, left, right) * (cells - 1));
  const down = (y: number, cells: number): number => Math.round((1 - share(y, low, high)) * (cells - 1));

  const dots = Array.from({ length: rows }, () => Array.from({ length: columns }, () => 0));
  const draw = (column: number, row: number): void => {
    const cells = dots[row >> 2];
    if (cells !== undefined) cells[column >> 1] = (cells[column >> 1] ?? 0) | (DOTS[row & 3]?.[column & 1] ?? 0);
  };
  const placed = points.map(({ x, y }) => ({ column: across(x, columns * 2), row: down(y, rows * 4) }));
  for (const [index, to] of placed.entries()) {
    const from = placed[index - 1] ?? to;
    const length = Math.max(1, Math.abs(to.column - from.column), Math.abs(to.row - from.row));
    for (let i = 0; i <= length; i++) {
      const part = i / length;
      draw(
        Math.round(from.column + part * (to.column - from.column)),
        Math.round(from.row + part * (to.row - from.row)),
      );
    }
  }
  const cells = dots.map((row) => row.map((bits) => (bits === 0 ? " " : String.fromCodePoint(BRAILLE + bits))));
  for (const { character, points: of } of marked) {
    for (const { x, y } of of) {
      const row = cells[down(y, rows)];
      if (row !== undefined) row[across(x, columns)] = character;
    }
  }
  const [first, last] = [String(left), right > left ? String(right) : ""];
  return [
    ...cells.map((row, index) => `${(labels[index] ?? "").padStart(axis - 2)} ┤${row.join("")}`.trimEnd()),
    `${" ".repeat(axis - 1)}└${"─".repeat(columns)}`,
    `${" ".repeat(axis)}${first}${last.padStart(Math.max(1, columns - first.length))}`.trimEnd(),
  ];
}

function share(value: number, low: number, high: number): number {
  return high > low ? (value - low) / (high - low) : 0;
}

function extent(values: readonly number[]): [low: number, high: number] {
  return values.reduce<[number, number]>(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
}

function isFinitePoint({ x, y }: PlotPoint): boolean {
  return Number.isFinite(x) && Number.isFinite(y);
}
