/** Steps of list functions: what each does, and how Python writes it. A program is a chain of steps. */
import type { Rng } from "../../../../random/rng.ts";
import { range } from "../../lists.ts";

export type List = readonly number[];

interface Step {
  readonly run: (list: List) => List;
  /** Of `x`, a list. */
  readonly python: string;
}

/** Longer results are no results, so that chains stay cheap. */
const LONGEST = 24;
const LARGEST = 10_000;

const sum = (list: List): number => list.reduce((total, x) => total + x, 0);
const mod = (x: number, by: number): number => ((x % by) + by) % by;
const sums = (list: List): List => {
  let total = 0;
  return list.map((x) => (total += x));
};

export const STEPS: Readonly<Record<string, Step>> = {
  reverse: { run: (l) => l.toReversed(), python: "x[::-1]" },
  sort: { run: (l) => l.toSorted((a, b) => a - b), python: "sorted(x)" },
  once: { run: (l) => [...new Set(l)], python: "list(dict.fromkeys(x))" },
  rest: { run: (l) => l.slice(1), python: "x[1:]" },
  "all-but-last": { run: (l) => l.slice(0, -1), python: "x[:-1]" },
  "first-three": { run: (l) => l.slice(0, 3), python: "x[:3]" },
  "last-two": { run: (l) => l.slice(-2), python: "x[-2:]" },
  "every-second": { run: (l) => l.filter((_, place) => place % 2 === 0), python: "x[::2]" },
  rotate: { run: (l) => [...l.slice(1), ...l.slice(0, 1)], python: "x[1:] + x[:1]" },
  evens: { run: (l) => l.filter((x) => x % 2 === 0), python: "[v for v in x if v % 2 == 0]" },
  odds: { run: (l) => l.filter((x) => x % 2 !== 0), python: "[v for v in x if v % 2 == 1]" },
  positives: { run: (l) => l.filter((x) => x > 0), python: "[v for v in x if v > 0]" },
  "above-five": { run: (l) => l.filter((x) => x > 5), python: "[v for v in x if v > 5]" },
  "below-mean": {
    run: (l) => l.filter((x) => x * l.length < sum(l)),
    python: "[v for v in x if v * len(x) < sum(x)]",
  },
  double: { run: (l) => l.map((x) => 2 * x), python: "[2 * v for v in x]" },
  negate: { run: (l) => l.map((x) => 0 - x), python: "[-v for v in x]" },
  next: { run: (l) => l.map((x) => x + 1), python: "[v + 1 for v in x]" },
  "less-three": { run: (l) => l.map((x) => x - 3), python: "[v - 3 for v in x]" },
  absolute: { run: (l) => l.map((x) => Math.abs(x)), python: "[abs(v) for v in x]" },
  "modulo-four": { run: (l) => l.map((x) => mod(x, 4)), python: "[v % 4 for v in x]" },
  halve: { run: (l) => l.map((x) => Math.floor(x / 2)), python: "[v // 2 for v in x]" },
  "add-place": { run: (l) => l.map((x, place) => x + place), python: "[v + i for i, v in enumerate(x)]" },
  "times-place": {
    run: (l) => l.map((x, place) => (place === 0 ? 0 : x * place)),
    python: "[v * i for i, v in enumerate(x)]",
  },
  "running-sum": { run: sums, python: "[sum(x[:i + 1]) for i in range(len(x))]" },
  "running-most": {
    run: (l) => l.map((_, place) => Math.max(...l.slice(0, place + 1))),
    python: "[max(x[:i + 1]) for i in range(len(x))]",
  },
  differences: {
    run: (l) => l.slice(1).map((x, place) => x - (l[place] ?? 0)),
    python: "[b - a for a, b in zip(x, x[1:])]",
  },
  pairs: {
    run: (l) => l.slice(1).map((x, place) => x + (l[place] ?? 0)),
    python: "[a + b for a, b in zip(x, x[1:])]",
  },
  twice: { run: (l) => l.flatMap((x) => [x, x]), python: "[v for v in x for _ in range(2)]" },
  mirror: { run: (l) => [...l, ...l.toReversed()], python: "x + x[::-1]" },
  "less-first": { run: (l) => l.map((x) => x - (l[0] ?? 0)), python: "[v - x[0] for v in x]" },
  counts: { run: (l) => l.map((x) => l.filter((y) => y === x).length), python: "[x.count(v) for v in x]" },
  ranks: { run: (l) => l.map((x) => l.filter((y) => y < x).length), python: "[sum(w < v for w in x) for v in x]" },
  rises: {
    run: (l) => l.filter((x, place) => place > 0 && x > (l[place - 1] ?? 0)),
    python: "[b for a, b in zip(x, x[1:]) if b > a]",
  },
  "add-length": { run: (l) => [...l, l.length], python: "x + [len(x)]" },
  "add-sum": { run: (l) => [...l, sum(l)], python: "x + [sum(x)]" },
};

export const NAMES: readonly string[] = Object.keys(STEPS);

/** The result of a chain; null where a list on the way is too long or a number too large. */
export function ran(chain: readonly string[], list: List): List | null {
  let now: List | null = list;
  for (const name of chain) now = now === null ? null : stepped(name, now);
  return now;
}

export function stepped(name: string, list: List): List | null {
  const result = STEPS[name]?.run(list) ?? null;
  if (result === null || result.length > LONGEST || result.some((x) => Math.abs(x) > LARGEST)) return null;
  return result;
}

/** A list as it is drawn for examples and for hidden calls. */
export function drawList(rng: Rng, least: number, most: number): List {
  const spread = rng.pick([4, 9, 20]);
  return range(least + rng.integer(most - least + 1)).map(() => rng.integer(2 * spread + 1) - Math.floor(spread / 2));
}
