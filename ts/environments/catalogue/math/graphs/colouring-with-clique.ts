/** colouring-with-clique: a proper colouring and a clique of the same size, which prove each other the best. */
import { sample, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn, namedLines } from "../certificate-text.ts";
import { drawPairs, type Edge, edgesText, keyOf, keysOf, sorted } from "./edges.ts";

interface Problem {
  size: number;
  edges: Edge[];
}

/** By level: vertices, colours, edges. */
const SIZES = [
  [6, 3, 8],
  [8, 3, 14],
  [10, 4, 24],
  [13, 4, 38],
  [16, 5, 62],
] as const;

export const colouringWithClique = certificateRow<Problem>({
  id: "colouring-with-clique",
  asks: "a colouring of a graph and a clique of as many vertices as colours",
  draw(rng, level) {
    const [size, colours, count] = at(SIZES, level - 1);
    const colour = shuffled(
      range(size).map((index) => index % colours),
      rng,
    );
    const clique = range(colours).map((one) => rng.pick(range(size).filter((vertex) => colour[vertex] === one)) + 1);
    const needed = clique.flatMap((a, index) => clique.slice(index + 1).map((b): Edge => [a, b]));
    const allowed = drawPairs(size, rng).filter(
      ([a, b]) => colour[a - 1] !== colour[b - 1] && !(clique.includes(a) && clique.includes(b)),
    );
    const edges = sorted([...needed, ...sample(allowed, count - needed.length, rng)]);
    const problem = { size, edges };
    if (greedyColours(problem) <= colours && level > 1) return null;
    const certificate = `colours: ${colour.map((one) => one + 1).join(", ")}\nclique: ${clique.join(", ")}`;
    return { problem, certificate, steps: size * count };
  },
  proves({ size, edges }, answer) {
    const [colours, clique] = (namedLines(answer, ["colours", "clique"]) ?? []).map(integersIn);
    if (colours?.length !== size || clique === undefined || clique === null || clique.length > size) return false;
    const keys = keysOf(edges);
    const isClique = clique.every((a, index) => clique.slice(index + 1).every((b) => a !== b && keys.has(keyOf(a, b))));
    const isProper = edges.every(([a, b]) => colours[a - 1] !== colours[b - 1]);
    return isClique && isProper && new Set(colours).size === clique.length;
  },
  prompts: [
    (one) =>
      `Colour the vertices 1 to ${one.size} of the graph with the edges\n${edgesText(one.edges)}\nso that neighbours differ, with as few colours as possible, and show by a clique with that number of vertices that fewer cannot do. ${FORMAT}`,
    (one) =>
      `Exams 1..${one.size}; these pairs share a student and must not be at the same time:\n${edgesText(one.edges)}\nFind a timetable with the fewest slots. To prove it minimal, name exams, as many as slots, that all exclude each other. ${FORMAT}`,
    (one) =>
      `In this graph the chromatic number equals the clique number:\n${edgesText(one.edges)}\n(vertices 1, ..., ${one.size}). Exhibit an optimal colouring together with a largest clique. ${FORMAT}`,
    (one) =>
      `${FORMAT} Adjacent vertices get different numbers, the clique's members are pairwise adjacent, and there are as many members as different numbers. The adjacent pairs among 1 to ${one.size} are ${edgesText(one.edges)}.`,
  ],
  slips({ size, edges }, certificate) {
    const [colours = "", clique = ""] = certificate.split("\n");
    const members = clique.slice(8).split(", ");
    const free = range(size).find((index) => !members.includes(String(index + 1))) ?? 0;
    return [
      `${colours}\nclique: ${members.slice(1).join(", ")}`,
      `${colours}\nclique: ${[...members.slice(1), free + 1].join(", ")}`,
      `colours: ${range(size)
        .map((index) => index + 1)
        .join(", ")}\n${clique}`,
      `colours: ${range(size)
        .map(() => 1)
        .join(", ")}\nclique: ${at(edges, 0)[0]}`,
      colours,
    ].filter((text) => !text.endsWith(": "));
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n")],
});

const FORMAT =
  'Write two lines: "colours: ..." (a number for vertex 1, for vertex 2, ...) and "clique: ..." (its vertices), with commas.';

/** The first free colour, vertex after vertex. */
function greedyColours({ size, edges }: Problem): number {
  const colours: number[] = [];
  for (const vertex of range(size)) {
    const taken = edges.flatMap(([a, b]) =>
      a === vertex + 1 ? [colours[b - 1]] : b === vertex + 1 ? [colours[a - 1]] : [],
    );
    colours.push(range(size).find((colour) => !taken.includes(colour)) ?? 0);
  }
  return Math.max(...colours) + 1;
}
