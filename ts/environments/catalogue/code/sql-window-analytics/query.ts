/** The question as a query of sqlite: rows, then flags, then numbers of streaks and runs, then the columns. */
import { at } from "../../lists.ts";
import { type Domain, DOMAINS } from "./domains.ts";
import type { By, Measure, Spec } from "./spec.ts";

interface Layers {
  /** A column of the second layer, and one of the third. */
  readonly flag?: string;
  readonly number?: string;
  readonly value: string;
}

export function queryOf(spec: Spec): string {
  const domain = at(DOMAINS, spec.domain);
  const layers = spec.measures.map((measure, index) => layersOf(measure, index, domain));
  const columns = (part: "flag" | "number" | "value", letter: string): string =>
    layers
      .flatMap((one, index) => (one[part] === undefined ? [] : [`,\n    ${one[part]} AS ${letter}${index}`]))
      .join("");
  const where = spec.only === null ? "" : ` WHERE ${domain.state} = '${spec.only}'`;
  const { extra, filter } = keepOf(spec, domain);
  const order = { id: "id", "latest-first": "day DESC, id", owner: `${domain.owner}, id` }[spec.order];
  return `WITH chosen AS (SELECT * FROM ${domain.table}${where}),
  flagged AS (SELECT *${columns("flag", "f")} FROM chosen),
  counted AS (SELECT *${columns("number", "n")} FROM flagged),
  valued AS (SELECT *${columns("value", "m")}${extra} FROM counted)
SELECT id, ${layers.map((_, index) => `m${index}`).join(", ")} FROM valued${filter}
ORDER BY ${order}`;
}

function keepOf({ keep, measures }: Spec, domain: Domain): { extra: string; filter: string } {
  if (keep === null) return { extra: "", filter: "" };
  if (keep.is === "most") return { extra: "", filter: ` WHERE m0 <= ${keep.value}` };
  const group = keep.is === "latest" ? domain.owner : [...groupsOf(at(measures, 0).by, domain), "n0"].join(", ");
  return {
    extra: `,\n    ROW_NUMBER() OVER (PARTITION BY ${group} ORDER BY day DESC, id DESC) AS place`,
    filter: " WHERE place = 1",
  };
}

function groupsOf(by: By, { owner, state }: Domain): string[] {
  return { owner: [owner], state: [state], both: [owner, state], all: [] }[by];
}

function partition(columns: readonly string[]): string {
  return columns.length === 0 ? "" : `PARTITION BY ${columns.join(", ")} `;
}

function layersOf(measure: Measure, index: number, domain: Domain): Layers {
  const { size } = measure;
  const { value } = domain;
  const groups = groupsOf(measure.by, domain);
  const over = (rest: string): string => `OVER (${`${partition(groups)}${rest}`.trim()})`;
  const inOrder = "ORDER BY day, id";
  const sum = (rest: string): string => `COALESCE(SUM(${value}) ${over(rest)}, 0)`;
  const sorted = `ORDER BY ${value} IS NULL, ${value}${measure.down ? " DESC" : ""}`;
  const same = (table: string, other: string): string =>
    ["1", ...groups.map((column) => `${table}.${column} = ${other}.${column}`)].join(" AND ");
  switch (measure.kind) {
    case "row-number":
      return { value: `ROW_NUMBER() ${over(measure.down ? "ORDER BY day DESC, id DESC" : inOrder)}` };
    case "rank":
      return { value: `RANK() ${over(sorted)}` };
    case "dense-rank":
      return { value: `DENSE_RANK() ${over(sorted)}` };
    case "tile":
      return { value: `NTILE(${size}) ${over(`${sorted}, id`)}` };
    case "running-rows":
      return { value: sum(`${inOrder} ROWS UNBOUNDED PRECEDING`) };
    case "running-days":
      return { value: sum("ORDER BY day") };
    case "moving-rows":
      return { value: sum(`${inOrder} ROWS ${size - 1} PRECEDING`) };
    case "moving-days":
      return { value: sum(`ORDER BY day RANGE BETWEEN ${size - 1} PRECEDING AND CURRENT ROW`) };
    case "around":
      return {
        value: `MAX(${value}) ${over(`${inOrder} ROWS BETWEEN ${size} PRECEDING AND ${size} FOLLOWING EXCLUDE CURRENT ROW`)}`,
      };
    case "previous":
      return { value: `LAG(${value}) ${over(inOrder)}` };
    case "change":
      return { value: `${value} - LAG(${value}) ${over(inOrder)}` };
    case "last-known":
      return {
        value: `(SELECT p.${value} FROM chosen p WHERE ${same("p", "counted")} AND p.${value} IS NOT NULL AND (p.day, p.id) < (counted.day, counted.id) ORDER BY p.day DESC, p.id DESC LIMIT 1)`,
      };
    case "last-of-all":
      return {
        value: `LAST_VALUE(${value}) ${over(`${inOrder} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING`)}`,
      };
    case "share":
      return { value: `100 * ${value} / NULLIF(SUM(${value}) ${over("")}, 0)` };
    default:
      return orderedLayers(measure, index, domain);
  }
}

/** Columns that follow the order of the rows through more than one layer. */
function orderedLayers(measure: Measure, index: number, domain: Domain): Layers {
  const { size } = measure;
  const { value } = domain;
  const groups = groupsOf(measure.by, domain);
  const over = (rest: string): string => `OVER (${`${partition(groups)}${rest}`.trim()})`;
  const inOrder = "ORDER BY day, id";
  switch (measure.kind) {
    case "record":
      return {
        value: `COALESCE(${value} > COALESCE(MAX(${value}) ${over(`${inOrder} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING`)}, -1), 0)`,
      };
    case "smaller":
      return {
        value: `CASE WHEN ${value} IS NOT NULL THEN RANK() ${over(`ORDER BY ${value} IS NULL, ${value}`)} - 1 END`,
      };
    case "days-since":
      return {
        value: `day - MAX(day) ${over("ORDER BY day RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING")}`,
      };
    case "states-so-far":
      return {
        flag: `ROW_NUMBER() OVER (${partition([...new Set([...groups, domain.state])])}${inOrder}) = 1`,
        value: `SUM(f${index}) ${over(`${inOrder} ROWS UNBOUNDED PRECEDING`)}`,
      };
    case "state-run":
      return {
        flag: `${domain.state} IS NOT LAG(${domain.state}) ${over(inOrder)}`,
        number: `SUM(f${index}) ${over(`${inOrder} ROWS UNBOUNDED PRECEDING`)}`,
        value: `ROW_NUMBER() OVER (${partition([...groups, `n${index}`])}${inOrder})`,
      };
    default: {
      const within = `OVER (${partition([...groups, `n${index}`])})`;
      return {
        flag: `COALESCE(day - LAG(day) ${over(inOrder)} > ${size}, 1)`,
        number: `SUM(f${index}) ${over(`${inOrder} ROWS UNBOUNDED PRECEDING`)}`,
        value:
          measure.kind === "streak-number"
            ? `n${index}`
            : `${measure.kind === "streak-size" ? "COUNT(*)" : "MIN(day)"} ${within}`,
      };
    }
  }
}
