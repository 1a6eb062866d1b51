/** Undirected graphs on the vertices 1, 2, ... as lists of pairs. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { range } from "../../lists.ts";

export type Edge = [a: number, b: number];

/** `1-4, 2-3`. */
export function edgesText(edges: readonly Edge[]): string {
  return edges.map((edge) => edge.join("-")).join(", ");
}

/** The same for both directions. */
export function keyOf(a: number, b: number): string {
  return a < b ? `${a}-${b}` : `${b}-${a}`;
}

export function keysOf(edges: readonly Edge[]): Set<string> {
  return new Set(edges.map(([a, b]) => keyOf(a, b)));
}

/** All pairs of the vertices 1 to `size`, in random order. */
export function drawPairs(size: number, rng: Rng): Edge[] {
  const pairs = range(size).flatMap((a) => range(a).map((b): Edge => [b + 1, a + 1]));
  return shuffled(pairs, rng);
}

/** The smaller end first, in ascending order. */
export function sorted(edges: readonly Edge[]): Edge[] {
  return edges.map(([a, b]): Edge => (a < b ? [a, b] : [b, a])).toSorted(([a, b], [c, d]) => a - c || b - d);
}
