/** Random graphs as lists of edges, for calls of functions. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { range } from "../../lists.ts";

/** An edge [from, to, weight]. */
export type Edge = readonly [number, number, number];

/** Different pairs of different nodes, in random order, with weights from 1 to `heaviest`. */
export function drawnEdges(rng: Rng, nodes: number, edges: number, heaviest: number): Edge[] {
  const found = new Map<number, Edge>();
  for (const _ of range(edges)) {
    const from = rng.integer(nodes);
    const to = (from + between(rng, 1, nodes - 1)) % nodes;
    found.set(Math.min(from, to) * nodes + Math.max(from, to), [from, to, between(rng, 1, heaviest)]);
  }
  return [...found.values()];
}
