/** guarded-board-placements: placements of pieces on a board with holes so that no piece attacks another. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { binomial } from "../number-theory.ts";

type Piece = "king" | "knight" | "jumper" | "guard";

interface Problem {
  rows: number;
  columns: number;
  piece: Piece;
  pieces: number;
  /** Cells without a place for a piece, `[row, column]` from 0. */
  holes: [number, number][];
}

/** By level: least and most rows, least and most columns, pieces, holes. */
const SIZES = [
  [2, 3, 3, 3, 2, 1],
  [3, 4, 3, 4, 3, 2],
  [4, 5, 4, 4, 4, 2],
  [6, 7, 4, 5, 6, 3],
  [8, 10, 5, 5, 9, 4],
] as const;

export const guardedBoardPlacements = exactRow<Problem>({
  id: "guarded-board-placements",
  asks: "placements of equal pieces on a board with holes so that none attacks another",
  kind: "integer",
  draw(rng, level) {
    const [least, most, narrow, wide, count, gaps] = at(SIZES, level - 1);
    const [rows, columns] = [between(rng, least, most), between(rng, narrow, wide)];
    const cells = range(rows * columns).map((cell): [number, number] => [Math.floor(cell / columns), cell % columns]);
    const holes = sample(cells, gaps, rng).toSorted(([a, b], [c, d]) => a - c || b - d);
    return { rows, columns, piece: rng.pick(["king", "knight", "jumper", "guard"] as const), pieces: count, holes };
  },
  solve(problem) {
    const value = countOf(problem);
    return value < 4n ? null : { value: String(value), steps: problem.rows * problem.pieces * 2 ** problem.columns };
  },
  prompts: [
    (one) =>
      `In how many ways can ${one.pieces} equal pieces be put on different cells of a board with ${one.rows} rows and ${one.columns} columns so that no piece attacks another? ${moves(one)} ${holesText(one, "No piece may stand on")}`,
    (one) =>
      `Watchmen are posted in a yard of ${one.rows} × ${one.columns} square plots (rows × columns), at most one on a plot. ${moves(one).replaceAll("pieces", "watchmen").replaceAll("piece", "watchman")} They must not attack each other. ${holesText(one, "Not available:")} Count the ways to choose ${one.pieces} plots.`,
    (one) =>
      `${moves(one)} Consider the board of ${one.rows} rows and ${one.columns} columns. ${holesText(one, "Removed from it:")} How many sets of ${one.pieces} cells are there in which pieces on any two cells do not attack each other?`,
    (one) =>
      `Let G be the graph on the cells of a ${one.rows}-by-${one.columns} grid (rows by columns) in which two cells are joined if a piece could attack from one to the other. ${moves(one)} ${holesText(one, "Deleted vertices:")} Find the number of independent sets of exactly ${one.pieces} vertices.`,
  ],
  slips(problem) {
    const { rows, columns, pieces: count } = problem;
    return [
      binomial(rows * columns - problem.holes.length, count),
      countOf({ ...problem, holes: [] }),
      countOf({ ...problem, piece: problem.piece === "king" ? "guard" : "king" }),
      countOf({ ...problem, pieces: count - 1 }),
    ];
  },
});

/** Steps `[rows, columns]` of an attack, up to signs. */
const ATTACKS: Readonly<Record<Piece, readonly (readonly [number, number])[]>> = {
  king: [
    [0, 1],
    [1, 0],
    [1, 1],
  ],
  knight: [
    [1, 2],
    [2, 1],
  ],
  jumper: [
    [0, 2],
    [2, 0],
    [1, 1],
  ],
  guard: [
    [0, 1],
    [1, 0],
    [0, 2],
    [2, 0],
  ],
};

/** Row by row: the last two rows and the number of pieces are the state. */
function countOf({ rows, columns, piece, pieces: count, holes: gaps }: Problem): bigint {
  const attacks = ATTACKS[piece];
  const masks = range(2 ** columns);
  const clashes = (upper: number, lower: number, distance: number): boolean =>
    attacks.some(
      ([down, across]) =>
        down === distance &&
        ((distance === 0 ? upper & (upper << across) : (upper << across) & lower) !== 0 ||
          ((lower << across) & upper) !== 0),
    );
  const alone = masks.filter((mask) => !clashes(mask, mask, 0));
  const near = masks.map((a) => masks.map((b) => !clashes(a, b, 1)));
  const far = masks.map((a) => masks.map((b) => !clashes(a, b, 2)));
  const sizes = masks.map((mask) => range(columns).filter((column) => ((mask >> column) & 1) === 1).length);
  let ways = new Map([[0, { before: 0, last: 0, used: 0, number: 1 }]]);
  for (let row = 0; row < rows; row++) {
    const blocked = gaps.reduce((mask, [y, x]) => (y === row ? mask | (1 << x) : mask), 0);
    const free = alone.filter((mask) => (mask & blocked) === 0);
    const after: typeof ways = new Map();
    for (const { before, last, used, number } of ways.values()) {
      for (const next of free) {
        const total = used + at(sizes, next);
        if (total > count || !at(at(near, last), next) || !at(at(far, before), next)) continue;
        const key = (total * masks.length + last) * masks.length + next;
        const known = after.get(key);
        if (known === undefined) after.set(key, { before: last, last: next, used: total, number });
        else known.number += number;
      }
    }
    ways = after;
  }
  let sum = 0;
  for (const { used, number } of ways.values()) if (used === count) sum += number;
  return BigInt(sum);
}

function moves({ piece }: Problem): string {
  const text = {
    king: "all cells that touch its cell by a side or a corner",
    knight: "the cells that are two steps away in one direction (along a row or a column) and one step across",
    jumper:
      "the cells exactly two steps away along its row or its column (jumping over what is between), and the cells that touch its cell by a corner only",
    guard: "the cells at most two steps away along its row or its column, also over other pieces and missing cells",
  }[piece];
  return `A piece attacks ${text}.`;
}

function holesText({ holes: gaps }: Problem, head: string): string {
  return `${head} ${gaps.map(([row, column]) => `row ${row + 1} column ${column + 1}`).join("; ")}.`;
}
