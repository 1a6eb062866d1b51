/** flow-and-cut: a flow and a cut of equal value, which prove each other the best. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn, namedLines } from "../certificate-text.ts";

interface Problem {
  size: number;
  pipes: { from: number; to: number; most: number }[];
}

/** By level: vertices, pipes, largest capacity. */
const SIZES = [
  [4, 6, 9],
  [6, 10, 12],
  [7, 14, 15],
  [9, 20, 20],
  [11, 28, 25],
] as const;

export const flowAndCut = certificateRow<Problem>({
  id: "flow-and-cut",
  asks: "a flow through a network and a cut of the same value",
  draw(rng, level) {
    const [size, count, most] = at(SIZES, level - 1);
    const pairs = range(size).flatMap((a) => range(size).map((b) => ({ from: a + 1, to: b + 1 })));
    const possible = pairs.filter(({ from, to }) => from !== to && to !== 1 && from !== size);
    const chosen = sample(possible, count, rng).toSorted((a, b) => a.from - b.from || a.to - b.to);
    const problem = { size, pipes: chosen.map((pair) => ({ ...pair, most: between(rng, 1, most) })) };
    const { flow, side, value } = bestFlow(problem);
    if (value === 0 || (level > 1 && (side.length < 2 || side.length > size - 2))) return null;
    return { problem, certificate: `flow: ${flow.join(", ")}\ncut: ${side.join(", ")}`, steps: size * count * count };
  },
  proves({ size, pipes }, answer) {
    const [flow, side] = (namedLines(answer, ["flow", "cut"]) ?? []).map(integersIn);
    if (flow?.length !== pipes.length || side === undefined || side === null || side.length > size) return false;
    if (side.some((vertex) => vertex < 1 || vertex >= size) || !side.includes(1) || new Set(side).size < side.length)
      return false;
    if (pipes.some(({ most }, index) => at(flow, index) < 0 || at(flow, index) > most)) return false;
    const surplus = range(size).map((index) =>
      pipes.reduce((sum, { from, to }, pipe) => {
        if (from === index + 1) return sum + at(flow, pipe);
        return to === index + 1 ? sum - at(flow, pipe) : sum;
      }, 0),
    );
    const cut = pipes.reduce(
      (sum, { from, to, most }) => sum + (side.includes(from) && !side.includes(to) ? most : 0),
      0,
    );
    return surplus.slice(1, -1).every((value) => value === 0) && at(surplus, 0) === cut;
  },
  prompts: [
    (one) =>
      `Water flows from 1 to ${one.size} through one-way pipes (from > to: capacity):\n${pipesText(one)}\nFind a flow of largest value, and prove that it is the largest by a cut of equal capacity. ${FORMAT}`,
    (one) =>
      `Max flow, min cut. Source 1, sink ${one.size}, arcs with capacities:\n${pipesText(one)}\nGive both as integers. ${FORMAT}`,
    (one) =>
      `${FORMAT} What enters each junction other than 1 and ${one.size} must leave it, no line may be overloaded, and the lines that leave your set must carry in total as much as they could. Network:\n${pipesText(one)}`,
    (one) =>
      `How many parcels a day can go from depot 1 to depot ${one.size} over these roads (the number behind the colon is what a road takes)?\n${pipesText(one)}\nShow a plan, and a set of depots whose outgoing roads limit every plan to this number. ${FORMAT}`,
  ],
  slips({ size, pipes }, certificate) {
    const [flow = "", cut = ""] = certificate.split("\n");
    return [
      `flow: ${pipes.map(({ most }) => most).join(", ")}\n${cut}`,
      `flow: ${pipes.map(() => 0).join(", ")}\n${cut}`,
      `${flow}\ncut: ${range(size)
        .map((index) => index + 1)
        .join(", ")}`,
      `${cut}\nflow: 1`,
      flow,
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n")],
});

const FORMAT =
  'Write two lines: "flow: ..." with the whole-numbered amount on every arc in the order of the list, and "cut: ..." with the vertices on the source\'s side; commas in between.';

function pipesText({ pipes }: Problem): string {
  return pipes.map(({ from, to, most }) => `${from} > ${to}: ${most}`).join("\n");
}

/** Shortest augmenting paths; what the last search reaches is the source's side of a cut. */
function bestFlow({ size, pipes }: Problem): { flow: number[]; side: number[]; value: number } {
  const flow = pipes.map(() => 0);
  for (let value = 0; ;) {
    const way = new Map<number, { pipe: number; sign: number; before: number }>();
    const reached = [1];
    for (const vertex of reached) {
      for (const [pipe, { from, to, most }] of pipes.entries()) {
        const step = from === vertex && at(flow, pipe) < most ? to : to === vertex && at(flow, pipe) > 0 ? from : null;
        if (step === null || reached.includes(step)) continue;
        way.set(step, { pipe, sign: step === to && from === vertex ? 1 : -1, before: vertex });
        reached.push(step);
      }
    }
    if (!reached.includes(size)) return { flow, side: reached.toSorted((a, b) => a - b), value };
    const steps: { pipe: number; sign: number }[] = [];
    for (let step = way.get(size); step !== undefined; step = way.get(step.before)) steps.push(step);
    const room = Math.min(
      ...steps.map(({ pipe, sign }) => (sign > 0 ? at(pipes, pipe).most - at(flow, pipe) : at(flow, pipe))),
    );
    for (const { pipe, sign } of steps) flow[pipe] = at(flow, pipe) + sign * room;
    value += room;
  }
}
