/** What a question gives, by loops over the rows and without SQL. */
import { at } from "../../lists.ts";
import type { By, Measure, Row, Spec } from "./spec.ts";

export type Cell = number | string | null;

/** The rows of the result: the id, then the measures. */
export function solved(spec: Spec, table: readonly Row[]): Cell[][] {
  const rows = table.filter(({ state }) => spec.only === null || state === spec.only).toSorted(inOrder);
  const columns = spec.measures.map((measure) => columnOf(measure, rows));
  const kept = rows.filter((row) => isKept(spec, row, rows, columns));
  const sorted = kept.toSorted((a, b) => {
    if (spec.order === "latest-first") return b.day - a.day || a.id - b.id;
    if (spec.order === "owner" && a.owner !== b.owner) return a.owner < b.owner ? -1 : 1;
    return a.id - b.id;
  });
  return sorted.map(({ id }) => [id, ...columns.map((column) => column.get(id) ?? null)]);
}

function inOrder(a: Row, b: Row): number {
  return a.day - b.day || a.id - b.id;
}

function isKept(spec: Spec, row: Row, rows: readonly Row[], columns: readonly ReadonlyMap<number, Cell>[]): boolean {
  const { keep, measures } = spec;
  if (keep === null) return true;
  if (keep.is === "latest") return rows.findLast(({ owner }) => owner === row.owner) === row;
  if (keep.is === "most") {
    const value = at(columns, 0).get(row.id) ?? null;
    return typeof value === "number" && value <= keep.value;
  }
  const [first] = measures;
  if (first === undefined) return true;
  const group = rows.filter((one) => groupOf(one, first.by) === groupOf(row, first.by));
  return streakOf(row, group, first.size).at(-1) === row;
}

function groupOf({ owner, state }: Row, by: By): string {
  return by === "all" ? "" : by === "owner" ? owner : by === "state" ? state : `${owner}\n${state}`;
}

/** Values by id. `rows` are in order. */
function columnOf(measure: Measure, rows: readonly Row[]): Map<number, Cell> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = groupOf(row, measure.by);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  const column = new Map<number, Cell>();
  for (const group of groups.values())
    for (const [place, row] of group.entries()) column.set(row.id, valueOf(measure, group, place, row));
  return column;
}

function valueOf(measure: Measure, group: readonly Row[], place: number, row: Row): Cell {
  const { kind, size } = measure;
  const soFar = (): readonly Row[] => group.slice(0, place + 1);
  const earlier = group.slice(0, place);
  const previous = earlier.at(-1);
  switch (kind) {
    case "row-number":
      return measure.down ? group.length - place : place + 1;
    case "rank":
      return 1 + group.filter((other) => comesBefore(other, row, measure.down)).length;
    case "dense-rank":
      return 1 + new Set(group.filter((other) => comesBefore(other, row, measure.down)).map(({ value }) => value)).size;
    case "tile":
      return tileOf(measure, group, row);
    case "running-rows":
      return sumOf(soFar());
    case "running-days":
      return sumOf(group.filter(({ day }) => day <= row.day));
    case "moving-rows":
      return sumOf(group.slice(Math.max(0, place + 1 - size), place + 1));
    case "moving-days":
      return sumOf(group.filter(({ day }) => day <= row.day && day > row.day - size));
    case "around":
      return largestOf([...group.slice(Math.max(0, place - size), place), ...group.slice(place + 1, place + 1 + size)]);
    case "previous":
      return previous?.value ?? null;
    case "change":
      return row.value === null || previous === undefined || previous.value === null
        ? null
        : row.value - previous.value;
    case "last-known":
      return earlier.findLast(({ value }) => value !== null)?.value ?? null;
    case "last-of-all":
      return group.at(-1)?.value ?? null;
    case "share": {
      const total = sumOf(group);
      return row.value === null || total === 0 ? null : Math.floor((100 * row.value) / total);
    }
    default:
      return sequenceValue(measure, group, place, row);
  }
}

function sequenceValue({ kind, size }: Measure, group: readonly Row[], place: number, row: Row): Cell {
  const earlier = group.slice(0, place);
  switch (kind) {
    case "streak-number":
      return 1 + earlier.filter((_, index) => at(group, index + 1).day - at(group, index).day > size).length;
    case "streak-size":
      return streakOf(row, group, size).length;
    case "streak-start":
      return at(streakOf(row, group, size), 0).day;
    case "state-run":
      return place - earlier.findLastIndex(({ state }) => state !== row.state);
    case "states-so-far":
      return new Set(group.slice(0, place + 1).map(({ state }) => state)).size;
    case "record":
      return Number(row.value !== null && earlier.every(({ value }) => value === null || value < Number(row.value)));
    case "smaller":
      return row.value === null
        ? null
        : group.filter(({ value }) => value !== null && value < Number(row.value)).length;
    default: {
      const before = earlier.findLast(({ day }) => day < row.day);
      return before === undefined ? null : row.day - before.day;
    }
  }
}

function comesBefore(a: Row, b: Row, down: boolean): boolean {
  if (a.value === null || b.value === null) return a.value !== null && b.value === null;
  return down ? a.value > b.value : a.value < b.value;
}

function tileOf({ size, down }: Measure, group: readonly Row[], row: Row): number {
  const sorted = group.toSorted((a, b) => (comesBefore(a, b, down) ? -1 : comesBefore(b, a, down) ? 1 : a.id - b.id));
  let left = sorted.indexOf(row);
  const [least, more] = [Math.floor(group.length / size), group.length % size];
  for (let tile = 1; ; tile++) {
    left -= least + Number(tile <= more);
    if (left < 0) return tile;
  }
}

/** The rows around this one without a step of more than `size` days. `group` is in order. */
function streakOf(row: Row, group: readonly Row[], size: number): Row[] {
  const place = group.indexOf(row);
  let [first, last] = [place, place];
  while (first > 0 && at(group, first).day - at(group, first - 1).day <= size) first--;
  while (last < group.length - 1 && at(group, last + 1).day - at(group, last).day <= size) last++;
  return group.slice(first, last + 1);
}

function sumOf(rows: readonly Row[]): number {
  return rows.reduce((sum, { value }) => sum + (value ?? 0), 0);
}

function largestOf(rows: readonly Row[]): number | null {
  const values = rows.flatMap(({ value }) => (value === null ? [] : [value]));
  return values.length === 0 ? null : Math.max(...values);
}
