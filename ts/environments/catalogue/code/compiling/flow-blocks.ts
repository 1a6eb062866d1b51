/** Control-flow graphs of numbered blocks in which every block is reached and may reach others. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";

/** Successors of each block; block 0 is the entry. */
export type Flow = number[][];

/** Every block is reached from the entry. */
export function drawFlow(rng: Rng, blocks: number, extra: number): Flow {
  const flow: Flow = range(blocks).map(() => []);
  for (const block of range(blocks - 1).map((index) => index + 1)) {
    const open = range(block).filter((one) => at(flow, one).length < 2);
    at(flow, rng.pick(open)).push(block);
  }
  for (const _ of range(extra)) {
    const [from, to] = [rng.integer(blocks), 1 + rng.integer(blocks - 1)];
    if (at(flow, from).length < 2 && !at(flow, from).includes(to) && from !== to) at(flow, from).push(to);
  }
  return flow;
}

/** Blocks that the entry reaches without passing through `without`. */
export function reached(flow: Flow, without: number | null): Set<number> {
  const seen = new Set<number>(without === 0 ? [] : [0]);
  for (const block of seen) for (const next of at(flow, block)) if (next !== without) seen.add(next);
  return seen;
}

export function flowText(flow: Flow, lines: (block: number) => string): string {
  return flow
    .map(
      (next, block) =>
        `B${block}: ${lines(block)}${next.length === 0 ? "return" : `-> ${next.map((one) => `B${one}`).join(" or ")}`}`,
    )
    .join("\n");
}
