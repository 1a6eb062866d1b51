/** euler-trail: a walk from one given vertex that uses every edge exactly once. */
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { type Edge, edgesText, keyOf, keysOf, sorted } from "./edges.ts";

interface Problem {
  edges: Edge[];
  start: number;
  /** An edge, by its ends, that comes in this place, counted from 1. */
  fixed: { from: number; to: number; place: number };
}

/** By level: vertices, edges. */
const SIZES = [
  [5, 7],
  [6, 10],
  [7, 14],
  [9, 20],
  [11, 28],
] as const;

export const eulerTrail = certificateRow<Problem>({
  id: "euler-trail",
  asks: "a walk that uses every edge of a graph once and takes one edge at a given step",
  draw(rng, level) {
    const [size, count] = at(SIZES, level - 1);
    const walk = [1 + rng.integer(size)];
    const used = new Set<string>();
    while (walk.length <= count) {
      const last = at(walk, walk.length - 1);
      const free = range(size).filter((index) => index + 1 !== last && !used.has(keyOf(last, index + 1)));
      if (free.length === 0) return null;
      const next = rng.pick(free) + 1;
      used.add(keyOf(last, next));
      walk.push(next);
    }
    const edges = sorted(walk.slice(1).map((vertex, index): Edge => [at(walk, index), vertex]));
    const place = 2 + rng.integer(count - 3);
    const fixed = { from: at(walk, place - 1), to: at(walk, place), place };
    return { problem: { edges, start: at(walk, 0), fixed }, certificate: walk.join(", "), steps: count ** 2 };
  },
  proves({ edges, start, fixed }, answer) {
    const walk = integersIn(answer);
    if (walk?.length !== edges.length + 1 || walk[0] !== start) return false;
    if (walk[fixed.place - 1] !== fixed.from || walk[fixed.place] !== fixed.to) return false;
    const keys = keysOf(edges);
    const steps = walk.slice(1).map((vertex, index) => keyOf(at(walk, index), vertex));
    return new Set(steps).size === edges.length && steps.every((step) => keys.has(step));
  },
  prompts: [
    (one) =>
      `Draw the figure with the lines ${edgesText(one.edges)} (each joins two numbered points) without lifting the pen and without drawing a line twice. Begin at point ${one.start}; the ${fixedText(one)}. ${FORMAT}`,
    (one) =>
      `Find an Euler trail of the graph with the edges ${edgesText(one.edges)} that starts in vertex ${one.start} and whose ${fixedText(one)}. ${FORMAT}`,
    (one) =>
      `A snow plough leaves junction ${one.start} and must run along every street of ${edgesText(one.edges)} exactly once, in either direction. By order of the mayor the ${fixedText(one)}. Which route is possible? ${FORMAT}`,
    (one) =>
      `${FORMAT} The first is ${one.start}. Neighbours in your sequence form the pairs ${edgesText(one.edges)}, in some order and direction, none missing and none twice, and the ${fixedText(one)}.`,
  ],
  slips({ edges, start }, certificate) {
    const walk = certificate.split(", ");
    return [
      walk.toReversed().join(", "),
      walk.slice(0, -1).join(", "),
      [start, ...edges.map(([, b]) => b)].join(", "),
      walk.with(2, at(walk, 1)).join(", "),
      [...walk, walk[0]].join(", "),
    ];
  },
  variants: (_, certificate) => [certificate.replaceAll(", ", " ")],
});

const FORMAT = "Answer with the numbers of all points in the order of the walk, separated by commas.";

function fixedText({ fixed: { from, to, place } }: Problem): string {
  return `step number ${place} must lead from ${from} to ${to}`;
}
