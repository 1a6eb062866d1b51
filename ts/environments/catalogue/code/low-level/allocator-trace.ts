/** allocator-trace: addresses that a heap allocator returns, with splitting, joining of free blocks and a placement rule. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Placement = "first" | "best" | "worst" | "next";
export interface AllocatorProblem {
  size: number;
  align: number;
  header: number;
  placement: Placement;
  /** Sizes of requests; a negative number frees the block of that request, counted from 1. */
  operations: number[];
}

/** By level: operations, and least frees among them. */
const SIZES = [
  [5, 1],
  [9, 2],
  [14, 4],
  [20, 7],
  [30, 11],
] as const;
const PLACEMENTS: Readonly<Record<Placement, string>> = {
  first: "the free block with the lowest address that is large enough",
  best: "the smallest free block that is large enough, the one with the lowest address among equals",
  worst: "the largest free block, if it is large enough, the one with the lowest address among equals",
  next: "the first free block that is large enough, searched from the end of the block that was allocated last on (first of all from 0), and from the beginning of the heap after its end",
};

export const allocatorTrace = itemRow<AllocatorProblem>({
  id: "allocator-trace",
  asks: "the addresses that a heap allocator returns with splitting, joining and a placement rule",
  form: "list",
  tries: 20,
  make,
  prompts: [
    (one) =>
      `${rules(one)}\n\nOperations:\n\n${trace(one)}\n\nGive the address that each malloc returns, in order, separated by commas (none where it fails).`,
    (one) =>
      `Simulate a heap.\n\n${trace(one)}\n\n${rules(one)} What do the calls of malloc return? List the addresses in order with commas; write none for a call that fails.`,
    (one) =>
      `${trace(one)}\n\nThis trace runs on an empty heap. ${rules(one)} Results of all malloc calls, comma-separated, none for failures:`,
    (one) =>
      `An allocator works like this: ${rules(one)}\n\nStarting with one free block, it serves\n\n${trace(one)}\n\nWrite the returned addresses in the order of the requests, with commas between them; a request that cannot be served returns none.`,
  ],
});

function rules({ size, align, header, placement }: AllocatorProblem): string {
  return `The heap has the bytes 0 to ${size - 1}. A request for n bytes needs a block of n + ${header} bytes, rounded up to a multiple of ${align}; its first ${header} bytes are a header, and the address behind them is returned. It takes ${PLACEMENTS[placement]}; the block is cut from the low end of the free one. Freed blocks are joined with free neighbours at once.`;
}

function trace({ operations }: AllocatorProblem): string {
  let number = 0;
  return operations.map((one) => (one > 0 ? `p${++number} = malloc(${one})` : `free(p${-one})`)).join("\n");
}

interface Block {
  start: number;
  size: number;
  /** Number of the request; 0: free. */
  owner: number;
}

/** `joins`: whether freed blocks are joined. */
function addresses({ size, align, header, placement, operations }: AllocatorProblem, joins = true): string[] {
  let blocks: Block[] = [{ start: 0, size, owner: 0 }];
  const out: string[] = [];
  let rover = 0;
  for (const operation of operations) {
    if (operation < 0) {
      const freed = blocks.find(({ owner }) => owner === -operation);
      if (freed !== undefined) freed.owner = 0;
      if (joins) blocks = joined(blocks);
      continue;
    }
    const need = Math.ceil((operation + header) / align) * align;
    const fitting = blocks.filter((block) => block.owner === 0 && block.size >= need);
    const key = (block: Block): number => {
      if (placement === "first") return 0;
      if (placement === "next") return Number(block.start < rover);
      return placement === "best" ? block.size : -block.size;
    };
    const [chosen] = fitting.toSorted((a, b) => key(a) - key(b) || a.start - b.start);
    out.push(chosen === undefined ? "none" : String(chosen.start + header));
    if (chosen === undefined) continue;
    const rest = { start: chosen.start + need, size: chosen.size - need, owner: 0 };
    chosen.size = need;
    chosen.owner = out.length;
    rover = rest.start;
    if (rest.size > 0) blocks.splice(blocks.indexOf(chosen) + 1, 0, rest);
  }
  return out;
}

function joined(blocks: readonly Block[]): Block[] {
  const out: Block[] = [];
  for (const block of blocks) {
    const last = out.at(-1);
    if (last !== undefined && last.owner === 0 && block.owner === 0) last.size += block.size;
    else out.push({ ...block });
  }
  return out;
}

function make(rng: Rng, level: Level) {
  const [count, frees] = at(SIZES, level - 1);
  const align = rng.pick([4, 8, 16]);
  const live: number[] = [];
  let requests = 0;
  const operations = range(count).map((): number => {
    if (live.length > 1 && rng.integer(5) < 2) return -at(live.splice(rng.integer(live.length), 1), 0);
    live.push(++requests);
    return between(rng, 3, 60);
  });
  const size = align * Math.ceil((between(rng, 24, 40) * Math.min(requests, 6 + 2 * level)) / align);
  const problem: AllocatorProblem = {
    size,
    align,
    header: rng.pick([4, 8]),
    placement: rng.pick(["first", "best", "worst", "next"] as const),
    operations,
  };
  // A failed request cannot be freed.
  const items = addresses(problem);
  const isBad = operations.some((one) => one < 0 && items[-one - 1] === "none");
  const freed = operations.filter((one) => one < 0).length;
  const failed = items.filter((item) => item === "none").length;
  if (isBad || freed < frees || failed > items.length / 4) return null;
  const others = (["first", "best", "worst", "next"] as const).map((placement) => addresses({ ...problem, placement }));
  const different = others.filter((other) => other.join() !== items.join());
  const misses = [
    ...different,
    addresses(problem, false),
    addresses({ ...problem, header: 0 }),
    addresses({ ...problem, align: 1 }),
  ];
  if (level > 1 && different.length < 1) return null;
  return { problem, items, misses, effort: count + 2 * freed };
}
