/** dominating-set: the fewest vertices such that every other one has a neighbour among them. */
import { sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { drawPairs, type Edge, edgesText, sorted } from "./edges.ts";

interface Problem {
  size: number;
  edges: Edge[];
  best: number;
}

/** By level: vertices, edges. */
const SIZES = [
  [7, 8],
  [9, 11],
  [11, 14],
  [13, 17],
  [16, 22],
] as const;

export const dominatingSet = certificateRow<Problem>({
  id: "dominating-set",
  asks: "the fewest vertices that together see all vertices of a graph",
  draw(rng, level) {
    const [size, count] = at(SIZES, level - 1);
    const edges = sorted(sample(drawPairs(size, rng), count, rng));
    const seen = range(size).map((index) => [
      index,
      ...edges.flatMap(([a, b]) => (a === index + 1 ? [b - 1] : b === index + 1 ? [a - 1] : [])),
    ]);
    const chosen = fewest(seen);
    if (chosen.length < 3 || (level > 1 && greedyCount(seen) === chosen.length)) return null;
    const certificate = chosen
      .toSorted((a, b) => b - a)
      .map((index) => index + 1)
      .join(", ");
    return { problem: { size, edges, best: chosen.length }, certificate, steps: 2 ** size };
  },
  proves({ size, edges, best }, answer) {
    const list = integersIn(answer);
    if (list === null || list.length > best || new Set(list).size < list.length) return false;
    if (list.some((vertex) => vertex < 1 || vertex > size)) return false;
    const seen = new Set(list);
    for (const [a, b] of edges) {
      if (list.includes(a)) seen.add(b);
      if (list.includes(b)) seen.add(a);
    }
    return seen.size === size;
  },
  canonical: ({ size, edges }) => [size, edges],
  prompts: [
    (one) =>
      `Guards stand on crossings and watch their own crossing and those that a street joins to it. The crossings are 1 to ${one.size}, the streets ${edgesText(one.edges)}. Place as few guards as possible so that every crossing is watched. ${FORMAT}`,
    (one) =>
      `Find a dominating set of least size in the graph with vertices 1..${one.size} and edges ${edgesText(one.edges)}. ${FORMAT}`,
    (one) =>
      `Transmitters at some of ${one.size} villages reach the village itself and its direct neighbours (${edgesText(one.edges)}). All villages need reception. What is a cheapest choice, if each transmitter costs the same? ${FORMAT}`,
    (one) =>
      `${FORMAT} Each of the numbers 1 to ${one.size} is in your list or is paired with one of your list here: ${edgesText(one.edges)}. No shorter list may have this property.`,
  ],
  slips({ size }, certificate) {
    const list = certificate.split(", ").map(Number);
    const other = range(size).find((index) => !list.includes(index + 1)) ?? 0;
    return [
      list.slice(1).join(", "),
      [...list, other + 1].join(", "),
      range(size)
        .map((index) => index + 1)
        .join(", "),
      list.map((vertex) => (vertex % size) + 1).join(", "),
    ];
  },
  variants: (_, certificate) => [certificate.split(", ").toReversed().join(" ")],
});

const FORMAT = "Answer with the chosen numbers, separated by commas, in any order.";

/** The first vertex that is not seen yet is covered by one of its neighbours or itself. */
function fewest(seen: readonly number[][]): number[] {
  let best = range(seen.length);
  const extend = (chosen: readonly number[], covered: ReadonlySet<number>): void => {
    if (chosen.length >= best.length) return;
    const open = range(seen.length).find((index) => !covered.has(index));
    if (open === undefined) {
      best = [...chosen];
      return;
    }
    for (const vertex of at(seen, open)) extend([...chosen, vertex], new Set([...covered, ...at(seen, vertex)]));
  };
  extend([], new Set());
  return best;
}

/** The vertex that sees most new ones, again and again. */
function greedyCount(seen: readonly number[][]): number {
  const covered = new Set<number>();
  let count = 0;
  while (covered.size < seen.length) {
    const gain = (index: number): number => at(seen, index).filter((other) => !covered.has(other)).length;
    const next = range(seen.length).reduce((a, b) => (gain(b) > gain(a) ? b : a));
    for (const other of at(seen, next)) covered.add(other);
    count += 1;
  }
  return count;
}
