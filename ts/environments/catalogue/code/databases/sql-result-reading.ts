/** sql-result-reading: the rows of a query over two small tables with NULLs, outer joins, groups and sets. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Cell = number | string | null;
/** Tables a(id, tag, n) and b(id, a_id, m). */
export interface ResultProblem {
  a: [number, string | null, number | null][];
  b: [number, number | null, number | null][];
  query: string;
}
type Joined = { readonly a: ResultProblem["a"][number]; readonly b: ResultProblem["b"][number] | null };
/** Unknown is null. */
type Truth = boolean | null;
interface Condition {
  readonly text: string;
  readonly test: (row: Joined) => Truth;
}

/** By level: rows of a and of b, join, conditions, group, and NULLs in a hundred cells. */
const SIZES = [
  [5, 0, "none", 1, false, 10],
  [5, 5, "inner", 1, false, 15],
  [6, 6, "left", 2, false, 20],
  [7, 9, "left", 2, true, 25],
  [9, 14, "left", 3, true, 30],
] as const;
const WANTED = "Give the rows of the result in order, one a line, cells separated by | without blanks, NULL as NULL.";

export const sqlResultReading = itemRow<ResultProblem>({
  id: "sql-result-reading",
  asks: "the rows of a SQL query over small tables with NULLs, outer joins and groups",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) => `${tables(one)}\n\n${one.query}\n\n${WANTED}`,
    (one) => `What does sqlite return for\n\n${one.query}\n\non these tables?\n\n${tables(one)}\n\n${WANTED}`,
    (one) =>
      `${WANTED}\n\nData in an sqlite database:\n${tables(one)}\n\nQuery that a report runs on it:\n${one.query}`,
    (one) =>
      `Evaluate the query step by step (join, filter, group, order), with three-valued logic.\n\n${one.query}\n\n${tables(one)}\n\n${WANTED}`,
  ],
});

function shown(cells: readonly Cell[]): string {
  return cells.map((cell) => cell ?? "NULL").join("|");
}

function tables({ a, b }: ResultProblem): string {
  const second = b.length === 0 ? [] : ["", "b: id|a_id|m", ...b.map(shown)];
  return ["a: id|tag|n", ...a.map(shown), ...second].join("\n");
}

const not = (value: Truth): Truth => (value === null ? null : !value);
const and = (x: Truth, y: Truth): Truth =>
  x === false || y === false ? false : x === null || y === null ? null : true;
const or = (x: Truth, y: Truth): Truth => not(and(not(x), not(y)));
const less = (x: number | null | undefined, y: number): Truth => (x === null || x === undefined ? null : x < y);

function drawCondition(tags: readonly string[], hasB: boolean, isDeep: boolean, rng: Rng): Condition {
  const value = between(rng, 2, 8);
  const tag = rng.pick(tags);
  const simple: readonly Condition[] = [
    { text: `a.n < ${value}`, test: ({ a }) => less(a[2], value) },
    { text: `NOT (a.n < ${value})`, test: ({ a }) => not(less(a[2], value)) },
    { text: `a.tag <> '${tag}'`, test: ({ a }) => (a[1] === null ? null : a[1] !== tag) },
    { text: "a.n IS NULL", test: ({ a }) => a[2] === null },
    { text: `a.tag NOT IN ('${tag}', NULL)`, test: ({ a }) => (a[1] === null ? null : a[1] === tag ? false : null) },
    { text: `a.tag IN ('${tag}', NULL)`, test: ({ a }) => (a[1] === tag ? true : null) },
    { text: `b.m < ${value}`, test: ({ b }) => less(b?.[2], value) },
    { text: `coalesce(b.m, 0) < ${value}`, test: ({ b }) => (b?.[2] ?? 0) < value },
    { text: "b.id IS NULL", test: ({ b }) => b === null },
  ];
  const pick = (): Condition => at(simple, rng.integer(hasB ? simple.length : 6));
  if (!isDeep || rng.integer(2) === 0) return pick();
  const [x, y] = [pick(), pick()];
  return { text: `(${x.text} OR ${y.text})`, test: (row) => or(x.test(row), y.test(row)) };
}

/** A total order in which NULL comes first, as in sqlite. */
function compare(x: Cell, y: Cell): number {
  if (x === y) return 0;
  if (x === null || y === null) return x === null ? -1 : 1;
  return x < y ? -1 : 1;
}

function draw(rng: Rng, level: Level) {
  const [aRows, bRows, join, conditionCount, isGrouped, nulls] = at(SIZES, level - 1);
  const tags = distinct(3, () => word(rng, 1));
  const maybe = <One>(value: One): One | null => (rng.integer(100) < nulls ? null : value);
  const a = range(aRows).map((index): ResultProblem["a"][number] => [
    index + 1,
    maybe(rng.pick(tags)),
    maybe(between(rng, 1, 9)),
  ]);
  const b = range(bRows).map((index): ResultProblem["b"][number] => [
    index + 1,
    maybe(between(rng, 1, aRows)),
    maybe(between(rng, 1, 9)),
  ]);
  const hasB = join !== "none";
  const conditions = range(conditionCount).map(() => drawCondition(tags, hasB, level > 2, rng));
  const onValue = between(rng, 3, 8);
  const hasOn = join === "left" && rng.integer(2) === 0;
  const isOn = (one: ResultProblem["b"][number], id: number): boolean =>
    one[1] === id && (!hasOn || (one[2] !== null && one[2] < onValue));
  const rows = (isInner: boolean): Joined[] =>
    a.flatMap((one) => {
      if (!hasB) return [{ a: one, b: null }];
      const found = b.filter((other) => isOn(other, one[0])).map((other): Joined => ({ a: one, b: other }));
      return found.length === 0 && join === "left" && !isInner ? [{ a: one, b: null }] : found;
    });
  const from = hasB
    ? `a ${join === "left" ? "LEFT " : ""}JOIN b ON b.a_id = a.id${hasOn ? ` AND b.m < ${onValue}` : ""}`
    : "a";
  const where = `WHERE ${conditions.map(({ text }) => text).join(" AND ")}`;
  const result = (isInner: boolean, unknown: boolean): Cell[][] => {
    const kept = rows(isInner).filter((row) => conditions.map(({ test }) => test(row)).reduce(and, true) ?? unknown);
    return isGrouped
      ? grouped(kept)
      : kept.map(({ a: one, b: other }) =>
          hasB ? [one[0], other?.[0] ?? null, one[1], other?.[2] ?? null] : [one[0], one[2], one[1]],
        );
  };
  const sorted = (some: readonly Cell[][]): string[] =>
    some
      .toSorted((x, y) => x.map((cell, index) => compare(cell, y[index] ?? null)).find((one) => one !== 0) ?? 0)
      .map(shown);
  const columns = isGrouped
    ? "a.tag, count(*), count(b.m), sum(b.m), max(a.n)"
    : hasB
      ? "a.id, b.id, a.tag, b.m"
      : "a.id, a.n, a.tag";
  const query = `SELECT ${columns} FROM ${from} ${where}${isGrouped ? " GROUP BY a.tag" : ""} ORDER BY ${isGrouped ? "1" : hasB ? "1, 2" : "1"};`;
  return {
    problem: { a, b, query },
    conditions,
    items: sorted(result(false, false)),
    inner: sorted(result(true, false)),
    loose: sorted(result(false, true)),
  };
}

function grouped(rows: readonly Joined[]): Cell[][] {
  const tags = [...new Set(rows.map(({ a }) => a[1]))];
  return tags.map((tag) => {
    const here = rows.filter(({ a }) => a[1] === tag);
    const values = here.flatMap(({ b }) => (b?.[2] === null || b === null ? [] : [b[2]])).map(Number);
    const numbers = here.flatMap(({ a }) => (a[2] === null ? [] : [a[2]]));
    const sum = values.length === 0 ? null : values.reduce((x, y) => x + y, 0);
    return [tag, here.length, values.length, sum, numbers.length === 0 ? null : Math.max(...numbers)];
  });
}

function make(rng: Rng, level: Level) {
  const { problem, conditions, items, inner, loose } = draw(rng, level);
  if (items.length < 2 || items.length > 14) return null;
  const isSame = (other: readonly string[]): boolean => other.join("\n") === items.join("\n");
  if (isSame(loose) || (level >= 3 && isSame(inner))) return null;
  const misses = [loose, inner, items.toReversed(), sample(items, items.length - 1, rng)];
  const [aRows, bRows] = [problem.a.length, problem.b.length];
  const deep = conditions.reduce((sum, { text }) => sum + text.split(" OR ").length, 0);
  return {
    problem,
    items,
    misses: misses.filter((miss) => miss.length > 0),
    effort: aRows + bRows + 3 * deep + items.length + (problem.query.includes("GROUP BY") ? 10 : 0),
  };
}
