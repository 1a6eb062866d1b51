/** prefix-aggregation: the fewest address blocks that cover exactly the addresses of given ones. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { type Block, blockAround, blockSize, blockText, isInside } from "./addresses.ts";

export interface AggregationProblem {
  blocks: Block[];
}

/** By level: blocks of the answer, and how often a block is cut in two. */
const SIZES = [
  [2, 3],
  [3, 5],
  [4, 8],
  [5, 12],
  [6, 18],
] as const;

export const prefixAggregation = itemRow<AggregationProblem>({
  id: "prefix-aggregation",
  asks: "the fewest address blocks that cover exactly the addresses of given blocks",
  form: "list",
  tries: 20,
  make,
  prompts: [
    (one) =>
      `These prefixes go to one neighbour:\n${text(one)}\n\nSummarise them: which fewest prefixes contain the same addresses, no more and no fewer? List them in ascending order of address, as a.b.c.d/n, separated by commas.`,
    (one) =>
      `Minimise this address list without changing the set of addresses:\n\n${text(one)}\n\nTwo halves of a block may be joined, and blocks inside of others vanish. Answer with the shortest list of blocks a.b.c.d/n, sorted by address, commas between.`,
    (one) =>
      `A filter has ${one.blocks.length} entries.\n${text(one)}\n\nRewrite it with as few CIDR entries as possible that match exactly the same addresses. Give the entries comma-separated, the lowest address first.`,
    (one) =>
      `Find the coarsest exact cover by CIDR blocks of the union of\n${text(one)}\n\nNo address outside of the union may be covered. Sort by first address, write base/length, and put commas between the blocks.`,
  ],
});

function text({ blocks }: AggregationProblem): string {
  return blocks.map(blockText).join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, cuts] = at(SIZES, level - 1);
  const near = between(rng, 1, 223) * 2 ** 24 + rng.integer(2 ** 16) * 2 ** 8;
  const pieces = range(count).map(() => blockAround(near + rng.integer(2 ** 11), between(rng, 22, 27)));
  for (const _ of range(cuts)) {
    const index = rng.integer(pieces.length);
    const { base, length } = at(pieces, index);
    if (length > 29) continue;
    const halves = [
      { base, length: length + 1 },
      { base: base + 2 ** (31 - length), length: length + 1 },
    ];
    // Now and then a block stays beside one of its halves.
    if (rng.integer(5) === 0) pieces.push(at(halves, rng.integer(2)));
    else pieces.splice(index, 1, ...halves);
  }
  const blocks = shuffled(pieces, rng);
  const { joined, steps } = aggregate(blocks);
  const items = joined.map(blockText);
  if (joined.length < Math.min(2, level) || blocks.length - joined.length < level) return null;
  const sorted = blocks.toSorted((a, b) => a.base - b.base || a.length - b.length);
  const outer = sorted.filter((one) => !sorted.some((other) => other.length < one.length && isInside(one.base, other)));
  const misses = [[...new Set(sorted.map(blockText))], [...new Set(outer.map(blockText))], items.slice(1)];
  return { problem: { blocks }, items, misses, effort: steps + blocks.length };
}

/** Drops blocks inside of others and joins halves until nothing changes. */
function aggregate(blocks: readonly Block[]): { joined: Block[]; steps: number } {
  const stack: Block[] = [];
  let steps = 0;
  for (const block of blocks.toSorted((a, b) => a.base - b.base || a.length - b.length)) {
    const top = stack.at(-1);
    steps += 1;
    if (top !== undefined && isInside(block.base, top)) continue;
    stack.push({ ...block });
    for (;;) {
      const [left, right] = stack.slice(-2);
      if (left === undefined || right === undefined || left.length !== right.length) break;
      if (left.base % (2 * blockSize(left)) !== 0 || left.base + blockSize(left) !== right.base) break;
      stack.splice(-2, 2, { base: left.base, length: left.length - 1 });
      steps += 1;
    }
  }
  return { joined: stack, steps };
}
