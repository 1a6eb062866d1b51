/** sudoku: grids of 4, 6 or 9 with one solution; plain, Latin squares without boxes, or with diagonals. */
import { z } from "zod";

import { defineEnvironment, type Demonstration } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { singleTurn } from "../../conversation/single-turn.ts";
import { endless } from "../../model/tasks.ts";
import { stripThinking } from "../../../verify/index.ts";
import { ofSplit, type Use } from "../../../datasets/index.ts";
import { BOXES, groupsOf, KINDS, type Kind, type Size, SIZES } from "./groups.ts";
import { type Grid, hasTwice, makeGrid, makePuzzle, toRows } from "./puzzle.ts";

const config = z.strictObject({
  size: z.literal(SIZES).default(9).describe("numbers of a row"),
  kind: z.enum(KINDS).default("sudoku").describe("groups: with boxes, without, or with both diagonals too"),
  blanks: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe("share of empty cells; fewer where more would allow a second solution"),
  partialCredit: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("reward of a wrong grid that keeps the givens, times the share of its empty cells that are right"),
});

type Arguments = z.output<typeof config>;

interface Row {
  prompt: Message[];
  size: Size;
  kind: Kind;
  /** One text per row, `.` where a cell is empty. */
  givens: string[];
  solution: string[];
}

export default defineEnvironment({
  name: "sudoku",
  version: "1.0.0",
  tags: ["logic", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) => endless(rows(args, rng, split)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  metrics: {
    format: ({ task, trace }) => readGrid(trace.lastReply, task.size) !== null,
    cells: ({ task, trace }) => judge(task, trace.lastReply).cells,
    givens_kept: ({ task, trace }) => judge(task, trace.lastReply).keepsGivens,
    groups: ({ task, trace }) => judge(task, trace.lastReply).groups,
  },
  rewards: {
    solved: reward(1, ({ task, trace, config: { partialCredit } }) => {
      const { solved, keepsGivens, cells } = judge(task, trace.lastReply);
      return solved ? 1 : keepsGivens ? partialCredit * cells : 0;
    }),
  },
  demonstrations: ({ config: args, rng }) => demonstrations(args, rng),
  async validate({ task, score }) {
    const shifted = task.solution.map((row) => row.slice(1) + row.slice(0, 1));
    const [gold, wrong] = [await score(task.solution.join("\n")), await score(shifted.join("\n"))];
    if (gold !== 1 || wrong >= 1) throw new Error(`the solution scores ${gold}, another grid ${wrong}`);
  },
});

export interface GridVerdict {
  solved: boolean;
  /** Share of the empty cells that are filled correctly. */
  cells: number;
  keepsGivens: boolean;
  /** Share of rows, columns, boxes and diagonals that are full and have no number twice. */
  groups: number;
}

export function judge(task: Pick<Row, "size" | "kind" | "givens" | "solution">, reply: string): GridVerdict {
  const { size, kind } = task;
  const grid = readGrid(reply, size);
  if (grid === null) return { solved: false, cells: 0, keepsGivens: false, groups: 0 };
  const [answer, givens, solution] = [grid, task.givens, task.solution].map((lines) => Array.from(lines.join("")));
  const empty = [...(givens ?? []).entries()].filter(([, given]) => given === ".").map(([cell]) => cell);
  const right = empty.filter((cell) => answer?.[cell] === solution?.[cell]).length;
  const groups = groupsOf(size, kind);
  const whole = groups.filter((group) => {
    const numbers = group.map((cell) => Number(answer?.[cell] ?? 0));
    return numbers.every((number) => number >= 1 && number <= size) && !hasTwice(numbers);
  });
  return {
    solved: grid.join() === task.solution.join(),
    cells: empty.length === 0 ? 1 : right / empty.length,
    keepsGivens: (givens ?? []).every((given, cell) => given === "." || given === answer?.[cell]),
    groups: whole.length / groups.length,
  };
}

/** The last rows of digits one below the other, ignoring lines drawn between them. Null when there are too few. */
export function readGrid(reply: string, size: number): string[] | null {
  const lines = stripThinking(reply, { strict: false })
    .split("\n")
    .map((line) => line.replace(/[\s|,;[\]│┃*`]/gu, ""))
    .filter((line) => !/^[-+=─━┼├┤┌┐└┘┬┴]*$/u.test(line));
  for (let end = lines.length; end >= size; end--) {
    const grid = lines.slice(end - size, end);
    if (grid.every((line) => line.length === size && /^[\d.]+$/u.test(line))) return grid;
  }
  return null;
}

function* demonstrations(args: Arguments, rng: Rng): Generator<Demonstration> {
  for (const { prompt, solution } of rows(args, rng, "demonstrations")) {
    yield { messages: [...prompt, { role: "assistant", content: solution.join("\n") }] };
  }
}

/** The solution decides the split, so no two uses share one. */
function* rows({ size, kind, blanks }: Arguments, rng: Rng, use: Use): Generator<Row> {
  const [height, width] = BOXES[size];
  const boxes = kind === "latin" ? "" : `, every box of ${height} rows and ${width} columns`;
  const diagonals = kind === "diagonal" ? ", both diagonals" : "";
  const rule = `Fill the grid so that every row, every column${boxes}${diagonals} has each number from 1 to ${size} once.`;
  for (const grid of ofSplit(grids(size, kind, rng), use, (one) => one)) {
    const { givens: given } = makePuzzle(grid, { size, kind, blanks }, rng);
    const [givens, solution] = [toRows(given, size), toRows(grid, size)];
    const content = `${rule} A dot is an empty cell. End with the whole grid, ${size} lines of ${size} digits.\n\n${givens.join("\n")}`;
    yield { prompt: [{ role: "user", content }], size, kind, givens, solution };
  }
}

function* grids(size: Size, kind: Kind, rng: Rng): Generator<Grid> {
  for (;;) yield makeGrid(size, kind, rng);
}
