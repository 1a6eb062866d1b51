/** Things on the free cells of a floor, linked ones near each other. */
import { between, sample, shuffled } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, sum } from "../geometry.ts";
import { type Link, linkCost, PLACES_PYTHON, placesFound } from "../searches/places.ts";

interface Rules {
  readonly heaviest: number;
  readonly density: number;
  /** Percent of the cells that are pillars, and of those that stay empty. */
  readonly pillars: number;
  readonly spare: number;
  /** A step across costs so much, and one up or down. */
  readonly across: number;
  readonly down: number;
}

interface Data {
  readonly columns: number;
  readonly rows: number;
  readonly count: number;
  /** Cells row by row; 1 is a pillar. */
  readonly cells: readonly number[];
  readonly links: readonly Link[];
}

export const floorLayout = defineGeometry<Rules, Data>({
  id: "floor-layout",
  rules: (rng, sides) => ({
    heaviest: between(rng, 3, 9),
    density: between(rng, 15, 30),
    pillars: sides === 2 ? between(rng, 5, 15) : 0,
    spare: sides === 0 ? 0 : between(rng, 5, 15),
    across: between(rng, 1, 3),
    down: between(rng, 1, 3),
  }),
  draw,
  input: ({ columns, rows, count, cells, links }, first) => [
    [rows, columns, count, links.length],
    ...range(rows).map((row) => cells.slice(row * columns, (row + 1) * columns)),
    ...links.map(([a, b, weight]) => [a + first, b + first, weight]),
  ],
  cost(rules, data, plan) {
    const { rows, columns, count, cells, links } = data;
    const isCell = ([row = -1, column = -1, ...more]: readonly number[]): boolean =>
      more.length === 0 &&
      row >= 0 &&
      row < rows &&
      column >= 0 &&
      column < columns &&
      cells[row * columns + column] === 0;
    if (plan.length !== count || !plan.every(isCell)) return null;
    if (new Set(plan.map(([row = 0, column = 0]) => row * columns + column)).size < count) return null;
    return linkCost(
      links,
      plan.map(([row = 0, column = 0]) => [rules.across * column, rules.down * row]),
    );
  },
  isThing: () => true,
  plain: (_, data) => freeCells(data).slice(0, data.count),
  search({ across, down }, data, steps) {
    const { columns, count, links } = data;
    const free = freeCells(data);
    const places = free.map(([row, column]): [number, number] => [across * column, down * row]);
    const place = placesFound({ count, links, places, hops: [-columns, -1, 1, columns] }, steps);
    return place.map((index) => at(free, index));
  },
  bound: ({ across, down }, { links }) => Math.min(across, down) * sum(links.map(([, , weight]) => weight)),
  python: {
    constants: ({ across, down }) => `ACROSS, DOWN = ${across}, ${down}`,
    plain: `def read():
    rows, columns, n, m = take(), take(), take(), take()
    free = []
    for row in range(rows):
        for column in range(columns):
            if take() == 0:
                free.append((row, column))
    return columns, free, n, [(take() - FIRST, take() - FIRST, take()) for _ in range(m)]


def plain(columns, free, n, links):
    return [[row + FIRST, column + FIRST] for row, column in free[:n]]
`,
    search: `${PLACES_PYTHON}

def search(columns, free, n, links, steps):
    places = [(ACROSS * column, DOWN * row) for row, column in free]
    place = placed(n, links, places, [-columns, -1, 1, columns], steps)
    return [[free[at][0] + FIRST, free[at][1] + FIRST] for at in place]
`,
  },
  stories: [
    "Departments move to a floor that is divided into equal cells; people walk between some of them.",
    "Blocks of a chip are put on a grid of slots, and nets join some of them.",
    "Beds of a garden lie in a grid, and some are watered from each other.",
    "Machines of a factory hall get places in a grid; carts drive between some of them.",
  ],
  task: ({ across, down, pillars }) =>
    `Give each thing a cell${pillars > 0 ? " that is no pillar" : ""}, no two things the same. From cell to cell it is ${across} for each column and ${down} for each row between them. The cost is the sum over all links of the weight times this distance between their things.`,
  inputText:
    "The first line has the numbers of rows, columns, things and links. Then each row of the floor is a line, with 0 for a free cell and 1 for a pillar. Each further line has the two things of a link and its weight.",
  outputText:
    "one line for each thing, in the order of their numbers, with the row and the column of its cell (numbered as the things are)",
  plainText: "it puts the things in their order onto the free cells, row by row",
});

function freeCells({ rows, columns, cells }: Data): [row: number, column: number][] {
  const all = range(rows * columns).filter((index) => cells[index] === 0);
  return all.map((index) => [Math.floor(index / columns), index % columns]);
}

function draw(rng: Rng, { heaviest, density, pillars, spare }: Rules, size: number): Data {
  const area = Math.ceil((size * (100 + spare)) / (100 - pillars));
  const columns = Math.ceil(Math.sqrt(area));
  const rows = Math.ceil(area / columns);
  const blocked = new Set(
    sample(range(rows * columns), Math.min(rows * columns - size, Math.floor((area * pillars) / 100)), rng),
  );
  const names = shuffled(range(size), rng);
  const links = new Map<number, Link>();
  for (let turn = 0; turn < Math.floor((size * density) / 10); turn++) {
    const from = rng.integer(size);
    const hop = rng.pick([1, 1, columns, columns, columns + 1, columns - 1, 2, rng.integer(size)]);
    const to = from + hop;
    if (to >= size || to === from) continue;
    links.set(from * size + to, [at(names, from), at(names, to), between(rng, 1, heaviest)]);
  }
  const cells = range(rows * columns).map((index) => (blocked.has(index) ? 1 : 0));
  return { columns, rows, count: size, cells, links: shuffled(links.values(), rng) };
}
