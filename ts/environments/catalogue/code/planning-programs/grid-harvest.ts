/** grid-harvest: the best way through a grid of numbers under described moves and prices. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const gridHarvest = variantRow({
  id: "grid-harvest",
  asks: "the best sum of a way through a grid with turns, jumps, walls and limited moves",
  name: "harvest",
  parameters: ["grid"],
  extras: ["turn", "diagonal", "wall", "double", "sideways", "modulo"],
  constants: (rng) => ({
    down: between(rng, 1, 40),
    turn: between(rng, 2, 9),
    slant: between(rng, 1, 8),
    wall: -between(rng, 3, 6),
    every: between(rng, 2, 4),
    none: -between(rng, 1000, 2000),
  }),
  stories: [
    "A harvester crosses a field and wants as much as it can get.",
    "A mole digs through the ground from one corner to the other.",
    "A cart collects coins on its way over a board.",
    "A ship crosses a sea with treasures and storms.",
  ],
  rules: `
A way begins in the upper left cell and ends in the lower right cell of the grid; each move goes one cell to the right or one cell down. Its sum is that of the numbers of its cells, both ends included; the largest sum is wanted.
Each move of exactly one cell down, without going right, brings {{down}} more.
Each time when a move to the right follows on a move down or the other way, the sum is {{turn}} less. #?turn
A move may also go one cell to the right and one down at once, for {{slant}}, which is subtracted; it is neither a move to the right nor a move down. #?diagonal
Cells with numbers of {{wall}} or less cannot be entered (the first cell may). #?wall
The number of every cell whose place on the way (the first cell has place 0) is divisible by {{every}} counts twice. #?double
Two moves to the right may follow directly on one another, but a third one in a row is not allowed. #?sideways
If the number of a cell is odd, it counts 1 less. This comes before all other rules on sums, but not before a rule on entering cells. #?modulo
If there is no way, the result is {{none}}.
`,
  types: `
The argument is a list of rows of whole numbers, all of the same length. The result is a whole number.
`,
  calls(_, rng) {
    const grid = (height: number, width: number): Json =>
      range(height).map(() => range(width).map(() => between(rng, -6, 12)));
    const some = (height: number, width: number): Json[][] => range(6).map(() => [grid(height, width)]);
    return { small: some(3, 3), wide: some(3, 6), tall: some(6, 3), large: some(6, 6) };
  },
  solve([grid]: readonly [readonly (readonly number[])[]], { turn, slant, wall, every, none, down }, on) {
    const [height, width] = [grid.length, grid[0]?.length ?? 0];
    const memory = new Map<string, number>();
    const best = (y: number, x: number, place: number, moves: string): number => {
      const cell = grid[y]?.[x];
      if (cell === undefined || (on("wall") && place > 0 && cell <= wall) || (on("sideways") && moves === "rrr"))
        return -Infinity;
      const key = `${y} ${x} ${place} ${moves}`;
      const known = memory.get(key);
      if (known !== undefined) return known;
      const bare = on("modulo") && Math.abs(cell % 2) === 1 ? cell - 1 : cell;
      const gain = bare * (on("double") && place % every === 0 ? 2 : 1);
      const last = moves.slice(-1);
      const step = (to: string): number => (on("turn") && last !== "" && last !== "s" && last !== to ? turn : 0);
      const next = (to: string): string => (on("sideways") ? (moves + to).slice(-3) : to);
      let most = y === height - 1 && x === width - 1 ? 0 : -Infinity;
      most = Math.max(most, best(y, x + 1, place + 1, next("r")) - step("r"));
      most = Math.max(most, best(y + 1, x, place + 1, next("d")) - step("d") + down);
      if (on("diagonal")) most = Math.max(most, best(y + 1, x + 1, place + 1, next("s")) - slant);
      memory.set(key, gain + most);
      return gain + most;
    };
    const found = best(0, 0, 0, "");
    return found === -Infinity ? none : found;
  },
  python: `
def harvest(grid):
    height, width = len(grid), len(grid[0])
    states, best = {(0, 0, "", 0): 0}, None
    place = 0
    while states:
        new = {}
        for (y, x, last, row), total in states.items():
            value = grid[y][x]
            value -= value % 2 #?modulo
            if place % {{every}} == 0: #?double
                value *= 2 #?double
            total += value
            if (y, x) == (height - 1, width - 1):
                best = total if best is None else max(best, total)
            for move, dy, dx in (("r", 0, 1), ("d", 1, 0), ("s", 1, 1)):
                price = -{{down}} if move == "d" else 0
                if move == "s": #!diagonal
                    continue #!diagonal
                if move == "s": #?diagonal
                    price = {{slant}} #?diagonal
                if {last, move} == {"r", "d"}: #?turn
                    price += {{turn}} #?turn
                count = row + 1 if move == "r" else 0
                if count > 2: #?sideways
                    continue #?sideways
                b, a = y + dy, x + dx
                if b >= height or a >= width:
                    continue
                if grid[b][a] <= {{wall}}: #?wall
                    continue #?wall
                key = (b, a, move, count)
                new[key] = max(total - price, new.get(key, total - price))
        states, place = new, place + 1
    return {{none}} if best is None else best
`,
});
