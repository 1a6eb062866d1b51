/** cache-trace: which accesses of a trace hit in a cache with sets, ways and a replacement rule. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Rule = "LRU" | "FIFO" | "MRU";
export interface TraceProblem {
  block: number;
  sets: number;
  ways: number;
  rule: Rule;
  /** Whether a write that misses brings the block in. */
  allocates: boolean;
  trace: { write: boolean; address: number }[];
}

/** By level: sets, ways, accesses, and whether there are writes. */
const SIZES = [
  [2, 1, 8, false],
  [2, 2, 10, false],
  [4, 2, 14, false],
  [4, 2, 18, true],
  [4, 4, 26, true],
] as const;
const RULES: Readonly<Record<Rule, string>> = {
  LRU: "the block whose last access is longest ago leaves a full set",
  FIFO: "the block that was brought in first leaves a full set",
  MRU: "the block that was accessed last leaves a full set",
};

export const cacheTrace = itemRow<TraceProblem>({
  id: "cache-trace",
  asks: "hits and misses of a trace in a cache with sets, ways and a replacement rule",
  form: "list",
  make,
  prompts: [
    (one) =>
      `${geometry(one)}\n\nTrace:\n${accesses(one)}\n\nClassify every access as H (hit) or M (miss), in order, separated by commas.`,
    (one) =>
      `Simulate a data cache, empty at first.\n\n${accesses(one)}\n\n${geometry(one)}\n\nFor each line of the trace answer H if the block is in the cache and M if not: ${one.trace.length} letters with commas between.`,
    (one) =>
      `These ${one.trace.length} accesses go through a cold cache (byte addresses, decimal):\n${accesses(one)}\n\nCache: ${geometry(one)}\n\nWhich of them hit? Write the sequence of H and M, comma-separated.`,
    (one) =>
      `${geometry(one)} Nothing is cached before the first access. List the outcome (H or M) of\n\n${accesses(one)}\n\none after the other with commas; every one must be right.`,
  ],
});

function geometry({ block, sets, ways, rule, allocates, trace }: TraceProblem): string {
  const writes = trace.some(({ write }) => write)
    ? ` A write that hits counts as an access; a write that misses ${allocates ? "brings the block in like a read" : "goes to memory and leaves the cache as it is"}.`
    : "";
  return `Blocks have ${block} bytes. There are ${sets} sets with ${ways === 1 ? "one block" : `${ways} blocks`} each; block number b (address divided by ${block}, rounded down) belongs to set b mod ${sets}.${ways === 1 ? "" : ` On a miss, ${RULES[rule]}.`}${writes}`;
}

function accesses({ trace }: TraceProblem): string {
  return trace.map(({ write, address }) => `${write ? "write" : "read"} ${address}`).join("\n");
}

function make(rng: Rng, level: Level) {
  const [sets, ways, length, hasWrites] = at(SIZES, level - 1);
  const block = rng.pick([4, 8, 16, 32]);
  const blocks = range(sets * (ways + 2)).map(() => between(rng, 0, 30));
  const problem: TraceProblem = {
    block,
    sets,
    ways,
    rule: ways === 1 ? "LRU" : rng.pick(["LRU", "FIFO", "LRU", "MRU"] as const),
    allocates: rng.integer(2) === 0,
    trace: range(length).map(() => ({
      write: hasWrites && rng.integer(3) === 0,
      address: rng.pick(blocks) * block + rng.integer(block),
    })),
  };
  const items = outcomes(problem);
  const hits = items.filter((item) => item === "H").length;
  if (hits < 0.25 * length || hits > 0.75 * length) return null;
  const misses = [
    outcomes({ ...problem, rule: problem.rule === "LRU" ? "FIFO" : "LRU" }),
    outcomes({ ...problem, sets: 1, ways: sets * ways }),
    outcomes({ ...problem, allocates: !problem.allocates }),
    outcomes({ ...problem, ways: 100 }),
  ];
  // A cache that never evicts must give another answer.
  if (misses[3]?.join() === items.join()) return null;
  return { problem, items, misses, effort: length * ways * sets + Number(hasWrites) };
}

function outcomes({ block, sets, ways, rule, allocates, trace }: TraceProblem): string[] {
  const content = range(sets).map((): number[] => []);
  return trace.map(({ write, address }) => {
    const number = Math.floor(address / block);
    const set = at(content, number % sets);
    const place = set.indexOf(number);
    if (place >= 0) {
      // Of LRU and MRU the last element is the latest access, of FIFO the latest arrival.
      if (rule !== "FIFO") set.push(...set.splice(place, 1));
      return "H";
    }
    if (write && !allocates) return "M";
    if (set.length === ways) {
      if (rule === "MRU") set.pop();
      else set.shift();
    }
    set.push(number);
    return "M";
  });
}
