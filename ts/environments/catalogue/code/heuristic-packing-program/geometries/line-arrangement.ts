/** Things in a row, linked ones near each other. */
import { between, shuffled } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, isEachOnce, sum } from "../geometry.ts";
import { type Link, linkCost, PLACES_PYTHON, placesFound } from "../searches/places.ts";

interface Rules {
  readonly heaviest: number;
  /** Links for each ten things, and how far their ends lie apart in the hidden order. */
  readonly density: number;
  readonly reach: number;
  /** Width of a thing and of the gap between two: a step along the row is so long. */
  readonly pitch: number;
}

interface Data {
  readonly count: number;
  readonly links: readonly Link[];
}

export const lineArrangement = defineGeometry<Rules, Data>({
  id: "line-arrangement",
  rules: (rng, sides) => ({
    heaviest: sides === 0 ? 1 : between(rng, 3, 9),
    density: between(rng, 15, 25) + 5 * sides,
    reach: between(rng, 3, 6),
    pitch: between(rng, 2, 9),
  }),
  draw,
  input: ({ count, links }, first) => [
    [count, links.length],
    ...links.map(([a, b, weight]) => [a + first, b + first, weight]),
  ],
  cost({ pitch }, { count, links }, plan) {
    const order = plan.flat();
    if (!isEachOnce(order, count)) return null;
    const place = range(count);
    for (const [index, thing] of order.entries()) place[thing] = index;
    return (
      pitch *
      linkCost(
        links,
        place.map((index) => [index, 0]),
      )
    );
  },
  isThing: () => true,
  plain: (_, { count }) => [range(count)],
  search(_, { count, links }, steps) {
    const places = range(count).map((index): [number, number] => [index, 0]);
    const place = placesFound({ count, links, places, hops: [-2, -1, 1, 2] }, steps);
    const order = range(count);
    for (const [thing, index] of place.entries()) order[index] = thing;
    return [order];
  },
  bound: ({ pitch }, { links }) => pitch * sum(links.map(([, , weight]) => weight)),
  python: {
    constants: ({ pitch }) => `PITCH = ${pitch}`,
    plain: `def read():
    n, m = take(), take()
    return n, [(take() - FIRST, take() - FIRST, take()) for _ in range(m)]


def plain(n, links):
    return [[i + FIRST for i in range(n)]]
`,
    search: `${PLACES_PYTHON}

def search(n, links, steps):
    place = placed(n, links, [(i, 0) for i in range(n)], [-2, -1, 1, 2], steps)
    return [[i + FIRST for i in sorted(range(n), key=place.__getitem__)]]
`,
  },
  stories: [
    "Parts stand in a row on a rail, and wires join some of them.",
    "Stalls of a market stand along one street; goods are carried between some of them all day.",
    "Tables of a database lie one after the other on a disk, and the head travels between those that are read together.",
    "Machines stand along a belt, and pieces go to and fro between some of them.",
  ],
  task: ({ pitch, heaviest }) =>
    `Find the order in which all things stand in the row. Two things that are next to each other are ${pitch} apart, and d places apart make ${pitch} times d. The cost is the sum over all links of ${heaviest === 1 ? "this distance (every weight is 1)" : "the weight times this distance"}.`,
  inputText:
    "The first line has the number of things and the number of links; each further line has the two things of a link and its weight.",
  outputText: "one line with the numbers of all things in the order of the row",
  plainText: "it leaves the things in the order of their numbers",
});

function draw(rng: Rng, { heaviest, density, reach }: Rules, size: number): Data {
  const names = shuffled(range(size), rng);
  const links = new Map<number, Link>();
  for (let turn = 0; turn < Math.floor((size * density) / 10); turn++) {
    const from = rng.integer(size);
    const to = rng.integer(12) === 0 ? rng.integer(size) : from + between(rng, 1, reach);
    if (to >= size || to === from) continue;
    const key = Math.min(from, to) * size + Math.max(from, to);
    links.set(key, [at(names, from), at(names, to), between(rng, 1, heaviest)]);
  }
  return { count: size, links: shuffled(links.values(), rng) };
}
