/** Tables that are clean: columns with types, and rows of values. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";

export type ColumnType = "key" | "text" | "code" | "count" | "money" | "date" | "flag";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Of a code: its values. */
  readonly codes: readonly string[];
  /** Of a count: what is counted. */
  readonly unit: string;
}

/** Values in the order of the columns. */
export type Row = readonly Json[];

interface Pack {
  readonly key: string;
  readonly texts: readonly string[];
  readonly codes: readonly (readonly [name: string, ...codes: string[]])[];
  readonly counts: readonly (readonly [name: string, unit: string])[];
  readonly money: readonly string[];
  readonly dates: readonly string[];
  readonly flags: readonly string[];
}

const PACKS: readonly Pack[] = [
  {
    key: "order_no",
    texts: ["customer", "ship_to"],
    codes: [
      ["region", "north", "south", "east", "west"],
      ["carrier", "bike", "truck", "rail"],
    ],
    counts: [["items", "pcs"]],
    money: ["net_amount", "freight_cost"],
    dates: ["order_date", "due_date"],
    flags: ["is_paid"],
  },
  {
    key: "member_id",
    texts: ["full_name", "home_town"],
    codes: [
      ["plan", "basic", "family", "silver"],
      ["branch", "harbour", "market", "station"],
    ],
    counts: [["visits", "x"]],
    money: ["monthly_fee", "open_balance"],
    dates: ["joined_on", "paid_until"],
    flags: ["has_card"],
  },
  {
    key: "sample_id",
    texts: ["site_name", "taken_by"],
    codes: [
      ["medium", "water", "soil", "air"],
      ["method", "filter", "probe", "grab"],
    ],
    counts: [["cell_count", "cells"]],
    money: ["lab_price"],
    dates: ["taken_on", "read_on"],
    flags: ["is_valid"],
  },
  {
    key: "item_no",
    texts: ["title", "maker"],
    codes: [
      ["shelf", "upper", "middle", "lower"],
      ["condition", "mint", "worn", "broken"],
    ],
    counts: [["in_stock", "pcs"]],
    money: ["list_price", "last_margin"],
    dates: ["bought_on"],
    flags: ["on_loan"],
  },
];

const FIRST = ["Zoë", "André", "Anna", "Jürgen", "Liam", "Núria", "Bo", "Renée", "Marc", "Søren", "O'Hara", "Pat"];
const SECOND = [
  "Müller",
  "& Sons",
  "Lefèvre",
  "Smith",
  "Peña",
  "& Co",
  "Brown",
  "d'Arc",
  "Öst",
  "Lane",
  '"Max" Vale',
  "Bay, East",
];
const FIRST_DAY = Date.UTC(2003, 0, 1);
const DAYS = 8_400;
const DAY_MS = 86_400_000;

/** A key, a text, an amount, a date, and others; `needs` names types that must be among them. */
export function drawColumns(rng: Rng, count: number, needs: ReadonlySet<ColumnType>): Column[] {
  const pack = rng.pick(PACKS);
  const plain = (type: ColumnType, name: string): Column => ({ name, type, codes: [], unit: "" });
  const byType: Record<Exclude<ColumnType, "key">, Column[]> = {
    text: pack.texts.map((name) => plain("text", name)),
    code: pack.codes.map(([name, ...codes]) => ({ ...plain("code", name), codes })),
    count: pack.counts.map(([name, unit]) => ({ ...plain("count", name), unit })),
    money: pack.money.map((name) => plain("money", name)),
    date: pack.dates.map((name) => plain("date", name)),
    flag: pack.flags.map((name) => plain("flag", name)),
  };
  const first = (["text", "money", "code", "count", "date", "flag"] as const).filter(
    (type) => type === "text" || type === "money" || needs.has(type),
  );
  const chosen = first.map((type) => at(byType[type], 0));
  const rest = Object.values(byType)
    .flat()
    .filter((column) => !chosen.includes(column));
  return [plain("key", pack.key), ...sample([...chosen, ...sample(rest, count - 1 - chosen.length, rng)], 9, rng)];
}

/** Rows with ascending keys; some values that are not keys are null. */
export function drawRows(columns: readonly Column[], count: number, rng: Rng): Row[] {
  let key = between(rng, 2, 900);
  return range(count).map(() => {
    key += between(rng, 1, 9);
    return columns.map((column) => (column.type === "key" ? key : rng.integer(7) === 0 ? null : valueOf(column, rng)));
  });
}

function valueOf({ type, codes }: Column, rng: Rng): Json {
  switch (type) {
    case "code":
      return rng.pick(codes);
    case "count":
      return rng.integer(3) === 0
        ? between(rng, 0, 12)
        : rng.integer(2) === 0
          ? 100 * between(rng, 10, 990)
          : between(rng, 13, 99_999);
    case "money":
      return (
        (rng.integer(3) === 0 ? -1 : 1) *
        (rng.integer(2) === 0 ? 50 * between(rng, 1, 9_999) : between(rng, 5, 2_500_000))
      );
    case "date":
      return new Date(FIRST_DAY + DAY_MS * rng.integer(DAYS)).toISOString().slice(0, 10);
    case "flag":
      return rng.integer(2) === 0;
    default:
      return `${rng.pick(FIRST)} ${rng.pick(SECOND)}`;
  }
}

/** A value as the clean text of its cell. */
export function textOf(value: Json, type: ColumnType): string {
  if (value === null) return "";
  if (type !== "money") return typeof value === "string" ? value : JSON.stringify(value);
  const cents = Math.abs(Number(value));
  return `${Number(value) < 0 ? "-" : ""}${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;
}

/** The value of a cell; a text that does not fit the type stays a text. */
export function valueIn(cell: string, type: ColumnType): Json {
  switch (type) {
    case "key":
    case "count":
      return /^-?[0-9]+$/u.test(cell) ? Number(cell) : cell;
    case "money":
      return /^-?[0-9]+\.[0-9]{2}$/u.test(cell) ? Number(cell.replace(".", "")) : cell;
    case "flag":
      return cell === "true" ? true : cell === "false" ? false : cell;
    default:
      return cell;
  }
}
