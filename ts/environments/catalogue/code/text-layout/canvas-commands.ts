/** canvas-commands: the picture of characters that drawing commands leave. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const canvasCommands = variantRow({
  id: "canvas-commands",
  asks: "the picture that boxes, lines, fills, moves and copies leave on a small canvas of characters",
  name: "draw",
  parameters: ["commands"],
  extras: ["wrap", "under", "hollow", "bucket", "mirror", "scroll"],
  constants: (rng) => ({
    width: between(rng, 7, 10),
    height: between(rng, 4, 6),
    paper: rng.pick(".-_"),
    keep: rng.pick("abc"),
    bias: between(rng, 0, 3),
  }),
  stories: [
    "A terminal game draws its maps by commands.",
    "A plotter of characters is programmed from far away.",
    "Pixel fonts are made with a tiny drawing language.",
    "A display of letters on a train shows simple pictures.",
  ],
  rules: `
The canvas has {{width}} columns and {{height}} rows, counted from 0 at the upper left, and is full of {{paper}}.
["dot", x, y, c] puts the character c at column x + {{bias}} and row y.
["box", x, y, w, h, c] puts c on all cells of the box whose upper left cell is at column x and row y, with w columns and h rows. #!hollow
["box", x, y, w, h, c] puts c on the cells at the border of the box whose upper left cell is at column x and row y, with w columns and h rows; its inside stays. #?hollow
["slope", x, y, n, c] puts c on n cells: the first at column x and row y, each next one a column to the right and a row down.
What is outside of the canvas is not drawn. #!wrap
What is outside of the canvas comes in again at the other side, in columns and in rows. #?wrap
A cell with the character {{keep}} is never drawn over by dot, box and slope. #?under
["fill", x, y, c] gives c to the cell at column x and row y, and to all cells that are connected with it by steps to the left, right, up and down over cells of the same character as it had. Outside of the canvas it does nothing, and it never goes over the edge. #?bucket
["flip"] mirrors the canvas: left and right change places. #?mirror
["up", n] moves everything up by n rows; rows that leave at the top are lost, and new rows of {{paper}} come in at the bottom. #?scroll
`,
  types: `
The argument is the list of the commands; characters are a, b, c or d. The result is the list of the rows as texts.
`,
  calls({ width, height }, rng, on) {
    const kinds = [
      ..."dot box slope box".split(" "),
      ...(on("bucket") ? ["fill", "fill"] : []),
      ...(on("mirror") ? ["flip"] : []),
      ...(on("scroll") ? ["up"] : []),
    ];
    const one = (): Json => {
      const [kind, x, y, c] = [rng.pick(kinds), between(rng, -1, width), between(rng, -1, height), rng.pick("abcd")];
      if (kind === "flip") return [kind];
      if (kind === "up") return [kind, between(rng, 1, 2)];
      if (kind === "box") return [kind, x, y, between(rng, 1, 5), between(rng, 1, 4), c];
      return kind === "slope" ? [kind, x, y, between(rng, 2, 6), c] : [kind, x, y, c];
    };
    const some = (count: number): Json[][] => range(6).map(() => [range(count).map(one)]);
    return { short: some(4), medium: some(7), long: some(11), longest: some(20) };
  },
  solve([commands]: readonly [readonly (readonly (string | number)[])[]], { width, height, paper, keep, bias }, on) {
    const blank = (): string[] => range(width).map(() => paper);
    let cells = range(height).map(blank);
    const mod = (value: number, by: number): number => ((value % by) + by) % by;
    const dot = (x: number, y: number, c: string): void => {
      const [column, line] = on("wrap") ? [mod(x, width), mod(y, height)] : [x, y];
      const row = cells[line];
      const old = row?.[column];
      if (row !== undefined && old !== undefined && !(on("under") && old === keep)) row[column] = c;
    };
    const fill = (x: number, y: number, c: string): void => {
      const old = cells[y]?.[x];
      const stack = old === undefined || old === c ? [] : [[x, y] as const];
      for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
        const [column, line] = place;
        const row = cells[line];
        if (row?.[column] !== old || row === undefined) continue;
        row[column] = c;
        stack.push([column + 1, line], [column - 1, line], [column, line + 1], [column, line - 1]);
      }
    };
    for (const command of commands) {
      const [kind, x, y, w, h] = command.map(Number);
      const [name, c] = [String(command[0]), String(command.at(-1))];
      if (name === "dot") dot((x ?? 0) + bias, y ?? 0, c);
      if (name === "slope") for (const step of range(w ?? 0)) dot((x ?? 0) + step, (y ?? 0) + step, c);
      if (name === "fill") fill(x ?? 0, y ?? 0, c);
      if (name === "flip") cells = cells.map((row) => row.toReversed());
      if (name === "up") cells = [...cells.slice(x), ...range(Math.min(height, x ?? 0)).map(blank)];
      if (name !== "box" || kind === undefined) continue;
      const [columns, lines] = [w ?? 0, h ?? 0];
      for (const line of range(lines))
        for (const column of range(columns)) {
          const isEdge = line === 0 || column === 0 || line === lines - 1 || column === columns - 1;
          if (isEdge || !on("hollow")) dot((x ?? 0) + column, (y ?? 0) + line, c);
        }
    }
    return cells.map((row) => row.join(""));
  },
  python: `
def draw(commands):
    cells = [["{{paper}}"] * {{width}} for _ in range({{height}})]

    def dot(x, y, c):
        x, y = x % {{width}}, y % {{height}} #?wrap
        if 0 <= x < {{width}} and 0 <= y < {{height}}:
            if cells[y][x] == "{{keep}}": #?under
                return #?under
            cells[y][x] = c

    def fill(x, y, old, c): #?bucket
        if 0 <= x < {{width}} and 0 <= y < {{height}} and cells[y][x] == old: #?bucket
            cells[y][x] = c #?bucket
            for a, b in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)): #?bucket
                fill(a, b, old, c) #?bucket

    for kind, *rest in commands:
        if kind == "dot":
            dot(rest[0] + {{bias}}, rest[1], rest[2])
        elif kind == "slope":
            x, y, n, c = rest
            for i in range(n):
                dot(x + i, y + i, c)
        elif kind == "box":
            x, y, w, h, c = rest
            for i in range(h):
                for j in range(w):
                    if i in (0, h - 1) or j in (0, w - 1): #?hollow
                        dot(x + j, y + i, c) #?hollow
                    dot(x + j, y + i, c) #!hollow
        elif kind == "fill": #?bucket
            x, y, c = rest #?bucket
            if 0 <= x < {{width}} and 0 <= y < {{height}} and cells[y][x] != c: #?bucket
                fill(x, y, cells[y][x], c) #?bucket
        elif kind == "flip": #?mirror
            cells = [row[::-1] for row in cells] #?mirror
        elif kind == "up": #?scroll
            n = rest[0] #?scroll
            cells = cells[n:] + [["{{paper}}"] * {{width}} for _ in cells[:n]] #?scroll
    return ["".join(row) for row in cells]
`,
});
