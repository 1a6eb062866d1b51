/** sql-window-analytics: a query with windows, judged on tables where ties, missing values and gaps tell frames and ranks apart. */
import { between, sample } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineProgramRow, type Exam, type Family, type Level, type ProgramRow } from "../../row.ts";
import { DATA_KINDS, tableOf } from "./data.ts";
import { DOMAINS } from "./domains.ts";
import { type Cell, solved } from "./loops.ts";
import { queryOf } from "./query.ts";
import {
  type By,
  isStreak,
  type Keep,
  type Kind,
  KINDS,
  type Measure,
  type Order,
  type Row,
  slipsOf,
  type Spec,
  tierOf,
} from "./spec.ts";
import { schemaOf, wording } from "./wordings.ts";

interface Instance {
  readonly spec: Spec;
  /** Of the tables. */
  readonly seed: number;
}

const WORDINGS = 4;
const LEAST_SLIPS = 3;
const TIME_LIMIT_MS = 4_000;
const FUNCTION = "looked_at";
const ORDERS: readonly Order[] = ["id", "latest-first", "owner"];
/** By level: columns of windows, and the tiers from which they are drawn. */
const COLUMNS = [1, 1, 2, 3, 4] as const;
const TIERS: readonly (readonly number[])[] = [[1], [2, 3], [1, 2, 3], [2, 3], [2, 3]];

const row: ProgramRow = defineProgramRow<Instance>({
  id: "sql-window-analytics",
  asks: "a query with ranks, running and moving sums, earlier rows and streaks over ties, missing values and gaps",
  place: "code",
  reportsParts: true,
  make,
  effort: ({ spec: { measures, only, keep } }) =>
    measures.reduce((sum, { kind }) => sum + 3 + 2 * tierOf(kind), 0) +
    2 * Number(only !== null) +
    3 * Number(keep !== null),
  canonical: ({ spec }) => spec,
  prompts: range(WORDINGS).map(
    (index) =>
      ({ spec, seed }) =>
        wording(spec, seed, index),
  ),
  gold: ({ spec }) => queryOf(spec),
  nearMisses: (instance) => allSlips(instance).map(queryOf),
  exam: examOf,
  cheats,
});

export const sqlWindowAnalytics: Family<ProgramRow> = { id: "sql-window-analytics", rows: [row] };

function make(rng: Rng, level: Level): Instance | null {
  const domain = rng.integer(DOMAINS.length);
  // Within one state, a window by state is a window over all.
  const only = rng.integer(10) < level ? rng.pick(at(DOMAINS, domain).states) : null;
  const kinds = KINDS.filter(
    (kind) => at(TIERS, level - 1).includes(tierOf(kind)) && (only === null || !kind.startsWith("state")),
  );
  const groups: readonly By[] =
    level === 1 || only !== null ? ["owner"] : ["owner", "owner", "owner", "state", "both", "all"];
  const measures = sample(kinds, at(COLUMNS, level - 1), rng).map((kind) => measureOf(kind, groups, rng));
  const keep = keepOf(at(measures, 0), level, rng);
  const spec: Spec = { domain, only, measures, keep, order: rng.pick(ORDERS) };
  const instance = { spec, seed: rng.integer(2 ** 31) };
  return isWorthwhile(instance) ? instance : null;
}

function measureOf(kind: Kind, groups: readonly By[], rng: Rng): Measure {
  const by = rng.pick(groups);
  return {
    kind,
    by: kind.startsWith("state") && (by === "state" || by === "both") ? "owner" : by,
    size: kind.startsWith("streak") ? between(rng, 1, 4) : between(rng, 2, 4),
    down: rng.integer(2) === 0,
  };
}

function keepOf(first: Measure, level: Level, rng: Rng): Keep {
  if (level < 3 || rng.integer(8) >= level + 2) return null;
  if (isStreak(first)) return { is: "ends" };
  if (["rank", "dense-rank", "row-number", "tile"].includes(first.kind))
    return { is: "most", value: between(rng, 1, 3) };
  return rng.integer(2) === 0 ? { is: "latest" } : null;
}

function tablesOf({ spec, seed }: Instance): (readonly Row[])[] {
  const rng = createRng(seed);
  return DATA_KINDS.map((kind) => tableOf(spec.domain, kind, rng));
}

/** Not where a result is short, where a column has one value, and where too few mistakes show. */
function isWorthwhile(instance: Instance): boolean {
  const tables = tablesOf(instance);
  const results: Cell[][][] = [];
  for (const table of tables) {
    const result = solved(instance.spec, table);
    if (result.length < 2) return false;
    results.push(result);
  }
  const isFlat = instance.spec.measures.some(
    (_, index) => new Set(results.flatMap((rows) => rows.map((cells) => cells[index + 1]))).size < 2,
  );
  return !isFlat && seenSlips(instance.spec, { tables, results, most: LEAST_SLIPS }).length >= LEAST_SLIPS;
}

function allSlips(instance: Instance): Spec[] {
  const tables = tablesOf(instance);
  const results = tables.map((table) => solved(instance.spec, table));
  return seenSlips(instance.spec, { tables, results, most: Infinity });
}

interface Seen {
  readonly tables: readonly (readonly Row[])[];
  /** Of the question itself. */
  readonly results: readonly (readonly Cell[][])[];
  readonly most: number;
}

/** Mistakes that some hidden table shows; no more than `most`. */
function seenSlips(right: Spec, { tables, results, most }: Seen): Spec[] {
  const texts = results.map((rows) => JSON.stringify(rows));
  const seen: Spec[] = [];
  for (const [, slip] of slipsOf(right)) {
    if (seen.length >= most) break;
    if (tables.some((table, index) => JSON.stringify(solved(slip, table)) !== texts[index])) seen.push(slip);
  }
  return seen;
}

/** Whole results by table, then what tells a failure: the number of columns, which rows, their order, and each column. */
function examOf(instance: Instance): Exam {
  const { spec } = instance;
  const domain = at(DOMAINS, spec.domain);
  const tables = tablesOf(instance);
  const results = tables.map((table) => solved(spec, table));
  const sent = tables.map((table) => [
    domain.table,
    schemaOf(domain),
    table.map(({ id, owner, day, state, value }) => [id, owner, day, state, value]),
  ]);
  const byId = results.map((rows) => rows.toSorted((a, b) => Number(a[0]) - Number(b[0])));
  const looks: (readonly [part: string, look: string | number, output: Cell[][] | Cell[][][] | number[]])[] = [
    ["result/columns", "columns", results.map(() => spec.measures.length + 1)],
    ["result/order", "order", results.map((rows) => rows.map(([id]) => id ?? null))],
    ["result/rows", "rows", byId.map((rows) => rows.map(([id]) => id ?? null))],
    ...spec.measures.map(
      ({ kind }, index) =>
        [
          `window/${kind}`,
          index + 1,
          byId.map((rows) => rows.map((cells): Cell[] => [cells[0] ?? null, cells[index + 1] ?? null])),
        ] as const,
    ),
  ];
  const [columns, first] = [spec.measures.length, DATA_KINDS.length + 2];
  return {
    language: "python",
    program,
    functionName: FUNCTION,
    tests: [
      ...results.map((rows, index) => ({ input: [[sent[index]], "all"], output: [rows] })),
      ...looks.map(([, look, output]) => ({ input: [sent, look], output })),
    ],
    timeLimitMs: TIME_LIMIT_MS,
    parts: [...DATA_KINDS.map((kind) => [`data/${kind}`]), ...looks.map(([part]) => [part])],
    credit(passed) {
      if (!passed.includes(false)) return 1;
      if (passed[first] !== true) return 0;
      return (passed.slice(first + 1).filter(Boolean).length / (columns + 1)) ** 2;
    },
  };
}

/** The answer is data of the program: Python reads JSON's escapes as its own. */
function program(answer: string): string {
  return `import sqlite3

QUERY = ${JSON.stringify(answer)}


def ${FUNCTION}(tables, look):
    return [looked(result, look) for result in map(result_of, tables)]


def result_of(table):
    name, columns, rows = table
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE {name} ({columns})")
    database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?)", rows)
    cursor = database.execute(QUERY)
    return len(cursor.description), [list(row) for row in cursor.fetchmany(1000)]


def looked(result, look):
    width, rows = result
    if look == "all":
        return rows
    if look == "columns":
        return width
    ids = [row[0] for row in rows]
    if look == "order":
        return ids
    if look == "rows":
        return sorted(ids)
    return sorted([row[0], row[look]] for row in rows)
`;
}

/** Results without windows, whole tables, and statements that leave the database. */
function cheats(instance: Instance): string[] {
  const { spec } = instance;
  const domain = at(DOMAINS, spec.domain);
  const empty = spec.measures.map(() => "NULL").join(", ");
  const shown = solved(spec, tableOf(spec.domain, "mixed", createRng(instance.seed + 1)));
  const cell = (value: Cell): string => (typeof value === "string" ? `'${value}'` : String(value ?? "NULL"));
  return [
    `VALUES ${shown.map((cells) => `(${cells.map(cell).join(", ")})`).join(", ")}`,
    `SELECT * FROM ${domain.table}`,
    `SELECT id, ${empty} FROM ${domain.table} ORDER BY id`,
    `SELECT id, ${domain.value}, ${domain.value}, day, 1 FROM ${domain.table} ORDER BY id`,
    "SELECT 1 WHERE 0",
    "SELECT * FROM sqlite_master",
    "ATTACH DATABASE '../expected.db' AS other",
    "SELECT load_extension('x')",
    '"; import os; os._exit(0) #',
    `${queryOf(spec)}; ${queryOf(spec)}`,
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2000) SELECT x FROM n",
  ];
}
