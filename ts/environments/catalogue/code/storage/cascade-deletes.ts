/** cascade-deletes: the rows that are left after deletes in tables whose foreign keys cascade, set null or forbid. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Action = "CASCADE" | "SET NULL" | "NO ACTION";
interface Table {
  name: string;
  /** Foreign keys: name of the column, and index of the table. */
  keys: { column: string; table: number; action: Action }[];
  rows: (number | null)[][];
}
export interface CascadeProblem {
  tables: Table[];
  deletes: { table: number; id: number }[];
}

/** By level: tables, rows of a table, deletes. */
const SIZES = [
  [2, 3, 2],
  [3, 3, 2],
  [3, 4, 3],
  [4, 5, 4],
  [5, 6, 5],
] as const;
const NAMES = ["owner", "site", "item", "part", "note"];

export const cascadeDeletes = itemRow<CascadeProblem>({
  id: "cascade-deletes",
  asks: "the rows left after deletes under foreign keys that cascade, set null or refuse",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${cascadeSchema(one)}\n\n${rows(one)}\n\nThen these statements run, each for itself (one that would leave a reference to a missing row fails and changes nothing):\n${cascadeStatements(one).join("\n")}\n\nWrite the rows that remain, table by table and by id, one a line: table name, id and foreign keys in order, separated by spaces, with null for NULL.`,
    (one) =>
      `Foreign keys are enforced at the end of each statement.\n\n${cascadeSchema(one)}\n\nContents:\n${rows(one)}\n\nStatements:\n${cascadeStatements(one).join("\n")}\n\nA failing statement is undone, the next ones still run. List all remaining rows as lines "table id keys..." in the order of the tables above, then of ids (NULL is written null).`,
    (one) =>
      `What is left? Before:\n${rows(one)}\n\nSchema:\n${cascadeSchema(one)}\n\nRun\n${cascadeStatements(one).join("\n")}\nwhere a statement that violates a NO ACTION key at its end has no effect. One line per surviving row: table, id, foreign key values (null if empty), spaces between; tables as above, ids ascending.`,
    (one) =>
      `${rows(one)}\n\nThese rows belong to\n\n${cascadeSchema(one)}\n\nAn administrator enters\n${cascadeStatements(one).join("\n")}\n\nStatements are atomic and refused if a dangling reference would remain. Print the tables afterwards: a row is a line with the table's name, the id and the values of its foreign keys (null for none), sorted by table as declared and id.`,
  ],
});

export function cascadeSchema({ tables }: CascadeProblem): string {
  return tables
    .map(({ name, keys }) => {
      const columns = keys.map(
        ({ column, table, action }) => `${column} INTEGER REFERENCES ${at(tables, table).name}(id) ON DELETE ${action}`,
      );
      return `CREATE TABLE ${name} (${["id INTEGER PRIMARY KEY", ...columns].join(", ")});`;
    })
    .join("\n");
}

export function cascadeStatements({ tables, deletes }: CascadeProblem): string[] {
  return deletes.map(({ table, id }) => `DELETE FROM ${at(tables, table).name} WHERE id = ${id};`);
}

function rows({ tables }: CascadeProblem): string {
  return tables
    .map(
      ({ name, keys, rows: all }) =>
        `${name}(${["id", ...keys.map(({ column }) => column)].join(", ")}): ${all.map((row) => `(${row.map((value) => value ?? "NULL").join(", ")})`).join(" ")}`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, size, deleteCount] = at(SIZES, level - 1);
  const tables = range(count).map((index): Table => {
    const parents =
      index === 0
        ? []
        : level > 1 && index > 1 && rng.integer(2) === 0
          ? [index - 1, rng.integer(index - 1)]
          : [rng.integer(index)];
    const keys = parents.map((table) => ({
      column: `${at(NAMES, table)}_id`,
      table,
      action: rng.pick(["CASCADE", "CASCADE", "SET NULL", "NO ACTION"] as const),
    }));
    const ids = range(size).map((place) => 10 * (index + 1) + place);
    const below = (table: number): number | null =>
      rng.integer(6) === 0 ? null : 10 * (table + 1) + rng.integer(size);
    return { name: at(NAMES, index), keys, rows: ids.map((id) => [id, ...keys.map(({ table }) => below(table))]) };
  });
  const deletes = range(deleteCount).map(() => {
    const table = rng.integer(Math.max(1, count - 1));
    return { table, id: 10 * (table + 1) + rng.integer(size) };
  });
  if (new Set(deletes.map(({ id }) => id)).size < deleteCount) return null;
  const problem = {
    tables,
    deletes: deletes.toSorted((a, b) => b.table - a.table || a.id - b.id).map((_, index) => at(deletes, index)),
  };
  const { items, touched, failed } = remaining(problem, null);
  if (touched < level + 1 || items.length < 2 || (level > 2 && (failed === 0 || failed === deleteCount))) return null;
  const misses = (["CASCADE", "SET NULL", "NO ACTION"] as const).map((action) => remaining(problem, action).items);
  return { problem, items, misses, effort: touched * 2 + count * size };
}

/** `all`: one action for every key, which is a slip. */
function remaining({ tables, deletes }: CascadeProblem, all: Action | null) {
  let state = tables.map(({ rows: own }) => own.map((row) => [...row]));
  let touched = 0;
  let failed = 0;
  for (const { table, id } of deletes) {
    const next = state.map((own) => own.map((row) => [...row]));
    const queue = [{ table, id }];
    for (const gone of queue) {
      const own = at(next, gone.table);
      const place = own.findIndex((row) => row[0] === gone.id);
      if (place < 0) continue;
      own.splice(place, 1);
      touched += 1;
      for (const [index, { keys }] of tables.entries())
        for (const [column, key] of keys.entries()) {
          if (key.table !== gone.table || (all ?? key.action) === "NO ACTION") continue;
          for (const row of at(next, index)) {
            if (row[column + 1] !== gone.id) continue;
            touched += 1;
            if ((all ?? key.action) === "CASCADE") queue.push({ table: index, id: row[0] ?? 0 });
            else row[column + 1] = null;
          }
        }
    }
    const dangles = tables.some(({ keys }, index) =>
      at(next, index).some((row) =>
        keys.some(
          (key, column) =>
            row[column + 1] !== null && !at(next, key.table).some((other) => other[0] === row[column + 1]),
        ),
      ),
    );
    if (dangles) failed += 1;
    else state = next;
  }
  const items = tables.flatMap(({ name }, index) =>
    at(state, index).map((row) => [name, ...row.map((value) => value ?? "null")].join(" ")),
  );
  return { items, touched, failed };
}
