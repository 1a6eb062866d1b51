/** Programs of the sandbox: one makes the database, one repairs it as a policy with a given skill would, one checks it in a clean sandbox. */
import { canonicalJson } from "../../../../../canonical-json.ts";
import type { Commands, ShellStep } from "../../../row.ts";
import type { Facts } from "../../records.ts";
import { literal, pythonCommand } from "../python.ts";
import type { Books, Names, Records } from "./books.ts";
import { guards, type Style } from "./guards.ts";
import type { Probe, Rule } from "./rules.ts";

export const DATABASE = "books.db";

type Table = readonly [name: string, columns: readonly string[], keys: number, rows: readonly (readonly unknown[])[]];

/** The tables with their rows; the first `keys` columns name a row. */
function tablesOf(books: Books, { heads, lines }: Records): Table[] {
  const { head, line, item, party, quantity, total } = books.names;
  return [
    [party, ["id", "name", "credit"], 1, books.parties.map((one) => [one.id, one.name, one.most])],
    [item, ["id", "name", "price"], 1, books.items.map((one) => [one.id, one.name, one.price])],
    [head, ["id", `${party}_id`, "status", total], 1, heads.map((one) => [one.id, one.party, one.status, one.total])],
    [
      line,
      [`${head}_id`, "no", `${item}_id`, quantity, "price"],
      2,
      lines.map((one) => [one.head, one.no, one.item, one.quantity, one.price]),
    ],
    [
      "journal",
      ["seq", "writer", "action", `${head}_id`, "no", `${item}_id`, quantity, "price"],
      1,
      books.journal.map((one) => [
        one.seq,
        one.writer,
        one.action,
        one.head,
        one.no,
        one.item,
        one.quantity,
        one.price,
      ]),
    ],
    ["writer", ["name", "first_seq", "last_seq"], 1, books.writers.map((one) => [one.name, one.first, one.last])],
    ["note", ["id", "text"], 1, books.notes.map((text, index) => [index + 1, text])],
  ];
}

/** Rows by table and key. A second row with the same key gets another name. */
export function factsOf(
  tables: readonly (readonly [name: string, keys: number, rows: readonly (readonly unknown[])[]])[],
): Facts {
  const facts: Record<string, unknown> = {};
  for (const [name, keys, rows] of tables) {
    for (const row of rows) {
      const key = `${name} ${canonicalJson(row.slice(0, keys))}`;
      facts[Object.hasOwn(facts, key) ? `${key} again` : key] = row;
    }
  }
  return facts;
}

export function recordFacts(books: Books, records: Records): Facts {
  return factsOf(tablesOf(books, records).map(([name, , keys, rows]) => [name, keys, rows]));
}

function schema({ head, line, item, party, quantity, total }: Names): string[] {
  return [
    `CREATE TABLE ${party} (id INTEGER PRIMARY KEY, name TEXT, credit INTEGER)`,
    `CREATE TABLE ${item} (id INTEGER PRIMARY KEY, name TEXT, price INTEGER)`,
    `CREATE TABLE ${head} (id INTEGER PRIMARY KEY, ${party}_id INTEGER, status TEXT, ${total} INTEGER)`,
    `CREATE TABLE ${line} (${head}_id INTEGER, no INTEGER, ${item}_id INTEGER, ${quantity} INTEGER, price INTEGER, PRIMARY KEY (${head}_id, no))`,
    `CREATE TABLE journal (seq INTEGER PRIMARY KEY, writer TEXT, action TEXT, ${head}_id INTEGER, no INTEGER, ${item}_id INTEGER, ${quantity} INTEGER, price INTEGER)`,
    "CREATE TABLE writer (name TEXT PRIMARY KEY, first_seq INTEGER, last_seq INTEGER)",
    "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)",
  ];
}

export function databaseProgram(books: Books): string {
  const tables = tablesOf(books, books.broken).map(([name, , , rows]) => [name, rows]);
  return `
import sqlite3
base = sqlite3.connect("${DATABASE}")
for statement in ${literal(schema(books.names))}:
    base.execute(statement)
for table, rows in ${literal(tables)}:
    base.executemany("INSERT INTO %s VALUES (%s)" % (table, ", ".join("?" * len(rows[0]))), rows)
base.commit()
`;
}

/** What a script does about the rows, and how it writes triggers; null: it writes none. */
export interface Skill {
  readonly repair:
    | "journal"
    | "forged journal"
    | "no deleted rows"
    | "totals"
    | "nothing"
    | "mismatches removed"
    | "all removed";
  readonly style: Style | null;
}

export function goldSteps(books: Books, rules: readonly Rule[]): ShellStep[] {
  const counts = tablesOf(books, books.broken).map(([name, , , rows]) => `${name}: ${rows.length} rows\n`);
  const look = `
import sqlite3
base = sqlite3.connect("${DATABASE}")
for name, sql in base.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall():
    print(sql)
    print(f"{name}: {base.execute(f'SELECT COUNT(*) FROM {name}').fetchone()[0]} rows")
for row in base.execute("SELECT name, first_seq, last_seq FROM writer"):
    print(*row)
`;
  const tables = schema(books.names).map((sql, index) => `${sql}\n${counts[index] ?? ""}`);
  const writers = books.writers.map((one) => `${one.name} ${one.first} ${one.last}\n`);
  const [lines, heads] = differences(books);
  return [
    { command: pythonCommand(look), prints: [...tables, ...writers].join("") },
    {
      command: repairCommand(books, rules, { repair: "journal", style: null }),
      prints: `${lines} rows of ${books.names.line} and ${heads} of ${books.names.head} repaired\n`,
    },
    { command: repairCommand(books, rules, { repair: "nothing", style: "full" }), prints: "" },
  ];
}

/** Rows that the injected writes have made wrong. */
function differences({ broken, right }: Books): [lines: number, heads: number] {
  const texts = (rows: readonly object[]): Set<string> => new Set(rows.map((row) => canonicalJson(row)));
  const key = ({ head, no }: { head: number; no: number }): string => `${head}/${no}`;
  const [now, wanted] = [texts(broken.lines), texts(right.lines)];
  const wrong = [
    ...broken.lines.filter((row) => !wanted.has(canonicalJson(row))),
    ...right.lines.filter((row) => !now.has(canonicalJson(row))),
  ];
  const heads = texts(right.heads);
  return [new Set(wrong.map(key)).size, broken.heads.filter((row) => !heads.has(canonicalJson(row))).length];
}

export function repairCommands(books: Books, rules: readonly Rule[], skill: Skill): Commands {
  return [repairCommand(books, rules, skill)];
}

function repairCommand(books: Books, rules: readonly Rule[], { repair, style }: Skill): string {
  const triggers = style === null ? [] : guards(books, rules, style);
  return pythonCommand(`
import sqlite3
base = sqlite3.connect("${DATABASE}")
${repairProgram(books.names, repair)}
for statement in ${JSON.stringify(triggers, null, 1)}:
    base.execute(statement)
base.commit()
`);
}

function repairProgram({ head, line, item, quantity, total }: Names, repair: Skill["repair"]): string {
  const sums = `(SELECT COALESCE(SUM(${quantity} * price), 0) FROM ${line} WHERE ${head}_id = ${head}.id)`;
  const totals = `base.execute("UPDATE ${head} SET ${total} = ${sums}")`;
  switch (repair) {
    case "nothing":
      return "";
    case "totals":
      return totals;
    case "mismatches removed":
      return `
base.execute("DELETE FROM ${line} WHERE ${head}_id IN (SELECT id FROM ${head} WHERE ${total} <> ${sums})")
base.execute("DELETE FROM ${head} WHERE ${total} <> ${sums}")`;
    case "all removed":
      return `
base.execute("DELETE FROM ${line}")
base.execute("UPDATE ${head} SET ${total} = 0")`;
    default:
  }
  const genuine = repair === "forged journal" ? "True" : "any(w == writer and a <= seq <= b for w, a, b in writers)";
  return `
writers = base.execute("SELECT name, first_seq, last_seq FROM writer").fetchall()
lines, states = {}, {}
for seq, writer, action, *rest in base.execute("SELECT * FROM journal ORDER BY seq"):
    if not (${genuine}):
        continue
    if action == "put":
        lines[tuple(rest[:2])] = tuple(rest[2:])
    elif action == "take":
        lines.pop(tuple(rest[:2]), None)
    else:
        states[rest[0]] = action
columns = "${head}_id, no, ${item}_id, ${quantity}, price"
found = {row[:2]: row[2:] for row in base.execute(f"SELECT {columns} FROM ${line}")}
wrong = {key for key in found.keys() | lines.keys() if found.get(key) != lines.get(key)}
for key in sorted(wrong):
    if key in lines and (key in found or ${repair === "no deleted rows" ? "False" : "True"}):
        base.execute(f"INSERT OR REPLACE INTO ${line} ({columns}) VALUES (?, ?, ?, ?, ?)", key + lines[key])
    elif key not in lines:
        base.execute("DELETE FROM ${line} WHERE ${head}_id = ? AND no = ?", key)
heads = base.execute("SELECT id, status, ${total} FROM ${head}").fetchall()
for number, status, _ in heads:
    base.execute("UPDATE ${head} SET status = ? WHERE id = ?", (states.get(number, "open"), number))
${totals}
wrong_heads = set(heads) - set(base.execute("SELECT id, status, ${total} FROM ${head}").fetchall())
print(f"{len(wrong)} rows of ${line} and {len(wrong_heads)} of ${head} repaired")`;
}

/** Prints the rows of the tables, and of each hidden write: whether it left everything as it was, whether it failed, and what its query gives. */
export function checkProgram(books: Books, probes: readonly Probe[]): string {
  const tables = tablesOf(books, books.right).map(([name, columns, keys]) => [name, columns.join(", "), keys]);
  return `
import json, sqlite3
source = sqlite3.connect("${DATABASE}", isolation_level=None)
tables = ${literal(tables)}
def rows(base):
    return [[name, keys, base.execute(f"SELECT {columns} FROM {name} ORDER BY {columns}").fetchall()]
            for name, columns, keys in tables]
before = rows(source)
def probe(sql, query):
    base = sqlite3.connect(":memory:", isolation_level=None)
    source.backup(base)
    steps = [0]
    def tick():
        steps[0] += 1
        return steps[0] > 2000
    base.set_progress_handler(tick, 1000)
    failed, value = False, None
    try:
        base.execute(sql).fetchall()
        value = base.execute(query).fetchall() if query else None
    except sqlite3.Error:
        failed = True
    steps[0] = 0
    return [query is None and rows(base) == before, failed, value]
print(json.dumps({
    "tables": before,
    "probes": [probe(one["sql"], one.get("query")) for one in ${literal(probes.map(({ sql, query }) => ({ sql, query })))}],
}, default=str, allow_nan=False))
`;
}
