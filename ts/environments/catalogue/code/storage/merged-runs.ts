/** merged-runs: the sorted runs of a log-structured store after writes, deletes, flushes and compactions. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface RunsProblem {
  /** Entries at which the memory table is flushed. */
  flush: number;
  /** Runs of a level at which they are merged into one run of the next. */
  fan: number;
  levels: number;
  writes: { key: string; value: number | null }[];
}

/** By level: writes, keys, entries of a table, levels. */
const SIZES = [
  [7, 4, 2, 2],
  [12, 5, 2, 2],
  [18, 6, 2, 3],
  [28, 7, 3, 3],
  [44, 8, 3, 3],
] as const;

export const mergedRuns = itemRow<RunsProblem>({
  id: "merged-runs",
  asks: "the sorted runs of a log-structured store after writes, deletes, flushes and compactions",
  form: "lines",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `${rules(one)}\n\nWrites in order: ${writes(one)}.\n\nWrite down what is stored at the end: one line for each non-empty run, beginning with the memory table, then the runs of level 0 from the newest to the oldest, then those of level 1, and so on. A line has the entries key=value in the order of keys with spaces between; a tombstone is key=x.`,
    (one) =>
      `Follow a log-structured merge tree.\n${writes(one)}\n\n${rules(one)}\n\nList its non-empty tables in the order in which a read searches them (memory, level 0 newest first, level 1 newest first, ...), one a line, as "a=1 c=x": sorted by key, spaces between, x for a tombstone.`,
    (one) =>
      `Writes: ${writes(one)}\n\n${rules(one)}\n\nShow the memory table and all runs after the last write: newest data first, lower levels first, one run per line, entries sorted by key in the form key=value (value x where the key was deleted). Leave out empty ones.`,
    (one) =>
      `${rules(one)} After ${writes(one)}: which runs exist? Each goes on its own line, in search order from the memory table to the oldest run of the highest level, with entries such as "b=7" or "b=x" (deleted) in key order. No line for an empty table.`,
  ],
});

function rules({ flush, fan, levels }: RunsProblem): string {
  return `Writes go to a memory table, where a later write of a key replaces an earlier one; "del k" writes a tombstone. When the memory table has ${flush} keys, it is flushed as a new run of level 0 and is empty. When a level below level ${levels - 1} has ${fan} runs, they are merged at once: the newest entry of each key remains, and the result is a new run of the next level. Level ${levels - 1} is the last: its run, if there is one, takes part in a merge into it, so that it never has two, and such a merge drops tombstones at its end; other merges keep them.`;
}

function writes({ writes: all }: RunsProblem): string {
  return all.map(({ key, value }) => (value === null ? `del ${key}` : `${key}=${value}`)).join(", ");
}

function make(rng: Rng, level: Level) {
  const [count, names, flush, levels] = at(SIZES, level - 1);
  const all = range(count).map(() => ({
    key: "abcdefghij".charAt(rng.integer(names)),
    value: rng.integer(4) === 0 ? null : between(rng, 1, 99),
  }));
  const problem = { flush, fan: rng.pick([2, 3]), levels, writes: all };
  const { items, work } = runsOf(problem, "right");
  if (items.length < 2 || work < count) return null;
  const misses = [runsOf(problem, "keeps").items, runsOf(problem, "oldest").items, items.slice(1)];
  if (level > 1 && misses[0]?.join() === items.join() && misses[1]?.join() === items.join()) return null;
  return { problem, items, misses, effort: work + count };
}

type Run = ReadonlyMap<string, number | null>;

/** Slips: tombstones are always kept, or the oldest entry of a key wins. */
function runsOf({ flush, fan, levels, writes: all }: RunsProblem, how: "right" | "keeps" | "oldest") {
  let memory = new Map<string, number | null>();
  const stored = range(levels).map((): Run[] => []);
  let work = 0;
  const merge = (runs: readonly Run[], target: number): Run => {
    const result = new Map<string, number | null>();
    // Runs are kept newest first.
    for (const run of how === "oldest" ? runs : runs.toReversed())
      for (const [key, value] of run) result.set(key, value);
    work += runs.reduce((sum, run) => sum + run.size, 0);
    return target < levels - 1 || how === "keeps" ? result : new Map([...result].filter(([, value]) => value !== null));
  };
  const add = (run: Run, index: number): void => {
    const here = at(stored, index);
    here.unshift(run);
    if (index === levels - 1 || here.length < fan) return;
    const below = index + 1 === levels - 1 ? at(stored, index + 1).splice(0) : [];
    const merged = merge([...here, ...below], index + 1);
    here.length = 0;
    add(merged, index + 1);
  };
  for (const { key, value } of all) {
    memory.set(key, value);
    if (memory.size < flush) continue;
    add(memory, 0);
    memory = new Map();
    work += flush;
  }
  const text = (run: Run): string =>
    [...run]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${key}=${value ?? "x"}`)
      .join(" ");
  return { items: [memory, ...stored.flat()].filter((run) => run.size > 0).map(text), work };
}
