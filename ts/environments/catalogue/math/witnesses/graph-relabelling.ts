/** graph-relabelling: an isomorphism between two graphs that are given by edges; every edge is followed. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";

type Edge = [number, number];

/** Tries for each edge. */
const EXCHANGES = 6;

interface Problem {
  vertices: number;
  /** From 1. */
  first: Edge[];
  second: Edge[];
}

/** By level: vertices, degree of all of them. */
const SIZES = [
  [6, 2],
  [8, 3],
  [10, 3],
  [12, 3],
  [14, 4],
] as const;

export const graphRelabelling = certificateRow<Problem>({
  id: "graph-relabelling",
  asks: "an isomorphism between two graphs in which nearly all vertices have the same degree",
  draw(rng, level) {
    const [vertices, degree] = at(SIZES, level - 1);
    const edges = nearlyRegular(vertices, degree, rng);
    if (edges === null) return null;
    const image = shuffled(range(vertices), rng);
    const mapped = edges.map(([a, b]): Edge => [at(image, a) + 1, at(image, b) + 1]);
    const second = shuffled(mapped, rng).map((edge): Edge => (rng.integer(2) === 0 ? edge : [edge[1], edge[0]]));
    const problem = { vertices, first: edges.map(([a, b]): Edge => [a + 1, b + 1]), second };
    return { problem, certificate: image.map((vertex) => vertex + 1).join(", "), steps: vertices * edges.length };
  },
  proves({ vertices, first, second }, answer) {
    const image = integersIn(answer);
    if (image === null || image.length !== vertices || new Set(image).size < vertices) return false;
    if (image.some((vertex) => vertex < 1 || vertex > vertices)) return false;
    const known = new Set(second.flatMap(([a, b]) => [`${a} ${b}`, `${b} ${a}`]));
    return first.every(([a, b]) => known.has(`${at(image, a - 1)} ${at(image, b - 1)}`));
  },
  prompts: [
    (one) =>
      `Two graphs on the vertices 1 to ${one.vertices} are the same up to names.\nG: ${edgeText(one.first)}\nH: ${edgeText(one.second)}\nGive an isomorphism from G to H: the images of 1, 2, ..., ${one.vertices} in this order, separated by commas.`,
    (one) =>
      `Edges of a network:\n${edgeText(one.first)}\nAnother drawing of it uses other numbers for the stations:\n${edgeText(one.second)}\nWhich station of the second list is station 1 of the first, which is 2, and so on up to ${one.vertices}? Write the ${one.vertices} numbers with commas between; joined stations must stay joined.`,
    (one) =>
      `Find a permutation p of 1..${one.vertices} such that {p(a), p(b)} is an edge of B for every edge {a, b} of A, and state p(1), p(2), ..., p(${one.vertices}) as a comma-separated list.\nA = ${edgeText(one.first)}\nB = ${edgeText(one.second)}`,
    (one) =>
      `Relabel: the graph with edges ${edgeText(one.first)} has to become the graph with edges ${edgeText(one.second)}. For the old labels 1, ..., ${one.vertices} list the new ones, one after the other, with commas.`,
  ],
  slips({ vertices }, certificate) {
    const image = certificate.split(", ").map(Number);
    const [first = 0, second = 0, third = 0, ...rest] = image;
    return [
      range(vertices)
        .map((index) => index + 1)
        .join(", "),
      [second, third, first, ...rest].join(", "),
      image.map((_, index) => image.indexOf(index + 1) + 1).join(", "),
      image.toReversed().join(", "),
    ];
  },
  variants: (_, certificate) => [certificate.replaceAll(", ", " ")],
});

/** A ring with chords whose edges exchanged ends at random, without one edge, so that a start is visible; null where it is not connected. */
function nearlyRegular(vertices: number, degree: number, rng: Rng): Edge[] | null {
  const steps = [
    ...range(Math.floor(degree / 2)).map((index) => index + 1),
    ...(degree % 2 === 1 ? [vertices / 2] : []),
  ];
  const pairs = steps.flatMap((step) =>
    range(step === vertices / 2 ? vertices / 2 : vertices).map((vertex): Edge => [vertex, (vertex + step) % vertices]),
  );
  const isJoined = (a: number, b: number): boolean =>
    pairs.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
  for (const _ of range(EXCHANGES * pairs.length)) {
    const [i, j] = [rng.integer(pairs.length), rng.integer(pairs.length)];
    const [[a, b], [c, d]] = [at(pairs, i), at(pairs, j)];
    if (new Set([a, b, c, d]).size < 4 || isJoined(a, d) || isJoined(c, b)) continue;
    [pairs[i], pairs[j]] = [
      [a, d],
      [c, b],
    ];
  }
  const edges = sample(pairs, pairs.length - 1, rng);
  const reached = new Set([0]);
  for (const _ of range(vertices))
    for (const [a, b] of edges) {
      if (reached.has(a)) reached.add(b);
      if (reached.has(b)) reached.add(a);
    }
  return reached.size === vertices ? edges : null;
}

function edgeText(edges: readonly Edge[]): string {
  return edges.map(([a, b]) => `${a}-${b}`).join(" ");
}
