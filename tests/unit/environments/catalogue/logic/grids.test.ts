/** Grid puzzles against enumeration of all boards, with rules that are written anew from the prompts. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { grids } from "../../../../../ts/environments/catalogue/logic/grids/index.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 50 : 2;

interface Board {
  readonly solution: string[];
}
/** Symbols that a cell may have, and whether a whole board is a solution. `cell` is null where all cells are free. */
interface Rules {
  readonly symbols: (instance: never) => string;
  readonly holds: (instance: never, board: string[]) => boolean;
  /** Characters of the board that are given. */
  readonly given?: (instance: never) => (string | null)[];
}

function columnsOf(rows: readonly string[]): string[] {
  return (rows[0] ?? "").split("").map((_, column) => rows.map((row) => row[column]).join(""));
}

function lengths(line: string): number[] {
  const runs = (line.match(/#+/gu) ?? []).map((run) => run.length);
  return runs.length === 0 ? [0] : runs;
}

/** # where both lines have one. */
function overlap(line: string, below: string): string {
  return line
    .split("")
    .map((cell, column) => (cell === "#" && below[column] === "#" ? "#" : "."))
    .join("");
}

function seenIn(line: string): number {
  return line.split("").filter((height, place) =>
    line
      .slice(0, place)
      .split("")
      .every((one) => one < height),
  ).length;
}

/** Cells that are reached from the first one of the symbol. */
function pieces(rows: readonly string[], symbol: string): number {
  const open = new Set(
    rows.flatMap((row, r) => row.split("").flatMap((cell, c) => (cell === symbol ? [`${r},${c}`] : []))),
  );
  let count = 0;
  for (const start of open) {
    count += 1;
    const stack = [start];
    while (stack.length > 0) {
      const cell = stack.pop() ?? "";
      if (!open.delete(cell)) continue;
      const [r = 0, c = 0] = cell.split(",").map(Number);
      stack.push(`${r + 1},${c}`, `${r - 1},${c}`, `${r},${c + 1}`, `${r},${c - 1}`);
    }
  }
  return count;
}

function distinctIn(lines: readonly string[]): boolean {
  return lines.every((line) => new Set(line).size === line.length);
}

function near(rows: readonly string[], row: number, column: number, diagonal: boolean): string[] {
  const found: string[] = [];
  for (let r = -1; r <= 1; r++)
    for (let c = -1; c <= 1; c++) {
      if ((r === 0 && c === 0) || (!diagonal && r !== 0 && c !== 0)) continue;
      found.push(rows[row + r]?.[column + c] ?? "");
    }
  return found;
}

const RULES: Readonly<Record<string, Rules>> = {
  "line-run-picture": {
    symbols: () => "#.",
    holds: ({ rows, columns }: { rows: number[][]; columns: number[][] }, board) =>
      board.every((line, row) => lengths(line).join() === rows[row]?.join()) &&
      columnsOf(board).every((line, column) => lengths(line).join() === columns[column]?.join()),
  },
  "cage-sum-grid": {
    symbols: () => "123",
    given: ({ size, givens }: { size: number; givens: [number, number][] }) =>
      Array.from({ length: size * size }, (_, cell) => givens.find(([one]) => one === cell)?.[1]?.toString() ?? null),
    holds: ({ cages }: { cages: { cells: number[]; rule: string; value: number }[] }, board) =>
      distinctIn([...board, ...columnsOf(board)]) &&
      cages.every(({ cells, rule, value }) => {
        const [a = 0, ...rest] = cells.map((cell) => Number(board.join("")[cell])).toSorted((x, y) => y - x);
        return rest.reduce((x, y) => (rule === "sum" ? x + y : rule === "product" ? x * y : x - y), a) === value;
      }),
  },
  "skyline-views": {
    symbols: () => "123",
    given: ({ size, givens }: { size: number; givens: [number, number][] }) =>
      Array.from({ length: size * size }, (_, cell) => givens.find(([one]) => one === cell)?.[1]?.toString() ?? null),
    holds: ({ views }: { views: number[][] }, board) => {
      const turned = (lines: string[]): string[] => lines.map((line) => line.split("").toReversed().join(""));
      const sides = [columnsOf(board), turned(columnsOf(board)), board, turned(board)];
      return (
        distinctIn([...board, ...columnsOf(board)]) &&
        sides.every((lines, side) =>
          lines.every((line, index) => [0, seenIn(line)].includes(views[side]?.[index] ?? -1)),
        )
      );
    },
  },
  "single-loop-grid": {
    symbols: () => "#.",
    holds: ({ counts, width }: { counts: number[]; width: number }, board) => {
      const frame = ".".repeat(width + 2);
      const framed = [frame, ...board.map((line) => `.${line}.`), frame];
      return (
        pieces(framed, "#") === 1 &&
        pieces(framed, ".") === 1 &&
        counts.every((count, cell) => {
          const [row, column] = [Math.floor(cell / width) + 1, (cell % width) + 1];
          const sides = near(framed, row, column, false).filter((other) => other !== framed[row]?.[column]).length;
          return count === -1 || count === sides;
        })
      );
    },
  },
  "shade-repeat-grid": {
    symbols: () => "#.",
    holds: ({ numbers, size }: { numbers: number[]; size: number }, board) => {
      const touching = board.some((line, row) => line.includes("##") || /#/u.test(overlap(line, board[row + 1] ?? "")));
      if (touching) return false;
      const grid = board.map((_, row) => numbers.slice(row * size, (row + 1) * size).join(""));
      const kept = board.map((line, row) =>
        line
          .split("")
          .map((cell, c) => (cell === "." ? grid[row]?.[c] : " "))
          .join(""),
      );
      const lines = [...kept, ...columnsOf(kept)].map((line) => line.replaceAll(" ", ""));
      const isAlone = (row: number, column: number): boolean => {
        const value = grid[row]?.[column] ?? "";
        return (grid[row] ?? "").split(value).length === 2 && (columnsOf(grid)[column] ?? "").split(value).length === 2;
      };
      return (
        distinctIn(lines) &&
        pieces(board, ".") === 1 &&
        board.every((line, row) => line.split("").every((cell, column) => cell === "." || !isAlone(row, column)))
      );
    },
  },
  "lamp-grid": {
    symbols: () => "*.",
    given: ({ board }: { board: string[] }) =>
      board
        .join("")
        .split("")
        .map((cell) => (cell === "." ? null : cell)),
    holds: (_, board) => {
      const runs = [...board, ...columnsOf(board)].flatMap((line) => line.split(/[#\d]/u));
      if (runs.some((run) => run.split("*").length > 2)) return false;
      return board.every((line, row) =>
        line.split("").every((cell, column) => {
          if (/\d/u.test(cell))
            return near(board, row, column, false).filter((one) => one === "*").length === Number(cell);
          if (cell !== ".") return true;
          const across = /[^#\d]*$/u.exec(line.slice(0, column))?.[0] ?? "";
          const behind = /^[^#\d]*/u.exec(line.slice(column))?.[0] ?? "";
          const down = columnsOf(board)[column] ?? "";
          const above = /[^#\d]*$/u.exec(down.slice(0, row))?.[0] ?? "";
          const below = /^[^#\d]*/u.exec(down.slice(row))?.[0] ?? "";
          return (across + behind + above + below).includes("*");
        }),
      );
    },
  },
};

function* boards(free: (string | null)[], symbols: string): Generator<string> {
  const open = free.filter((cell) => cell === null).length;
  for (let code = 0; code < symbols.length ** open; code++) {
    let rest = code;
    let text = "";
    for (const cell of free) {
      text += cell ?? symbols[rest % symbols.length] ?? "";
      if (cell === null) rest = Math.floor(rest / symbols.length);
    }
    yield text;
  }
}

test.each(Object.entries(RULES))(
  "%s: of all boards only the gold one keeps the rules",
  (id, { symbols, holds, given }) => {
    const row = grids.rows.find((one) => one.id === id);
    if (row === undefined) throw new Error(`no row ${id}`);
    const rng = createRng(3);
    for (let count = 0; count < INSTANCES; count++) {
      const { instance } = drawInstance(row, 1, rng);
      const { solution } = instance as Board;
      const width = solution[0]?.length ?? 0;
      const free = given?.(instance as never) ?? Array.from({ length: width * solution.length }, () => null);
      const right: string[] = [];
      for (const text of boards(free, symbols(instance as never))) {
        const board = solution.map((_, line) => text.slice(line * width, (line + 1) * width));
        if (holds(instance as never, board)) right.push(text);
      }
      expect(right).toEqual([solution.join("")]);
    }
  },
);

function rowOf(id: string) {
  const row = grids.rows.find((one) => one.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  return row;
}

function* orders(items: readonly number[]): Generator<number[]> {
  if (items.length === 0) yield [];
  else for (const item of items) for (const rest of orders(items.filter((one) => one !== item))) yield [item, ...rest];
}

test("region-star-grid: of all placements only the gold one keeps the rules", () => {
  const rng = createRng(4);
  for (let count = 0; count < 4 * INSTANCES; count++) {
    const { instance } = drawInstance(rowOf("region-star-grid"), count % 2 === 0 ? 1 : 2, rng);
    const { regions, solution } = instance as Board & { regions: string[] };
    const right = [...orders(regions.map((_, column) => column))].filter(
      (columns) =>
        new Set(columns.map((column, row) => regions[row]?.[column])).size === columns.length &&
        columns.every((column, row) => row === 0 || Math.abs(column - (columns[row - 1] ?? 0)) > 1),
    );
    expect(
      right.map((columns) => columns.map((column) => ".".repeat(column).concat("*").padEnd(columns.length, "."))),
    ).toEqual([solution]);
  }
});

test("tent-matching-grid: of all sets of cells only the gold one keeps the rules", () => {
  const rng = createRng(5);
  for (let count = 0; count < INSTANCES; count++) {
    const { instance } = drawInstance(rowOf("tent-matching-grid"), 1, rng);
    const camp = instance as Board & { size: number; trees: number[]; rows: number[]; columns: number[] };
    const { size, trees, rows, columns, solution } = camp;
    const isNear = (a: number, b: number): boolean => {
      const [down, right] = [Math.floor(a / size) - Math.floor(b / size), (a % size) - (b % size)];
      return down * down + right * right === 1;
    };
    const right = new Set<string>();
    const cells = Array.from({ length: size * size }, (_, cell) => cell).filter((cell) => !trees.includes(cell));
    const choose = (from: number, chosen: number[]): void => {
      if (chosen.length === trees.length) {
        const fits =
          rows.every((number, row) => chosen.filter((cell) => Math.floor(cell / size) === row).length === number) &&
          columns.every((number, column) => chosen.filter((cell) => cell % size === column).length === number) &&
          [...orders(chosen)].some((order) => order.every((cell, tree) => isNear(cell, trees[tree] ?? -9)));
        if (fits) right.add(chosen.join());
        return;
      }
      for (let index = from; index < cells.length; index++) {
        const cell = cells[index] ?? 0;
        const apart = chosen.every((other) => {
          const [down, over] = [Math.floor(cell / size) - Math.floor(other / size), (cell % size) - (other % size)];
          return Math.max(Math.abs(down), Math.abs(over)) > 1;
        });
        if (apart && trees.some((tree) => isNear(cell, tree))) choose(index + 1, [...chosen, cell]);
      }
    };
    choose(0, []);
    const gold = solution
      .join("")
      .split("")
      .flatMap((cell, index) => (cell === "A" ? [index] : []));
    expect([...right]).toEqual([gold.join()]);
  }
});

test("mine-certainty: verdicts are those of all fields that fit", () => {
  const rng = createRng(6);
  for (let count = 0; count < 4 * INSTANCES; count++) {
    const { instance } = drawInstance(rowOf("mine-certainty"), 1, rng);
    const { shown, width, solution } = instance as Board & { shown: number[]; width: number };
    const covered = shown.flatMap((number, cell) => (number < 0 ? [cell] : []));
    const seen = covered.map(() => new Set<boolean>());
    for (let code = 0; code < 2 ** covered.length; code++) {
      const text = shown.map((_, cell) => ((code >> covered.indexOf(cell)) & 1 && covered.includes(cell) ? "*" : "."));
      const rows = solution.map((_, row) => text.slice(row * width, (row + 1) * width).join(""));
      const fits = shown.every((number, cell) => {
        const around = near(rows, Math.floor(cell / width), cell % width, true);
        return number < 0 || around.filter((one) => one === "*").length === number;
      });
      if (fits) for (const [index, cell] of covered.entries()) seen[index]?.add(text[cell] === "*");
    }
    const verdicts = seen.map((values) => (values.size === 2 ? "?" : values.has(true) ? "m" : "s"));
    expect(covered.map((cell) => solution.join("")[cell])).toEqual(verdicts);
  }
});

test("piece-packing and path-pairing-grid: boards are judged by their cells", () => {
  const rng = createRng(8);
  for (let count = 0; count < 4 * INSTANCES; count++) {
    const { instance } = drawInstance(rowOf("piece-packing"), 2, rng);
    const { pieces: parts, solution } = instance as Board & { pieces: string[][] };
    for (const [index, part] of parts.entries()) {
      const letter = "ABCDEFGHIJ"[index] ?? "";
      expect(pieces(solution, letter)).toBe(1);
      expect(solution.join("").split(letter).length).toBe(part.join("").split("#").length);
    }
    const turned = solution.toReversed().map((line) => line.split("").toReversed().join(""));
    expect(rowOf("piece-packing").score(instance, turned.join("\n"))).toBe(1);

    const { instance: paths } = drawInstance(rowOf("path-pairing-grid"), 1, rng);
    const { ends, solution: filled, size } = paths as Board & { ends: number[]; size: number };
    let right = 0;
    for (let cell = 0; cell < size * size; cell++) {
      const letter = filled.join("")[cell] ?? "";
      const same = near(filled, Math.floor(cell / size), cell % size, false).filter((one) => one === letter).length;
      right += Number(same === (ends[cell] === -1 ? 2 : 1) && pieces(filled, letter) === 1);
    }
    expect(right).toBe(size * size);
  }
});
