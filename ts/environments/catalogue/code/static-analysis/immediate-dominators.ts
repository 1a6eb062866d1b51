/** immediate-dominators: the immediate dominator of each block of a control-flow graph. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface FlowGraphProblem {
  /** Names of the blocks; the first is the entry. */
  names: string[];
  /** Numbers of the successors. */
  next: number[][];
}

/** By level: blocks, edges beside those of a spanning tree. */
const SIZES = [
  [5, 2],
  [7, 3],
  [9, 5],
  [12, 7],
  [16, 10],
] as const;

export const immediateDominators = itemRow<FlowGraphProblem>({
  id: "immediate-dominators",
  asks: "the immediate dominator of every block of a control-flow graph with loops",
  form: "list",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `Control-flow graph with the entry ${at(one.names, 0)}:\n\n${list(one)}\n\nFor ${wanted(one)}, in this order, give the immediate dominator; ${one.names.length - 1} names with commas.`,
    (one) =>
      `${list(one)}\n\nThese are the jumps between the blocks of a function, which starts at ${at(one.names, 0)}. A block d dominates b if every path from the entry to b passes d. Name the immediate dominators of ${wanted(one)}, comma-separated, in this order.`,
    (one) =>
      `Compute the dominator tree (root ${at(one.names, 0)}) of\n\n${list(one)}\n\nand write the parent in it of each of ${wanted(one)}: the names in the same order, with commas between.`,
    (one) =>
      `Which block is the closest one that lies on all ways from ${at(one.names, 0)} to b (other than b)? Answer for b = ${wanted(one)}, in order and separated by commas.\n\n${list(one)}`,
  ],
});

function list({ names, next }: FlowGraphProblem): string {
  const lines = next.map(
    (all, index) => `${at(names, index)} -> ${all.map((to) => at(names, to)).join(", ") || "(end)"}`,
  );
  return lines.toSorted((a, b) => (a < b ? -1 : 1)).join("\n");
}

function wanted({ names }: FlowGraphProblem): string {
  return names.slice(1).join(", ");
}

/** Sets of dominators by the classical fixpoint; the immediate one is the dominator with the most dominators. */
function dominators(next: readonly (readonly number[])[]): { parents: number[]; rounds: number } {
  const all = range(next.length);
  let sets = all.map((block) => new Set(block === 0 ? [0] : all));
  for (let rounds = 1; ; rounds++) {
    const better = all.map((block) => {
      if (block === 0) return new Set([0]);
      const before = all.filter((other) => at(next, other).includes(block));
      return new Set([block, ...all.filter((one) => before.every((other) => at(sets, other).has(one)))]);
    });
    const isStable = better.every((set, block) => set.size === at(sets, block).size);
    sets = better;
    if (!isStable) continue;
    const parents = all.slice(1).map((block) => {
      const strict = [...at(sets, block)].filter((one) => one !== block);
      return strict.reduce((a, b) => (at(sets, a).size > at(sets, b).size ? a : b));
    });
    return { parents, rounds };
  }
}

function make(rng: Rng, level: Level) {
  const [count, extra] = at(SIZES, level - 1);
  const names = ["A", ...shuffled("BCDEFGHIJKLMNOP".slice(0, count - 1), rng)];
  const next = range(count).map((): number[] => []);
  for (const block of range(count).slice(1)) at(next, between(rng, Math.max(0, block - 3), block - 1)).push(block);
  for (let draw = 0; draw < extra; draw++) {
    const [from = 0, to = 0] = sample(range(count), 2, rng);
    if (to !== 0 && !at(next, from).includes(to)) at(next, from).push(to);
  }
  if (next.some((all) => all.length > 3)) return null;
  const { parents, rounds } = dominators(next);
  const tree = range(count)
    .slice(1)
    .map((block) => next.findIndex((all) => all.includes(block)));
  const differs = parents.filter((parent, index) => parent !== tree[index]).length;
  if (differs < Math.max(1, level - 1) || new Set(parents).size < Math.min(3, level + 1)) return null;
  const named = (some: readonly number[]): string[] => some.map((block) => at(names, block));
  const last = range(count)
    .slice(1)
    .map((block) => next.findLastIndex((all) => all.includes(block)));
  const misses = [named(tree), named(last), parents.map(() => at(names, 0))];
  const edges = next.flat().length;
  return {
    problem: { names, next: next.map((all) => shuffled(all, rng)) },
    items: named(parents),
    misses,
    effort: edges * rounds,
  };
}
