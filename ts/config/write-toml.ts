/** Writes a config as TOML with the origin of each key as a comment. Reading it gives the same config. */
import { stringify } from "smol-toml";
import { describeOrigin, type Provenance } from "./config-tree.ts";
import { formatPath, isTable, type KeyPath, type Table } from "./keys/key-path.ts";

const COMMENT_COLUMN = 48;

/** Null, which TOML does not have, is written as `"None"`. */
export function tomlWithOrigins(config: object, provenance: Provenance): string {
  const lines: string[] = [];
  writeTable(config as Table, [], "", provenance, lines);
  return `${lines.join("\n").trim()}\n`;
}

/** `header` is the table's name in TOML, in which elements of lists have no number. */
function writeTable(table: Table, path: KeyPath, header: string, provenance: Provenance, lines: string[]): void {
  const later: [string, unknown][] = [];
  for (const [key, value] of Object.entries(table)) {
    if (isTable(value) || isTableList(value)) later.push([key, value]);
    else {
      const origin = provenance.get(formatPath([...path, key]));
      const assignment = stringify({ [key]: value ?? "None" }).trim();
      lines.push(
        origin === undefined ? assignment : `${assignment.padEnd(COMMENT_COLUMN)} # ${describeOrigin(origin)}`,
      );
    }
  }
  for (const [key, value] of later) {
    const name = header === "" ? formatPath([key]) : `${header}.${formatPath([key])}`;
    if (isTable(value)) {
      lines.push("", `[${name}]`);
      writeTable(value, [...path, key], name, provenance, lines);
      continue;
    }
    (value as Table[]).forEach((element, i) => {
      lines.push("", `[[${name}]]`);
      writeTable(element, [...path, key, i], name, provenance, lines);
    });
  }
}

function isTableList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isTable);
}
