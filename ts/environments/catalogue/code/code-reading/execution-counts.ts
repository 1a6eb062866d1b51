/** execution-counts: how often the marked lines of a recursive function run. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

/** An argument of a recursive call: n - by, or n // by. */
interface Smaller {
  op: "-" | "//";
  by: number;
}

interface Problem {
  /** Smaller arguments return at once. */
  base: number;
  remembers: boolean;
  /** The case of n % cases.length. */
  cases: { calls: Smaller[]; stopsAt: number | null }[];
  start: number;
}

/** By level: cases, most calls of a case, least and largest argument, least and most runs. */
const SIZES = [
  [2, 1, 8, 30, 6, 12],
  [2, 2, 8, 30, 13, 30],
  [2, 2, 12, 40, 31, 60],
  [3, 2, 14, 50, 61, 120],
  [3, 3, 16, 60, 121, 300],
] as const;
const MOST_RUNS = 2_000;
const MARKS = "ABCDEFGH";
const TRIES = 80;

export const executionCounts = itemRow<Problem>({
  id: "execution-counts",
  asks: "how often the marked lines of a recursive function run",
  form: "list",
  tries: TRIES,
  make: draw,
  prompts: [
    (one) =>
      `How often is each marked line executed?\n\n${executionSource(one)}\n\nGive the counts of ${marksOf(one)}, in this order, separated by commas.`,
    (one) =>
      `A profiler counts how many times control reaches the lines with a letter behind #. The program is\n\n${executionSource(one)}\n\nWhich numbers does it report for ${marksOf(one)}? Comma-separated, in the order of the letters.`,
    (one) =>
      `${executionSource(one)}\n\nThe recursion above (Python) is started once. Determine the number of executions of every line that carries a letter; the letters are ${marksOf(one)}. List the numbers in this order with commas between.`,
    (one) =>
      `Count work: for the run of\n\n${executionSource(one)}\n\nstate how many times the lines ${marksOf(one)} are run in total. The answer is a list of numbers in alphabetical order of the marks.`,
  ],
});

/** The program; the test of the catalogue replaces the marks by counters. */
export function executionSource({ base, remembers, cases, start }: Problem): string {
  const lines = ["def f(n):"];
  let mark = 0;
  const next = (): string => `  # ${MARKS.charAt(mark++)}`;
  if (remembers) lines.push("    if n in seen:", `        return seen[n]${next()}`);
  lines.push(`    if n < ${base}:`, `        return 1${next()}`);
  for (const [index, { calls, stopsAt }] of cases.entries()) {
    lines.push(`    ${index === 0 ? "if" : "elif"} n % ${cases.length} == ${index}:`, `        r = 0${next()}`);
    for (const [place, { op, by }] of calls.entries()) {
      lines.push(`        r += f(n ${op} ${by})`);
      if (place === 0 && stopsAt !== null) {
        lines.push(`        if r > ${stopsAt}:`, "            return r");
      }
    }
  }
  if (remembers) lines.push("    seen[n] = r");
  lines.push(`    return r${next()}`);
  return [...(remembers ? ["seen = {}", ""] : []), ...lines, "", `f(${start})`].join("\n");
}

function draw(rng: Rng, level: Level) {
  const [count, mostCalls, low, high, least, most] = at(SIZES, level - 1);
  const problem: Problem = {
    base: between(rng, 1, 4),
    remembers: level > 1 && rng.integer(3) === 0,
    cases: range(count).map(() => ({
      calls: range(between(rng, 1, mostCalls)).map((): Smaller =>
        rng.integer(4) === 0 ? { op: "//", by: between(rng, 2, 3) } : { op: "-", by: between(rng, 1, 5) },
      ),
      stopsAt: level > 2 && rng.integer(3) === 0 ? between(rng, 2, 9) : null,
    })),
    start: between(rng, low, high),
  };
  const items = countsOf(problem);
  if (items === null) return null;
  const total = items.reduce((sum, one) => sum + one, 0);
  if (total < least || total > most || items.some((one) => one === 0) || new Set(items).size < 3) return null;
  const others = [
    { ...problem, remembers: !problem.remembers },
    { ...problem, base: problem.base + 1 },
    { ...problem, start: problem.start - 1 },
    { ...problem, cases: problem.cases.map((one) => ({ ...one, stopsAt: null })) },
  ].flatMap((other) => {
    const counts = countsOf(other);
    return counts === null || counts.length !== items.length ? [] : [counts.map(String)];
  });
  return { problem, items: items.map(String), misses: others, effort: total };
}

/** Counts of the marks in order; null where there are too many. */
function countsOf({ base, remembers, cases, start }: Problem): number[] | null {
  const first = remembers ? 1 : 0;
  const counts = range(first + 2 + cases.length).map(() => 0);
  const hit = (mark: number): void => {
    counts[mark] = at(counts, mark) + 1;
  };
  const seen = new Map<number, number>();
  let runs = 0;
  const f = (n: number): number => {
    if (++runs > MOST_RUNS) throw new RangeError("too many runs");
    const known = remembers ? seen.get(n) : undefined;
    if (known !== undefined) {
      hit(0);
      return known;
    }
    if (n < base) {
      hit(first);
      return 1;
    }
    const which = n % cases.length;
    hit(first + 1 + which);
    let r = 0;
    const { calls, stopsAt } = at(cases, which);
    for (const [place, { op, by }] of calls.entries()) {
      r += f(op === "-" ? n - by : Math.floor(n / by));
      if (place === 0 && stopsAt !== null && r > stopsAt) return r;
    }
    seen.set(n, r);
    hit(counts.length - 1);
    return r;
  };
  try {
    f(start);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  return counts;
}

function marksOf({ remembers, cases }: Problem): string {
  const letters = MARKS.slice(0, cases.length + 2 + Number(remembers)).split("");
  return `${letters.slice(0, -1).join(", ")} and ${letters.at(-1) ?? ""}`;
}
