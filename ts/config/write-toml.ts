/** Writes a config as TOML with the origin of each key as a comment. Reading it gives the same config. */
import { stringify } from "smol-toml";
import { describeOrigin, type Provenance } from "./config-tree.ts";
import { formatPath, isTable, type KeyPath, type Table } from "./keys/key-path.ts";

const COMMENT_COLUMN = 48;

/** Null, which TOML does not have, is written as `"None"`. */
export function tomlWithOrigins(config: object, provenance: Provenance): string {
  return `${[...linesOf({ table: config as Table, path: [], header: "" }, provenance)].join("\n").trim()}\n`;
}

interface Section {
  readonly table: Table;
  readonly path: KeyPath;
  /** The table's name in TOML, in which elements of lists have no number. */
  readonly header: string;
}

function* linesOf({ table, path, header }: Section, provenance: Provenance): Generator<string> {
  const later: [string, unknown][] = [];
  for (const [key, value] of Object.entries(table)) {
    if (isTable(value) || isTableList(value)) later.push([key, value]);
    else {
      const origin = provenance.get(formatPath([...path, key]));
      const assignment = stringify({ [key]: withoutNulls(value) }).trim();
      yield origin === undefined ? assignment : `${assignment.padEnd(COMMENT_COLUMN)} # ${describeOrigin(origin)}`;
    }
  }
  for (const [key, value] of later) {
    const name = header === "" ? formatPath([key]) : `${header}.${formatPath([key])}`;
    if (isTable(value)) {
      yield* ["", `[${name}]`];
      yield* linesOf({ table: value, path: [...path, key], header: name }, provenance);
      continue;
    }
    for (const [i, element] of (value as Table[]).entries()) {
      yield* ["", `[[${name}]]`];
      yield* linesOf({ table: element, path: [...path, key, i], header: name }, provenance);
    }
  }
}

/** Lists of lists, and lists with a table and something else, are values of one key. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (isTable(value))
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, withoutNulls(child)]));
  return value ?? "None";
}

function isTableList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isTable);
}
