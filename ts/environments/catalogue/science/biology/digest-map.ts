/** digest-map: cutting sites of two enzymes from the fragments of single and double digests. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  length: number;
  /** Fragments in descending order, of each enzyme alone and of both. */
  a: number[];
  b: number[];
  both: number[];
  /** Numbers of placements that the solver tries. */
  tries: number;
}

/** By level: length in kilobases, sites of each enzyme. */
const KNOBS = [
  [20, 1, 1],
  [30, 1, 2],
  [40, 2, 2],
  [60, 2, 3],
  [90, 3, 3],
] as const;

export const digestMap = fieldRow<Given>({
  id: "digest-map",
  asks: "sites of two restriction enzymes on a linear DNA from fragments of single and double digests",
  draw,
  solve,
  values: () =>
    "A and B are the cutting places of the enzymes as distances from the left end in kb, separated by commas",
  wordings: [
    (one) =>
      `A linear piece of DNA of ${one.length} kb was cut with enzyme A (fragments ${one.a.join(", ")} kb), with enzyme B (${one.b.join(", ")} kb) and with both (${one.both.join(", ")} kb). Find the sites. ${orientation()}`,
    (one) =>
      `Restriction map wanted. ${orientation()} Bands in kb: A alone ${one.a.join(", ")}; B alone ${one.b.join(", ")}; A and B together ${one.both.join(", ")}. The DNA is not a circle and ${one.length} kb long.`,
    (one) =>
      `Where do the enzymes cut? Gel of a linear DNA (${one.length} kb), complete digests, every fragment is listed even when two have the same size:\n- A: ${one.a.join(", ")}\n- B: ${one.b.join(", ")}\n- A+B: ${one.both.join(", ")}\n${orientation()}`,
    (one) =>
      `The double digest of a DNA with two ends gave ${one.both.join(", ")} kb; alone, B gave ${one.b.join(", ")} and A gave ${one.a.join(", ")} kb; the whole has ${one.length} kb. ${orientation()} Reconstruct the places of all cuts.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [length, aSites, bSites] = at(KNOBS, level - 1);
  const sites = sample(
    range(length - 1).map((place) => place + 1),
    aSites + bSites,
    rng,
  );
  const [a, b] = [sites.slice(0, aSites), sites.slice(aSites)];
  const given = {
    length,
    a: fragments(a, length),
    b: fragments(b, length),
    both: fragments(sites, length),
  };
  return { ...given, tries: permutations(given.a).length * permutations(given.b).length };
}

function solve({ length, a, b, both, tries }: Given): Solution | null {
  const found = new Set<string>();
  const [aOrders, bOrders] = [permutations(a), permutations(b)];
  for (const aOrder of aOrders) {
    const aSites = cuts(aOrder);
    for (const bOrder of bOrders) {
      const bSites = cuts(bOrder);
      if (fragments([...aSites, ...bSites], length).join() !== both.join()) continue;
      found.add(`${marked(aSites.map(String))};${marked(bSites.map(String))}`);
    }
  }
  const mirror = (list: string): string =>
    marked(
      list
        .split(", ")
        .map((place) => String(length - Number(place)))
        .toReversed(),
    );
  const maps = [...found].map((text) => text.split(";")).map(([x = "", y = ""]): [string, string] => [x, y]);
  const isTurned = ([x, y]: [string, string]): boolean => firstOf(x, y) < length - lastOf(x, y);
  const [right, ...more] = maps.filter(isTurned);
  if (right === undefined || more.length > 0 || maps.length !== 2) return null;
  const options = range(length - 1).map((place) => String(place + 1));
  const [x, y] = right;
  return {
    fields: [
      { name: "A", kind: "set", value: x, options },
      { name: "B", kind: "set", value: y, options },
    ],
    slips: [
      [mirror(x), mirror(y)],
      ...(mirror(x) === x ? [] : [[mirror(x), y]]),
      [marked(cuts(a).map(String)), marked(cuts(b).map(String))],
    ],
    steps: tries,
  };
}

function firstOf(x: string, y: string): number {
  return Math.min(...`${x}, ${y}`.split(", ").map(Number));
}

function lastOf(x: string, y: string): number {
  return Math.max(...`${x}, ${y}`.split(", ").map(Number));
}

/** Sizes between neighbouring cuts and the ends, the largest first. */
function fragments(sites: readonly number[], length: number): number[] {
  const places = [0, ...sites.toSorted((x, y) => x - y), length];
  return range(places.length - 1)
    .map((index) => at(places, index + 1) - at(places, index))
    .toSorted((x, y) => y - x);
}

/** The places between fragments in this order. */
function cuts(order: readonly number[]): number[] {
  let place = 0;
  return order.slice(0, -1).map((size) => (place += size));
}

function permutations(items: readonly number[]): number[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, place) => place !== index)).map((rest) => [item, ...rest]),
  );
}

function orientation(): string {
  return "All sizes are whole kilobases. A map and its mirror image give the same fragments; choose the one in which the cut that is nearest to an end of the DNA (whichever enzyme makes it) lies at the left.";
}
