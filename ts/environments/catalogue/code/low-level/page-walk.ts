/** page-walk: physical addresses, or faults, of virtual ones by a walk through page tables in a memory dump. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface WalkProblem {
  depth: number;
  /** Bits of an index into a table, and of the offset in a page. */
  indexBits: number;
  offsetBits: number;
  /** Page of the first table. */
  root: number;
  /** Entries of the tables by page: page * 4 + writable * 2 + present. */
  tables: { page: number; entries: number[] }[];
  accesses: { write: boolean; address: number }[];
}

/** By level: depth, bits of an index, accesses, and whether pages may be read only. */
const SIZES = [
  [1, 2, 2, false],
  [2, 2, 3, false],
  [2, 3, 4, true],
  [3, 2, 5, true],
  [3, 3, 6, true],
] as const;
const OFFSET_BITS = 8;
const PAGES = 60;
/** Addresses that are drawn for an access that succeeds. */
const TRIES = 12;

export const pageWalk = itemRow<WalkProblem>({
  id: "page-walk",
  asks: "physical addresses or faults by walking page tables in a memory dump",
  form: "list",
  make,
  prompts: [
    (one) =>
      `${manual(one)}\n\nTables in memory:\n${dump(one)}\n\nTranslate:\n${wanted(one)}\n\nGive the physical address of each in hexadecimal (like 0x1a2b), or the word fault, separated by commas.`,
    (one) =>
      `Accesses of a program:\n${wanted(one)}\n\n${manual(one)}\n\n${dump(one)}\n\nWhich physical address does each access reach? Answer in order with commas, hexadecimal with 0x and lower-case letters, and fault where the walk fails.`,
    (one) =>
      `Page tables (all numbers hexadecimal):\n${dump(one)}\n\n${manual(one)}\n\nFor every one of\n${wanted(one)}\nstate the resulting physical address, or fault. A comma-separated list such as 0x3f10, fault, 0x2004.`,
    (one) =>
      `You are the memory management unit. ${manual(one)}\n\nThe dump of all tables:\n${dump(one)}\n\nRequests, to be answered in order:\n${wanted(one)}\n\nWrite physical addresses as 0x followed by lower-case hexadecimal digits without leading zeros, or fault; commas between.`,
  ],
});

function hex(value: number, width = 1): string {
  return value.toString(16).padStart(width, "0");
}

function manual({ depth, indexBits, offsetBits, root, accesses }: WalkProblem): string {
  const rights = accesses.some(({ write }) => write)
    ? "bit 1 says that writing is allowed (it must be set in every entry on the way of a write)"
    : "bit 1 has no meaning here";
  const total = depth * indexBits + offsetBits;
  return `A virtual address has ${total} bits: ${depth === 1 ? "an index" : `${depth} indices`} of ${indexBits} bits${depth === 1 ? "" : " each, the highest bits first"}, then an offset of ${offsetBits} bits. The first table is page ${hex(root)}; an entry of a table is a number whose bit 0 says that it is present, ${rights}, and whose bits from 2 on are a page number: that of the next table, or from the last table that of the page. The physical address is the page number times ${hex(2 ** offsetBits)} (hexadecimal) plus the offset. An absent entry, or a write without the right, is a fault.`;
}

function dump({ tables }: WalkProblem): string {
  return tables
    .map(({ page, entries }) => `page ${hex(page)}: ${entries.map((entry) => hex(entry, 2)).join(" ")}`)
    .join("\n");
}

function wanted({ accesses }: WalkProblem): string {
  return accesses.map(({ write, address }) => `${write ? "write" : "read"} 0x${hex(address)}`).join("\n");
}

function make(rng: Rng, level: Level) {
  const [depth, indexBits, count, hasWrites] = at(SIZES, level - 1);
  const pages = sample(range(PAGES).slice(1), PAGES - 1, rng);
  const next = (): number => pages.pop() ?? 1;
  const tables: WalkProblem["tables"] = [];
  const root = next();
  const fill = (page: number, left: number): void => {
    const entries = range(2 ** indexBits).map(() => 0);
    tables.push({ page, entries });
    for (const index of range(entries.length)) {
      // Deep trees are sparse.
      const isPresent =
        rng.integer(4) > 0 && (left === 1 || index % 3 !== 1 || rng.integer(3) === 0) && pages.length > 4;
      const target = isPresent ? next() : between(rng, 1, PAGES);
      entries[index] = target * 4 + 2 * Number(rng.integer(4) > 0) + Number(isPresent);
      if (isPresent && left > 1) fill(target, left - 1);
    }
  };
  fill(root, depth);
  const bits = depth * indexBits + OFFSET_BITS;
  const walk = { depth, indexBits, offsetBits: OFFSET_BITS, root, tables };
  const accesses = range(count).map(() => {
    const write = hasWrites && rng.integer(2) === 0;
    // Without further draws most addresses of a sparse tree fail at once.
    const drawn = range(TRIES).map(() => ({ write, address: rng.integer(2 ** bits) }));
    const found = rng.integer(3) === 0 ? undefined : drawn.find((access) => translated(walk, access) !== "fault");
    return found ?? at(drawn, 0);
  });
  const problem = { ...walk, accesses };
  const items = accesses.map((access) => translated(problem, access));
  const faults = items.filter((item) => item === "fault").length;
  if (faults > count / 2 || (count > 2 && faults === 0) || new Set(items).size < count - faults + Number(faults > 0))
    return null;
  const misses = [
    items.map((item, index) => (item === "fault" ? `0x${hex(at(accesses, index).address)}` : item)),
    accesses.map((access) => translated(problem, { ...access, write: false })),
    accesses.map(({ address }) => `0x${hex(address)}`),
    items.map((item) => (item === "fault" ? item : `0x${hex(Number(item) * 4)}`)),
  ];
  return { problem, items, misses, effort: count * depth * (indexBits + 2) };
}

function translated(
  problem: Omit<WalkProblem, "accesses">,
  { write, address }: { write: boolean; address: number },
): string {
  const { depth, indexBits, offsetBits, root, tables } = problem;
  let page = root;
  for (const step of range(depth)) {
    const shift = offsetBits + (depth - 1 - step) * indexBits;
    const index = Math.floor(address / 2 ** shift) % 2 ** indexBits;
    const entry = tables.find((table) => table.page === page)?.entries[index] ?? 0;
    if ((entry & 1) === 0 || (write && (entry & 2) === 0)) return "fault";
    page = entry >> 2;
  }
  return `0x${hex(page * 2 ** offsetBits + (address % 2 ** offsetBits))}`;
}
