/** hamiltonian-cycle: a round through all vertices of a sparse graph; it is walked. */
import { sample, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { drawPairs, type Edge, edgesText, keyOf, keysOf, sorted } from "./edges.ts";

interface Problem {
  size: number;
  edges: Edge[];
}

/** By level: vertices, edges beside the cycle. */
const SIZES = [
  [6, 3],
  [9, 5],
  [12, 8],
  [16, 11],
  [22, 15],
] as const;

export const hamiltonianCycle = certificateRow<Problem>({
  id: "hamiltonian-cycle",
  asks: "a cycle through all vertices of a sparse graph",
  draw(rng, level) {
    const [size, more] = at(SIZES, level - 1);
    const cycle = shuffled(
      range(size).map((index) => index + 1),
      rng,
    );
    const needed = cycle.map((vertex, index): Edge => [vertex, at(cycle, (index + 1) % size)]);
    const keys = keysOf(needed);
    const others = drawPairs(size, rng).filter(([a, b]) => !keys.has(keyOf(a, b)));
    const edges = sorted([...needed, ...sample(others, more, rng)]);
    return { problem: { size, edges }, certificate: cycle.join(", "), steps: size * edges.length };
  },
  proves({ size, edges }, answer) {
    const cycle = integersIn(answer);
    if (cycle?.length !== size || new Set(cycle).size < size) return false;
    const keys = keysOf(edges);
    return cycle.every((vertex, index) => keys.has(keyOf(vertex, at(cycle, (index + 1) % size))));
  },
  prompts: [
    (one) =>
      `A graph on the vertices 1 to ${one.size} has the edges\n${edgesText(one.edges)}\nFind a Hamiltonian cycle. ${FORMAT}`,
    (one) =>
      `${one.size} guests sit down at a round table. Two may be neighbours only if they know each other; the acquaintances are\n${edgesText(one.edges)}\nSeat everybody. ${FORMAT}`,
    (one) =>
      `A night watchman must pass through each of the rooms 1..${one.size} exactly once and end where he began. Doors connect ${edgesText(one.edges)}. Which order of rooms works? ${FORMAT}`,
    (one) =>
      `${FORMAT} Consecutive numbers, and also the last and the first, must be joined in this list: ${edgesText(one.edges)}. All of 1, 2, ..., ${one.size} occur.`,
  ],
  slips({ size }, certificate) {
    const cycle = certificate.split(", ");
    return [
      range(size)
        .map((index) => index + 1)
        .join(", "),
      cycle.with(0, at(cycle, 1)).with(1, at(cycle, 0)).join(", "),
      cycle.with(2, at(cycle, 4)).with(4, at(cycle, 2)).join(", "),
      cycle.slice(1).join(", "),
      [...cycle, cycle[0]].join(", "),
    ];
  },
  variants: (_, certificate) => {
    const [first = "", ...rest] = certificate.split(", ");
    return [[...rest, first].join(" "), [first, ...rest].toReversed().join(", ")];
  },
});

const FORMAT = "Answer with all numbers in the order around the cycle, each once, separated by commas.";
