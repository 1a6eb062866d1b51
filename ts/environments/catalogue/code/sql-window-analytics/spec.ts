/** A question as data: which rows belong to it, the columns of windows, which rows are shown, and their order. */

/** Columns that a window gives. */
export const KINDS = [
  "row-number",
  "rank",
  "dense-rank",
  "tile",
  "running-rows",
  "running-days",
  "moving-rows",
  "moving-days",
  "around",
  "previous",
  "change",
  "last-known",
  "last-of-all",
  "share",
  "streak-number",
  "streak-size",
  "streak-start",
  "state-run",
  "states-so-far",
  "record",
  "smaller",
  "days-since",
] as const;
export type Kind = (typeof KINDS)[number];

/** Rows with the same value here are one group; `all` is one group of all rows. */
export type By = "owner" | "state" | "both" | "all";

export interface Measure {
  readonly kind: Kind;
  readonly by: By;
  /** Width of a frame, number of tiles, or the largest step within a streak. */
  readonly size: number;
  /** Largest or last first. */
  readonly down: boolean;
}

export type Keep =
  | null
  /** Rows whose first measure is at most this. */
  | { readonly is: "most"; readonly value: number }
  /** The last row of each owner. */
  | { readonly is: "latest" }
  /** The last row of each streak of the first measure. */
  | { readonly is: "ends" };

export type Order = "id" | "latest-first" | "owner";

export interface Spec {
  /** Index of the domain. */
  readonly domain: number;
  /** Only rows of this state belong to the question. */
  readonly only: string | null;
  readonly measures: readonly Measure[];
  readonly keep: Keep;
  readonly order: Order;
}

export interface Row {
  readonly id: number;
  readonly owner: string;
  readonly day: number;
  readonly state: string;
  readonly value: number | null;
}

/** How much there is to think of: 1 for one window, 3 for nested ones. */
export function tierOf(kind: Kind): number {
  if (["row-number", "rank", "dense-rank", "running-rows", "previous"].includes(kind)) return 1;
  return ["running-days", "moving-rows", "tile", "change", "last-of-all", "share", "smaller"].includes(kind) ? 2 : 3;
}

export function isStreak({ kind }: Measure): boolean {
  return kind.startsWith("streak");
}

/** Questions with one change that a careless reader or a default of SQL makes, by a name for it. */
export function slipsOf(spec: Spec): (readonly [slip: string, spec: Spec])[] {
  const { measures, only, keep, order } = spec;
  const changed = measures.flatMap((measure, place) =>
    slipsOfMeasure(measure).map(
      ([slip, other]) =>
        [slip, { ...spec, measures: measures.map((one, index) => (index === place ? other : one)) }] as const,
    ),
  );
  return [
    ...changed,
    ...(only === null ? [] : [["filter-forgotten", { ...spec, only: null }] as const]),
    ...(keep === null ? [] : [["all-rows-kept", { ...spec, keep: null }] as const]),
    ["order", { ...spec, order: order === "id" ? "latest-first" : "id" }],
  ];
}

const SWAPS: Partial<Record<Kind, readonly Kind[]>> = {
  rank: ["dense-rank", "row-number"],
  "dense-rank": ["rank", "row-number"],
  "running-rows": ["running-days"],
  "running-days": ["running-rows"],
  "moving-rows": ["moving-days", "running-rows"],
  "moving-days": ["moving-rows", "running-days"],
  previous: ["last-known"],
  "last-known": ["previous"],
  change: ["previous"],
  "streak-number": ["streak-size"],
  "streak-size": ["streak-number"],
  "state-run": ["states-so-far", "row-number"],
  "states-so-far": ["state-run", "row-number"],
  record: ["smaller"],
  smaller: ["rank"],
  "last-of-all": ["previous"],
};
const SIZED: ReadonlySet<Kind> = new Set([
  "tile",
  "moving-rows",
  "moving-days",
  "around",
  "streak-number",
  "streak-size",
  "streak-start",
]);
const DIRECTED: ReadonlySet<Kind> = new Set(["row-number", "rank", "dense-rank", "tile"]);

function slipsOfMeasure(measure: Measure): (readonly [slip: string, measure: Measure])[] {
  const { kind, by, size, down } = measure;
  return [
    ...(SWAPS[kind] ?? []).map((other) => [`${kind}-as-${other}`, { ...measure, kind: other }] as const),
    ...(SIZED.has(kind)
      ? [
          ["wider", { ...measure, size: size + 1 }] as const,
          ["narrower", { ...measure, size: Math.max(1, size - 1) }] as const,
        ]
      : []),
    ...(DIRECTED.has(kind) ? [["direction", { ...measure, down: !down }] as const] : []),
    by === "all" ? ["partitioned", { ...measure, by: "owner" }] : ["not-partitioned", { ...measure, by: "all" }],
    by === "both" ? ["partition", { ...measure, by: "owner" }] : ["partition", { ...measure, by: "both" }],
  ];
}
