/** cached-call-counts: hits, misses and results of a recursive Python function with a cache of bounded size. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface CachedProblem {
  size: number;
  /** f(n) calls f(n - step) for each step, in order, and n // 2 where `halves`. */
  steps: number[];
  halves: boolean;
  plus: number;
  unit: number;
  base: number;
  calls: number[];
}

/** By level: largest argument, calls. */
const SIZES = [
  [5, 2],
  [7, 2],
  [9, 3],
  [12, 4],
  [17, 5],
] as const;
const MOST_CALLS = 600;

export const cachedCallCounts = itemRow<CachedProblem>({
  id: "cached-call-counts",
  asks: "hits and misses of a recursive function whose least recently used results leave a small cache",
  form: "list",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${cachedSource(one)}\n\nWhat does this Python program print? Give the numbers in order, separated by commas.`,
    (one) =>
      `Python's lru_cache forgets the least recently used entry when it is full.\n\n${cachedSource(one)}\n\nList all printed numbers (result, hits so far, misses so far, entry count, for each call) with commas between.`,
    (one) =>
      `Count hits and misses of the cache in\n\n${cachedSource(one)}\n\nThe entry of a call is stored when the call returns; a hit makes its entry the most recently used one. Write what is printed as comma-separated numbers.`,
    (one) =>
      `${cachedSource(one)}\n\nEach line of its output has a result, hits, misses and the size of the cache. Write all lines behind each other as one list of numbers with commas.`,
  ],
});

export function cachedSource({ size, steps, halves, plus, unit, base, calls }: CachedProblem): string {
  const parts = [...steps.map((step) => `f(n - ${step})`), ...(halves ? ["f(n // 2)"] : [])];
  return `from functools import lru_cache

@lru_cache(maxsize=${size})
def f(n):
    if n < ${base}:
        return ${unit}
    return ${[...parts, plus].join(" + ")}

for n in [${calls.join(", ")}]:
    value = f(n)
    info = f.cache_info()
    print(value, info.hits, info.misses, info.currsize)`;
}

function make(rng: Rng, level: Level) {
  const [largest, count] = at(SIZES, level - 1);
  const steps = rng.pick([
    [1, 2],
    [2, 1],
    [1, 3],
    [3, 1],
    [2, 3],
    [3, 2],
  ]);
  const halves = rng.integer(3) === 0;
  const base = Math.max(...steps) + rng.integer(2);
  const calls = range(count).map(() => between(rng, Math.max(base, largest - 4), largest));
  const problem: CachedProblem = {
    size: between(rng, 2, 2 + Math.ceil(level / 2)),
    steps,
    halves,
    plus: between(rng, 1, 9),
    unit: between(rng, 1, 5),
    base,
    calls,
  };
  const right = run(problem, "lru");
  if (right === null) return null;
  const fifo = run(problem, "fifo");
  const whole = run({ ...problem, size: 1000 }, "lru");
  if (whole === null || right.items.join() === whole.items.join()) return null;
  const low = [0, 22, 42, 80, 150][level - 1] ?? 0;
  const high = [22, 42, 80, 150, MOST_CALLS][level - 1] ?? 0;
  if (right.total < low || right.total >= high) return null;
  return {
    problem,
    items: right.items,
    misses: [whole.items, ...(fifo === null ? [] : [fifo.items])],
    effort: right.total,
  };
}

/** Null where there are too many calls. */
function run({ size, steps, halves, plus, unit, base, calls }: CachedProblem, rule: "lru" | "fifo") {
  // From the least to the most recently used.
  const cache = new Map<number, number>();
  let [hits, total] = [0, 0];
  const f = (n: number): number => {
    total += 1;
    if (total > MOST_CALLS) return 0;
    const known = cache.get(n);
    if (known !== undefined) {
      hits += 1;
      if (rule === "lru") {
        cache.delete(n);
        cache.set(n, known);
      }
      return known;
    }
    let value = unit;
    if (n >= base) {
      value = plus;
      for (const step of steps) value += f(n - step);
      if (halves) value += f(Math.floor(n / 2));
    }
    if (cache.has(n)) return value;
    if (cache.size >= size) cache.delete([...cache.keys()][0] ?? 0);
    cache.set(n, value);
    return value;
  };
  const items = calls.flatMap((n) => [f(n), hits, total - hits, cache.size].map(String));
  return total > MOST_CALLS ? null : { items, total };
}
