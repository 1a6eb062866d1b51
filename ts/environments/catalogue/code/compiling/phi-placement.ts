/** phi-placement: the phi functions of minimal SSA form for variables that blocks of a flow graph assign. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { drawFlow, type Flow, flowText, reached } from "./flow-blocks.ts";

export interface PhiProblem {
  flow: Flow;
  /** Variables that each block assigns. */
  assigned: string[][];
  names: string[];
}

/** By level: blocks, further edges, variables. */
const SIZES = [
  [5, 3, 1],
  [6, 4, 2],
  [8, 5, 2],
  [11, 7, 3],
  [15, 10, 4],
] as const;

export const phiPlacement = itemRow<PhiProblem>({
  id: "phi-placement",
  asks: "the blocks that need phi functions for each variable in minimal SSA form",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${text(one)}\n\nAll variables are also assigned at the beginning of B0. In minimal (not pruned) SSA form, which blocks get a phi function for ${one.names.join(", ")}? One line for each variable in this order: the blocks by rising number, separated by spaces, or - for none.`,
    (one) =>
      `Place phi functions by iterated dominance frontiers, whether or not a variable is live. B0 gives every variable its first value.\n\n${text(one)}\n\nAnswer with ${one.names.length} lines for ${one.names.join(", ")}: blocks with a phi (such as B3 B5) in ascending order, or -.`,
    (one) =>
      `Flow graph:\n${text(one)}\n\nConvert it to minimal SSA; a phi is itself an assignment, and the entry block defines all variables. List, a line per variable (${one.names.join(", ")}), the blocks that begin with its phi, ascending, spaces between, - if there is none.`,
    (one) =>
      `Where do different definitions meet?\n\n${text(one)}\n\nB0 defines ${one.names.join(", ")} as well. Give for each of them the minimal set of blocks with phi functions (iterated dominance frontier of its definitions): a line each, sorted, space-separated, - for the empty set.`,
  ],
});

function text({ flow, assigned }: PhiProblem): string {
  return flowText(flow, (block) =>
    at(assigned, block)
      .map((name) => `${name} = ...; `)
      .join(""),
  );
}

function make(rng: Rng, level: Level) {
  const [blocks, extra, count] = at(SIZES, level - 1);
  const flow = drawFlow(rng, blocks, extra);
  const names = "abcd".slice(0, count).split("");
  const assigned = range(blocks).map((block) => (block === 0 ? [] : names.filter(() => rng.integer(3) === 0)));
  const problem = { flow, assigned, names };
  const frontiers = frontiersOf(flow);
  const { items, work } = placed(problem, frontiers, true);
  const phis = items
    .join(" ")
    .split(" ")
    .filter((one) => one !== "-").length;
  if (phis < level + Number(level > 1) || (count > 1 && new Set(items).size < 2)) return null;
  const once = placed(problem, frontiers, false).items;
  const joins = range(blocks).filter((block) => flow.filter((next) => next.includes(block)).length > 1);
  const all = names.map(() => joins.map((block) => `B${block}`).join(" ") || "-");
  if (all.join() === items.join() || (level > 2 && once.join() === items.join())) return null;
  return {
    problem,
    items,
    misses: [
      once,
      all,
      items.map(() =>
        sample(range(blocks), 2, rng)
          .toSorted((a, b) => a - b)
          .map((block) => `B${block}`)
          .join(" "),
      ),
    ],
    effort: work + blocks * 2,
  };
}

/** A block is in the frontier of another that dominates one of its predecessors, but not strictly itself. */
function frontiersOf(flow: Flow): Set<number>[] {
  const dominated = range(flow.length).map((block) => {
    const open = reached(flow, block);
    return new Set(range(flow.length).filter((other) => !open.has(other)));
  });
  return dominated.map(
    (below, block) =>
      new Set([...below].flatMap((one) => at(flow, one).filter((next) => next === block || !below.has(next)))),
  );
}

function placed({ flow, assigned, names }: PhiProblem, frontiers: readonly ReadonlySet<number>[], repeats: boolean) {
  let work = 0;
  const items = names.map((name) => {
    const phis = new Set<number>();
    const queue = [0, ...range(flow.length).filter((block) => at(assigned, block).includes(name))];
    for (const block of queue)
      for (const join of frontiers[block] ?? []) {
        work += 1;
        if (phis.has(join)) continue;
        phis.add(join);
        if (repeats) queue.push(join);
      }
    return (
      [...phis]
        .toSorted((a, b) => a - b)
        .map((block) => `B${block}`)
        .join(" ") || "-"
    );
  });
  return { items, work };
}
