/** hopping-pegs: the jumps that leave one peg in a given hole of a board with missing holes. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { PLAN_RULES, type PlanInstance, planRow } from "./plan-row.ts";
import { shortestPlan, type Step } from "./search.ts";

interface Instance extends PlanInstance {
  width: number;
  height: number;
  holes: number[];
  pegs: number[];
  goal: number;
}

/** By level: width, height, jumps. */
const SIZES = [
  [4, 3, 3],
  [4, 4, 5],
  [5, 4, 6],
  [5, 5, 8],
  [6, 5, 10],
] as const;
const MOST_STATES = 5_000;

export const hoppingPegs = planRow<Instance>({
  id: "hopping-pegs",
  asks: "the jumps over neighbours that leave one peg in a given hole",
  make,
  prompts: [
    (one) => `Pegs (o), empty holes (.) and places without a hole (#):\n${board(one)}\n\n${rule(one)} ${PLAN_RULES[0]}`,
    (one) =>
      `${rule(one)}\n\nThe board at the start, with o for a peg, . for an empty hole and # for no hole:\n${board(one)}\n\n${PLAN_RULES[1]}`,
    (one) =>
      `A solitaire has pegs o and free holes . as shown; # is no hole.\n${board(one)}\nSolve it. ${PLAN_RULES[2]} ${rule(one)}`,
    (one) =>
      `Remove all pegs but one. ${PLAN_RULES[3]}\n${board(one)}\n(o is a peg, a dot an empty hole, # solid wood.) ${rule(one)}`,
  ],
  run(one, steps, reached) {
    let pegs = setOf(one.pegs);
    for (const step of steps) {
      const next = [...jumps(one, pegs)].find(({ label }) => label === step.toLowerCase().replaceAll(/\s+/gu, " "));
      if (next === undefined) return false;
      pegs = next.state;
      reached(pegs === 2 ** one.goal);
    }
    return true;
  },
});

type Board = Pick<Instance, "width" | "height" | "holes">;

function make(rng: Rng, level: Level): Instance | null {
  const [width, height, count] = at(SIZES, level - 1);
  const solid = new Set(shuffled(range(width * height), rng).slice(0, Math.floor((width * height) / 8)));
  const holes = range(width * height).filter((cell) => !solid.has(cell));
  const goal = rng.pick(holes);
  const frame = { width, height, holes };
  const all = triples(frame);
  // Jumps taken back from the end: a peg returns over a hole, which gets a peg.
  let pegs = 2 ** goal;
  for (let turn = 0; turn < count; turn++) {
    const back = all.filter(([from, over, to]) => has(pegs, to) && !has(pegs, over) && !has(pegs, from));
    if (back.length === 0) return null;
    const [from, over, to] = rng.pick(back);
    pegs += 2 ** from + 2 ** over - 2 ** to;
  }
  const found = shortestPlan<number>(
    {
      start: pegs,
      isGoal: (state) => state === 2 ** goal,
      next: (state) => jumps(frame, state, all),
      key: (state) => state,
    },
    MOST_STATES,
  );
  return found === null || found.seen < 4 ** level
    ? null
    : { ...frame, pegs: holes.filter((cell) => has(pegs, cell)), goal, ...found };
}

function has(pegs: number, cell: number): boolean {
  return Math.floor(pegs / 2 ** cell) % 2 === 1;
}

function setOf(cells: readonly number[]): number {
  return cells.reduce((sum, cell) => sum + 2 ** cell, 0);
}

function triples({ width, height, holes }: Board): [from: number, over: number, to: number][] {
  const ways = [
    [0, 1],
    [1, 0],
    [0, -1],
    [-1, 0],
  ] as const;
  return holes.flatMap((from) =>
    ways.flatMap(([down, right]): [number, number, number][] => {
      const [row, column] = [Math.floor(from / width) + 2 * down, (from % width) + 2 * right];
      if (row < 0 || row >= height || column < 0 || column >= width) return [];
      const [over, to] = [from + down * width + right, row * width + column];
      return holes.includes(over) && holes.includes(to) ? [[from, over, to]] : [];
    }),
  );
}

function* jumps(frame: Board, pegs: number, all = triples(frame)): Generator<Step<number>> {
  for (const [from, over, to] of all)
    if (has(pegs, from) && has(pegs, over) && !has(pegs, to))
      yield { label: `${nameOf(frame, from)} ${nameOf(frame, to)}`, state: pegs - 2 ** from - 2 ** over + 2 ** to };
}

function nameOf({ width }: Board, cell: number): string {
  return `${"abcdef"[cell % width]}${Math.floor(cell / width) + 1}`;
}

function rule(one: Instance): string {
  return `A peg jumps over a peg directly beside it, in a row or column, into the empty hole behind it, and the peg in between is taken away. At the end one peg is left, in ${nameOf(one, one.goal)}. Columns are a, b, c and so on from the left, rows 1, 2, 3 and so on from the top; a step names the hole from which and the one to which a peg jumps, such as a1 a3.`;
}

function board({ width, height, holes, pegs }: Instance): string {
  return range(height)
    .map((row) =>
      range(width)
        .map((column) => row * width + column)
        .map((cell) => (pegs.includes(cell) ? "o" : holes.includes(cell) ? "." : "#"))
        .join(""),
    )
    .join("\n");
}
