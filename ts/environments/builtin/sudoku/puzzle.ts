/** Puzzles with exactly one solution, and the solver that says so. */
import type { Rng } from "../../rng.ts";
import { groupsOf, type Kind, type Size } from "./groups.ts";

/** Numbers 1 to size by cell; 0 is empty. */
export type Grid = readonly number[];

export interface Puzzle {
  givens: Grid;
  solution: Grid;
}

/** A random puzzle. Of its cells the share `blanks` is empty, or as many as leave it one solution. */
export function makePuzzle(size: Size, kind: Kind, blanks: number, rng: Rng): Puzzle {
  const groups = groupsOf(size, kind);
  const [solution] = solve(
    Array.from({ length: size * size }, () => 0),
    groups,
    size,
    1,
    rng,
  );
  if (solution === undefined) throw new Error(`no ${kind} grid of size ${size} exists`);
  const givens = [...solution];
  let left = Math.round(blanks * givens.length);
  for (const cell of shuffled(givens.keys(), rng)) {
    if (left === 0) break;
    const kept = givens[cell] ?? 0;
    givens[cell] = 0;
    if (solve(givens, groups, size, 2).length === 1) left--;
    else givens[cell] = kept;
  }
  return { givens, solution };
}

/** Up to `limit` solutions. With `rng` in random order, else the same every time. */
export function solve(
  grid: Grid,
  groups: readonly (readonly number[])[],
  size: number,
  limit: number,
  rng?: Rng,
): Grid[] {
  const cells = [...grid];
  const found: Grid[] = [];
  const groupsAt = cells.map((_, cell) => groups.flatMap((group, index) => (group.includes(cell) ? [index] : [])));
  // One bit per number that a group has.
  const used = groups.map((group) => group.reduce((bits, cell) => bits | bitOf(cells[cell] ?? 0), 0));
  if (groups.some((group) => hasTwice(group.map((cell) => cells[cell] ?? 0)))) return [];

  const candidates = (cell: number): number[] => {
    const taken = (groupsAt[cell] ?? []).reduce((bits, group) => bits | (used[group] ?? 0), 0);
    return Array.from({ length: size }, (_, index) => index + 1).filter((number) => (taken & bitOf(number)) === 0);
  };
  const put = (cell: number, number: number): void => {
    const bit = bitOf(number === 0 ? (cells[cell] ?? 0) : number);
    cells[cell] = number;
    for (const group of groupsAt[cell] ?? []) used[group] = (used[group] ?? 0) ^ bit;
  };
  const search = (): void => {
    let next: { cell: number; numbers: number[] } | null = null;
    for (const [cell, number] of cells.entries()) {
      if (number !== 0) continue;
      const numbers = candidates(cell);
      if (next === null || numbers.length < next.numbers.length) next = { cell, numbers };
      if (numbers.length < 2) break;
    }
    if (next === null) {
      found.push([...cells]);
      return;
    }
    for (const number of rng === undefined ? next.numbers : shuffled(next.numbers, rng)) {
      put(next.cell, number);
      search();
      put(next.cell, 0);
      if (found.length >= limit) return;
    }
  };
  search();
  return found;
}

/** Rows of a grid as text, `.` where it is empty. */
export function toRows(grid: Grid, size: number): string[] {
  return Array.from({ length: size }, (_, row) =>
    grid
      .slice(row * size, (row + 1) * size)
      .map((number) => (number === 0 ? "." : String(number)))
      .join(""),
  );
}

export function hasTwice(numbers: readonly number[]): boolean {
  const filled = numbers.filter((number) => number !== 0);
  return new Set(filled).size < filled.length;
}

function bitOf(number: number): number {
  return number === 0 ? 0 : 1 << number;
}

function shuffled<Item>(items: Iterable<Item>, rng: Rng): Item[] {
  const list = [...items];
  for (let last = list.length - 1; last > 0; last--) {
    const other = rng.integer(last + 1);
    const [a, b] = [list[last], list[other]];
    if (a !== undefined && b !== undefined) [list[last], list[other]] = [b, a];
  }
  return list;
}
