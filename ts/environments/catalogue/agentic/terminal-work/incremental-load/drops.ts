/** Daily drops of rows about keys, and the state that all rows delivered so far give: it does not depend on their order. */
import { between, sample, shuffled } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { distinct, word } from "../../../../builtin/words.ts";
import { at, range } from "../../../lists.ts";
import type { Level } from "../../../row.ts";

export const FEATURES = ["late", "deletes", "columns", "missing", "manifest", "units", "voids"] as const;
export type Feature = (typeof FEATURES)[number];
/** Features of a level: the first so many. */
const COUNTS = [1, 2, 4, 6, 7] as const;

export const COLUMNS = ["name", "quantity", "price"] as const;
export type Column = (typeof COLUMNS)[number];

export interface Row {
  readonly seq: number;
  readonly key: string;
  /** Minutes. */
  readonly changed: number;
  readonly op: "put" | "delete" | "void";
  /** The row that is void. */
  readonly target: number | null;
  readonly values: Readonly<Record<Column, string>>;
}

/** How a file writes its rows. */
export interface File {
  readonly name: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column[];
  /** Headers of the columns. */
  readonly headers: Readonly<Record<Column, string>>;
  /** Prices as cents, or in units with a comma. */
  readonly isCents: boolean;
  /** Its last rows were lost on the way: the manifest counts more. */
  readonly lost: number;
}

/** Headers of the columns that say what a row is about. */
export interface Names {
  readonly seq: string;
  readonly key: string;
  readonly changed: string;
  readonly op: string;
  readonly target: string;
}

export interface Feed {
  readonly names: Names;
  readonly features: readonly Feature[];
  readonly days: readonly { readonly name: string; readonly files: readonly File[] }[];
  /** The first so many days can be seen, the others come at the test. */
  readonly seen: number;
  /** Other headers of a column. */
  readonly aliases: Readonly<Record<Column, readonly string[]>>;
}

/** By level: keys, rows of a day, days that are seen and hidden. */
const SIZES = [
  { keys: 8, rows: 8, seen: 2, hidden: 3 },
  { keys: 12, rows: 12, seen: 3, hidden: 4 },
  { keys: 16, rows: 18, seen: 3, hidden: 4 },
  { keys: 22, rows: 26, seen: 4, hidden: 5 },
  { keys: 30, rows: 40, seen: 4, hidden: 6 },
] as const;
const DAY_MINUTES = 1_440;

export function drawFeed(rng: Rng, level: Level): Feed {
  const size = at(SIZES, level - 1);
  const features = FEATURES.slice(0, COUNTS[level - 1]);
  const has = (feature: Feature): boolean => features.includes(feature);
  const keys = distinct(size.keys, () => `k${between(rng, 100, 999)}`);
  const total = size.seen + size.hidden;
  const [seq = "", key = "", changed = "", op = "", target = "", ...headers] = distinct(11, () => word(rng));
  const aliasesOf = (index: number): string[] => (has("columns") ? headers.slice(2 * index, 2 * index + 2) : []);
  const aliases = { name: aliasesOf(0), quantity: aliasesOf(1), price: aliasesOf(2) };
  const byDay: Row[][] = range(total).map(() => []);
  const all: Row[] = [];
  for (const day of range(total)) {
    for (const _ of range(size.rows)) {
      const row = rowOf(all, { day, keys, has, rng });
      all.push(row);
      // Some come a day or more after others that are newer, and some come again.
      const arrival = Math.min(total - 1, day + (rng.integer(4) === 0 ? between(rng, 1, 3) : 0));
      at(byDay, arrival).push(row);
      if (rng.integer(6) === 0) at(byDay, Math.min(total - 1, arrival + between(rng, 0, 2))).push(row);
    }
  }
  const days = byDay.map((rows, day) => ({ name: `day-${String(day + 1).padStart(2, "0")}`, rows }));
  const broken: Row[] = [];
  return {
    names: { seq, key, changed, op, target },
    features,
    seen: size.seen,
    aliases,
    days: days.map(({ name, rows }, day) => {
      // What was lost comes with the next day, in a file that is whole.
      const again = broken.splice(0);
      const parts = day === total - 1 || !has("manifest") || rng.integer(2) === 0 ? [rows] : halves(rows);
      const files = [...parts, ...(again.length > 0 ? [again] : [])].map((part, index): File => {
        const isLost = index === 0 && parts.length > 1 && part.length > 2;
        if (isLost) broken.push(...part);
        return fileOf(`${at(keys, index)}.csv`, shuffled(part, rng), { aliases, has, lost: isLost ? 2 : 0, rng });
      });
      return { name, files };
    }),
  };
}

interface RowDraw {
  readonly day: number;
  readonly keys: readonly string[];
  readonly has: (feature: Feature) => boolean;
  readonly rng: Rng;
}

function rowOf(all: readonly Row[], { day, keys, has, rng }: RowDraw): Row {
  const seq = all.length + 1;
  const key = rng.pick(keys);
  const [target] = sample(
    all.filter((one) => one.op !== "void"),
    1,
    rng,
  );
  const kind = rng.integer(10);
  const isVoid = kind === 0 && has("voids") && target !== undefined;
  const op = isVoid ? "void" : kind === 1 && has("deletes") ? "delete" : "put";
  // Rows of one key may have the same minute; then their numbers decide.
  const last = all.findLast((one) => one.key === key);
  const changed =
    last !== undefined && has("deletes") && rng.integer(5) === 0
      ? last.changed
      : day * DAY_MINUTES + between(rng, 0, DAY_MINUTES - 1);
  return {
    seq,
    key: isVoid ? target.key : key,
    changed,
    op,
    target: isVoid ? target.seq : null,
    values: {
      name: word(rng),
      quantity: String(between(rng, 1, 99)),
      price: String(between(rng, 100, 9_999)),
    },
  };
}

interface FileDraw {
  readonly aliases: Feed["aliases"];
  readonly has: (feature: Feature) => boolean;
  readonly lost: number;
  readonly rng: Rng;
}

function fileOf(name: string, rows: readonly Row[], { aliases, has, lost, rng }: FileDraw): File {
  const order = has("columns") ? shuffled(COLUMNS, rng) : COLUMNS;
  const columns = has("missing") && rng.integer(2) === 0 ? order.slice(0, 2) : order;
  const headers = Object.fromEntries(COLUMNS.map((column) => [column, rng.pick([column, ...aliases[column]])]));
  return {
    name,
    rows,
    columns,
    headers: headers as File["headers"],
    isCents: !has("units") || rng.integer(2) === 0,
    lost,
  };
}

function halves(rows: readonly Row[]): Row[][] {
  const half = Math.floor(rows.length / 2);
  return [rows.slice(0, half), rows.slice(half)];
}

/** What a loader pays attention to. */
export interface Skill {
  /** Newer rows win, and not those that come later. */
  readonly newest: boolean;
  readonly tombstones: boolean;
  readonly ties: boolean;
  readonly aliases: boolean;
  readonly missing: boolean;
  readonly manifest: boolean;
  readonly units: boolean;
  readonly voids: boolean;
}

export const FULL_SKILL: Skill = {
  newest: true,
  tombstones: true,
  ties: true,
  aliases: true,
  missing: true,
  manifest: true,
  units: true,
  voids: true,
};

export function stateHeader({ names }: Pick<Feed, "names">): string {
  return `${names.key},name,quantity,price_cents`;
}

/** A row as a file delivers it, with the columns that the loader finds. */
interface Delivery {
  readonly row: Row;
  readonly columns: readonly Column[];
}

/** The state after each day, as lines of a file; of a loader with less skill where one is given. */
export function statesOf(feed: Feed, skill: Skill = FULL_SKILL): string[][] {
  const { days, features } = feed;
  const delivered: Delivery[] = [];
  return days.map(({ files }) => {
    for (const file of files) {
      if (file.lost > 0 && skill.manifest && features.includes("manifest")) continue;
      const columns = file.columns.filter((column) => skill.aliases || file.headers[column] === column);
      for (const row of file.rows.slice(0, file.rows.length - file.lost)) {
        const price = file.isCents || skill.units ? row.values.price : `${row.values.price},`;
        delivered.push({ row: { ...row, values: { ...row.values, price } }, columns });
      }
    }
    const voided = new Set(delivered.flatMap(({ row }) => (row.target === null || !skill.voids ? [] : [row.target])));
    const counted = delivered.filter(({ row }) => row.op !== "void" && !voided.has(row.seq));
    const keys = [...new Set(counted.map(({ row }) => row.key))].toSorted();
    return [
      stateHeader(feed),
      ...keys.flatMap((key) =>
        lineOf(
          key,
          counted.filter(({ row }) => row.key === key),
          skill,
        ),
      ),
    ];
  });
}

/** Of the rows since the last deletion, each column has the value of the newest one whose file has the column. */
function lineOf(key: string, delivered: readonly Delivery[], skill: Skill): string[] {
  const sorted = skill.newest
    ? delivered.toSorted(({ row: a }, { row: b }) => a.changed - b.changed || (skill.ties ? a.seq - b.seq : 0))
    : delivered;
  const last = skill.tombstones ? sorted.findLastIndex(({ row }) => row.op === "delete") : -1;
  const since = sorted.slice(last + 1).filter(({ row }) => row.op === "put");
  if (since.length === 0) return [];
  const values = COLUMNS.map((column) => {
    const newest = since.findLast(({ columns }) => !skill.missing || columns.includes(column));
    return newest?.columns.includes(column) === true ? newest.row.values[column] : "";
  });
  return [[key, ...values].join(",")];
}

/** Texts of a drop by name. */
export function dropTexts(feed: Feed, files: readonly File[]): Record<string, string> {
  const { features } = feed;
  const texts = Object.fromEntries(files.map((file) => [file.name, fileText(file, feed)]));
  const counts = files.map(({ name, rows }) => `${name},${rows.length}\n`).join("");
  return features.includes("manifest") ? { ...texts, "MANIFEST.txt": counts } : texts;
}

function fileText({ rows, columns, headers, isCents, lost }: File, { features, names }: Feed): string {
  const operated = features.includes("deletes");
  const head = [
    names.seq,
    names.key,
    names.changed,
    ...(operated ? [names.op] : []),
    ...(features.includes("voids") ? [names.target] : []),
  ];
  const found = columns.map((column) => (column === "price" && isCents ? `${headers.price}_cents` : headers[column]));
  const lines = rows.slice(0, rows.length - lost).map((row) => {
    const fixed = [row.seq, row.key, row.changed, ...(operated ? [row.op] : [])];
    const target = features.includes("voids") ? [row.target ?? ""] : [];
    const values = columns.map((column) =>
      column !== "price" || isCents
        ? row.values[column]
        : `"${row.values.price.slice(0, -2)},${row.values.price.slice(-2)}"`,
    );
    return [...fixed, ...target, ...(row.op === "put" ? values : values.map(() => ""))].join(",");
  });
  return [[...head, ...found].join(","), ...lines].map((line) => `${line}\n`).join("");
}
