/** Games against plain search over all lines of play, with rules that are written anew from the prompts. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { games } from "../../../../../ts/environments/catalogue/logic/games/index.ts";
import type { Level, Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 100 : 8;

function rowOf(id: string): Row {
  const row = games.rows.find((one) => one.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  return row;
}

function* instancesOf<Instance>(id: string, levels: readonly Level[]): Generator<Instance> {
  const rng = createRng(25);
  for (const level of levels)
    for (let count = 0; count < INSTANCES; count++) yield drawInstance(rowOf(id), level, rng).instance as Instance;
}

function indices(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

test("heap-game-move: the winning moves are those after which the opponent loses", () => {
  interface Heaps {
    readonly heaps: number[];
    readonly takes: number[];
    readonly splits: boolean;
    readonly winning: string[];
  }
  for (const one of instancesOf<Heaps>("heap-game-move", [1, 2])) {
    const known = new Map<string, boolean>();
    const next = (heaps: readonly number[]): [string, number[]][] =>
      heaps.flatMap((heap, index) =>
        one.takes
          .filter((take) => take <= heap)
          .map((take): [string, number[]] => [`${"ABCDEF"[index]} ${take}`, heaps.with(index, heap - take)]),
      );
    const wins = (heaps: readonly number[]): boolean => {
      const key = heaps.toSorted((a, b) => a - b).join();
      const value = known.get(key) ?? next(heaps).some(([, after]) => !wins(after));
      known.set(key, value);
      return value;
    };
    const right = next(one.heaps).flatMap(([move, after]) => (wins(after) ? [] : [move]));
    expect(one.winning).toEqual(right);
  }
});

test("line-game-tactic: each column has the value that search without cuts finds", () => {
  interface Board {
    readonly columns: string[];
    readonly height: number;
    readonly line: number;
    readonly values: (number | null)[];
  }
  for (const { columns, height, line, values } of instancesOf<Board>("line-game-tactic", [1])) {
    const hasLine = (board: readonly string[], stone: string): boolean =>
      board.some((_, column) =>
        indices(height).some((row) =>
          [
            [1, 0],
            [0, 1],
            [1, 1],
            [1, -1],
          ].some(([right = 0, up = 0]) =>
            indices(line).every((step) => board[column + right * step]?.[row + up * step] === stone),
          ),
        ),
      );
    const result = (board: readonly string[], mover: string): number => {
      const other = mover === "X" ? "O" : "X";
      if (hasLine(board, other)) return -1;
      const open = indices(board.length).filter((column) => (board[column] ?? "").length < height);
      if (open.length === 0) return 0;
      return Math.max(...open.map((column) => -result(board.with(column, `${board[column]}${mover}`), other)));
    };
    for (const [column, value] of values.entries())
      if (value !== null) expect(0 - result(columns.with(column, `${columns[column]}X`), "O")).toBe(value);
  }
});

test("pursuit-plan: fewer turns do not suffice, the named number does, and first moves are right by depth", () => {
  interface Chase {
    readonly links: number[][];
    readonly pursuers: number[];
    readonly evader: number;
    readonly turns: number;
  }
  for (const one of instancesOf<Chase>("pursuit-plan", [1, 2])) {
    const steps = (node: number): number[] => [node, ...(one.links[node] ?? [])];
    const catches = (pursuer: number, evader: number, turns: number): boolean =>
      turns > 0 && steps(pursuer).some((place) => escapesNot(place, evader, turns));
    const escapesNot = (place: number, evader: number, turns: number): boolean =>
      place === evader || steps(evader).every((flight) => flight === place || catches(place, flight, turns - 1));
    const [pursuer = 0] = one.pursuers;
    expect(catches(pursuer, one.evader, one.turns)).toBe(true);
    expect(catches(pursuer, one.evader, one.turns - 1)).toBe(false);
    for (const place of steps(pursuer)) {
      const isRight = escapesNot(place, one.evader, one.turns);
      expect(rowOf("pursuit-plan").score(one, `${one.turns}: ${place + 1}`)).toBe(Number(isRight));
    }
  }
});

test("edge-linking-move: whole boards decide, and plain search finds the same moves", () => {
  for (const one of instancesOf<{ size: number; cells: string; winning: number[] }>("edge-linking-move", [1, 2])) {
    const { size } = one;
    const links = (board: string): boolean => {
      const reach = (cell: number, seen: readonly number[]): boolean => {
        if (cell % size === size - 1) return true;
        const near = [1, -1, size, -size, size - 1, 1 - size].map((step) => cell + step);
        return near.some((other) => {
          const isBeside = Math.abs((other % size) - (cell % size)) <= 1 && other >= 0 && other < size * size;
          return isBeside && board[other] === "X" && !seen.includes(other) && reach(other, [...seen, other]);
        });
      };
      return indices(size).some((row) => board[row * size] === "X" && reach(row * size, [row * size]));
    };
    const wins = (board: string, mover: string): boolean => {
      const free = indices(board.length).filter((cell) => board[cell] === ".");
      if (free.length === 0) return links(board);
      const results = free.map((cell) =>
        wins(board.slice(0, cell) + mover + board.slice(cell + 1), mover === "X" ? "O" : "X"),
      );
      return mover === "X" ? results.includes(true) : !results.includes(false);
    };
    const right = indices(one.cells.length).filter(
      (cell) => one.cells[cell] === "." && wins(`${one.cells.slice(0, cell)}X${one.cells.slice(cell + 1)}`, "O"),
    );
    expect(one.winning).toEqual(right);
  }
});

test("box-closing-endgame: the margin is that of plain search", () => {
  interface Boxes {
    readonly height: number;
    readonly width: number;
    readonly open: number[];
    readonly margin: number;
    readonly best: number[];
  }
  for (const { height, width, open, margin, best } of instancesOf<Boxes>("box-closing-endgame", [1, 2])) {
    const boxes = indices(height * width).map((box) => {
      const upright = (height + 1) * width + Math.floor(box / width) * (width + 1) + (box % width);
      return [box, box + width, upright, upright + 1].filter((side) => open.includes(side));
    });
    const gain = (left: readonly number[], side: number): number => {
      const closed = boxes.filter(
        (box) => box.includes(side) && box.every((one) => one === side || !left.includes(one)),
      );
      const rest = left.filter((one) => one !== side);
      return closed.length > 0 ? closed.length + lead(rest) : -lead(rest);
    };
    const lead = (left: readonly number[]): number =>
      left.length === 0 ? 0 : Math.max(...left.map((side) => gain(left, side)));
    expect(lead(open)).toBe(margin);
    expect(open.flatMap((side, index) => (gain(open, side) === margin ? [index] : []))).toEqual(best);
  }
});

test("code-breaking: of all codes only the gold one agrees", () => {
  interface Codes {
    readonly symbols: number;
    readonly guesses: string[];
    readonly marks: [number, number][];
    readonly code: string;
  }
  for (const { symbols, guesses, marks, code } of instancesOf<Codes>("code-breaking", [1, 2, 3])) {
    const alphabet = "ABCDEFGH".slice(0, symbols);
    const agree = indices(symbols ** code.length)
      .map((number) =>
        indices(code.length)
          .map((place) => alphabet[Math.floor(number / symbols ** place) % symbols])
          .join(""),
      )
      .filter((one) =>
        guesses.every((guess, index) => {
          const placed = guess.split("").filter((letter, place) => letter === one[place]).length;
          const common = alphabet
            .split("")
            .reduce((sum, letter) => sum + Math.min(guess.split(letter).length, one.split(letter).length) - 1, 0);
          return placed === marks[index]?.[0] && common - placed === marks[index]?.[1];
        }),
      );
    expect(agree).toEqual([code]);
  }
});

test("token-graph-outcomes: outcomes are those of games of bounded length", () => {
  for (const { arrows, outcomes } of instancesOf<{ arrows: number[][]; outcomes: string }>(
    "token-graph-outcomes",
    [1, 2],
  )) {
    const wins = (node: number, moves: number): boolean =>
      moves > 0 && (arrows[node] ?? []).some((next) => loses(next, moves - 1));
    const loses = (node: number, moves: number): boolean =>
      (arrows[node] ?? []).every((next) => moves > 0 && wins(next, moves - 1));
    const found = arrows.map((_, node) => (wins(node, 9) ? "W" : loses(node, 9) ? "L" : "D"));
    expect(found.join("")).toBe(outcomes);
  }
});
