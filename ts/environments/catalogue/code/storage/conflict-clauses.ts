/** conflict-clauses: a table after inserts whose conflicts with unique columns are ignored, replaced, updated or refused. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Insert {
  how: "plain" | "ignore" | "replace" | "update" | "nothing";
  row: [id: number, code: string, n: number];
  /** Of an update: the column whose conflict it handles, and a bound for its WHERE, where it has one. */
  on: "id" | "code";
  below: number | null;
}
export interface ConflictProblem {
  inserts: Insert[];
}

/** By level: inserts, ids, codes. */
const SIZES = [
  [6, 3, 3],
  [9, 3, 4],
  [12, 4, 4],
  [17, 5, 5],
  [24, 6, 6],
] as const;

export const conflictClauses = itemRow<ConflictProblem>({
  id: "conflict-clauses",
  asks: "a table after inserts with ignored, replaced, updated and refused conflicts of two unique columns",
  form: "lines",
  tries: 40,
  make,
  prompts: [
    (one) =>
      `SQLite:\n\n${conflictScript(one).join("\n")}\n\n${RULES} Which rows does t have at the end? One line for each, ordered by id: id, code and n, separated by spaces.`,
    (one) =>
      `${RULES} Run this in SQLite and write the final rows of t, sorted by id, each as a line "id code n":\n\n${conflictScript(one).join("\n")}`,
    (one) =>
      `A program sends these statements to SQLite one at a time and ignores errors.\n\n${conflictScript(one).join("\n")}\n\n${RULES} Give SELECT id, code, n FROM t ORDER BY id afterwards; values of a row on one line with spaces between.`,
    (one) =>
      `Both id and code are unique in t.\n\n${conflictScript(one).join("\n")}\n\nTrace the conflicts. ${RULES} The rows of t in the end, by rising id, one a line: the id, the code, the n.`,
  ],
});

const RULES =
  "A statement that fails changes nothing, and the next ones run. REPLACE deletes every row that is in conflict with the new one.";

export function conflictScript({ inserts }: ConflictProblem): string[] {
  return [
    "CREATE TABLE t (id INTEGER PRIMARY KEY, code TEXT UNIQUE, n INTEGER);",
    ...inserts.map(({ how, row: [id, code, n], on, below }) => {
      const verb = {
        plain: "INSERT",
        ignore: "INSERT OR IGNORE",
        replace: "INSERT OR REPLACE",
        update: "INSERT",
        nothing: "INSERT",
      }[how];
      const values = `${verb} INTO t VALUES (${id}, '${code}', ${n})`;
      if (how === "nothing") return `${values} ON CONFLICT (${on}) DO NOTHING;`;
      if (how !== "update") return `${values};`;
      return `${values} ON CONFLICT (${on}) DO UPDATE SET n = t.n + excluded.n${below === null ? "" : ` WHERE t.n < ${below}`};`;
    }),
  ];
}

function make(rng: Rng, level: Level) {
  const [count, ids, codes] = at(SIZES, level - 1);
  const inserts = range(count).map((index): Insert => ({
    how:
      index === 0
        ? "plain"
        : rng.pick(["plain", "ignore", "replace", "replace", "update", "update", "nothing"] as const),
    row: [between(rng, 1, ids), "pqrstuvw".charAt(rng.integer(codes)), between(rng, 1, 40)],
    on: rng.pick(["id", "code"] as const),
    below: rng.integer(3) === 0 ? between(rng, 10, 60) : null,
  }));
  const { items, kinds, conflicts } = tableAfter(inserts, "right");
  if (kinds.size < Math.min(5, level + 1) || items.length < 2) return null;
  const misses = (["one", "other", "bound"] as const).map((slip) => tableAfter(inserts, slip).items);
  if (misses[0]?.join() === items.join() && misses[1]?.join() === items.join()) return null;
  return { problem: { inserts }, items, misses, effort: count + conflicts };
}

/** Slips: REPLACE deletes only the row with the id, the other column's conflict is handled too, or a WHERE is overlooked. */
function tableAfter(inserts: readonly Insert[], slip: "right" | "one" | "other" | "bound") {
  let rows: Insert["row"][] = [];
  const kinds = new Set<string>();
  let conflicts = 0;
  for (const { how, row, on, below } of inserts) {
    const sameId = rows.find(([id]) => id === row[0]);
    const sameCode = rows.find(([, code]) => code === row[1]);
    if (sameId === undefined && sameCode === undefined) {
      rows.push([...row]);
      continue;
    }
    conflicts += 1;
    if (how === "replace") {
      rows = [...rows.filter((one) => one !== sameId && (slip === "one" || one !== sameCode)), [...row]];
      kinds.add(sameId !== sameCode && sameId !== undefined && sameCode !== undefined ? "two" : "replace");
      continue;
    }
    kinds.add(how);
    const named = on === "id" ? sameId : sameCode;
    const other = on === "id" ? sameCode : sameId;
    // A conflict of the column that the clause does not name is an error, unless the named column is in conflict, too.
    if (how !== "update" || (slip !== "other" && named === undefined)) continue;
    const target = named ?? other;
    if (target !== undefined && (below === null || slip === "bound" || target[2] < below)) target[2] += row[2];
  }
  return { items: rows.toSorted((a, b) => a[0] - b[0]).map((row) => row.join(" ")), kinds, conflicts };
}
