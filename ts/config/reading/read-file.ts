/** Reads one config file, TOML or JSON, with the line of each key. */
import { readdir } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { parse, TomlDate, TomlError } from "smol-toml";
import { PrlError } from "../../errors.ts";
import { readRegularFile } from "../../files/regular-file.ts";
import { DEEPEST_KEY, formatPath, isTable, shorten, type Table } from "../keys/key-path.ts";
import { nearest } from "../keys/suggest.ts";
import { DeepKey, keyLines } from "./toml-lines.ts";

/** Most characters of a line in a message. */
const LONGEST_LINE = 120;

export interface ConfigFile {
  /** The name as it was given. */
  readonly name: string;
  readonly folder: string;
  readonly values: Table;
  /** Line by dotted path; empty for JSON. */
  readonly lines: ReadonlyMap<string, number>;
}

/**
 * @throws PrlError PRL_CONFIG_FILE when it cannot be read, PRL_CONFIG_SYNTAX with line and column when it is malformed
 */
export async function readConfigFile(name: string, cwd: string): Promise<ConfigFile> {
  const path = resolve(cwd, name);
  const text = await readText(name, path);
  const folder = dirname(path);
  if (path.endsWith(".json")) return { name, folder, values: parseJson(name, text), lines: new Map() };
  return { name, folder, ...parseToml(name, text) };
}

async function readText(name: string, path: string): Promise<string> {
  try {
    return await readRegularFile(path);
  } catch (cause) {
    if (cause instanceof PrlError) {
      throw new PrlError("PRL_CONFIG_FILE", `${name}: ${cause.message}; name a .toml or .json file`, { cause });
    }
    const code = (cause as NodeJS.ErrnoException).code;
    if (code !== "ENOENT") throw new PrlError("PRL_CONFIG_FILE", `${name}: the config file cannot be read`, { cause });
    const near = await nearestFile(path);
    const advice = near === null ? `looked for ${path}` : `did you mean ${JSON.stringify(near)} in ${dirname(path)}?`;
    throw new PrlError("PRL_CONFIG_FILE", `${name}: no such config file; ${advice}`, { cause });
  }
}

async function nearestFile(path: string): Promise<string | null> {
  try {
    const names = await readdir(dirname(path));
    return nearest(
      basename(path),
      names.filter((name) => /\.(toml|json)$/.test(name)),
    );
  } catch {
    return null; // The folder is missing, too, so there is nothing to suggest.
  }
}

function parseToml(name: string, text: string): Pick<ConfigFile, "values" | "lines"> {
  try {
    const parsed = parse(text);
    const lines = keyLines(text);
    return { values: withoutDates(parsed) as Table, lines };
  } catch (cause) {
    if (cause instanceof DeepKey) {
      const key = shorten(formatPath(cause.path.slice(0, DEEPEST_KEY)));
      throw new PrlError(
        "PRL_CONFIG_INVALID",
        `${name}:${cause.line}: ${key}: keys are nested more than ${DEEPEST_KEY} deep`,
      );
    }
    if (cause instanceof RangeError) {
      throw new PrlError("PRL_CONFIG_SYNTAX", `${name}: keys or values are nested too deep to be read`, { cause });
    }
    if (!(cause instanceof TomlError)) throw cause;
    const reason = (cause.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    const line = text.split("\n")[cause.line - 1]?.trimEnd() ?? "";
    throw new PrlError(
      "PRL_CONFIG_SYNTAX",
      `${name}:${cause.line}:${cause.column}: ${shorten(reason)}\n    ${shorten(line.trimStart(), LONGEST_LINE)}`,
    );
  }
}

function parseJson(name: string, text: string): Table {
  try {
    // Editors on Windows put a byte order mark before it.
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/u, ""));
    if (isTable(value)) return value;
  } catch (cause) {
    throw new PrlError("PRL_CONFIG_SYNTAX", `${name}: is not valid JSON`, { cause });
  }
  throw new PrlError("PRL_CONFIG_SYNTAX", `${name}: the JSON is no object`);
}

/** None of our keys is a date: dates become text, so that messages and JSON show them as they were written. */
function withoutDates(value: unknown): unknown {
  if (value instanceof TomlDate) return value.toISOString();
  if (Array.isArray(value)) return value.map(withoutDates);
  if (!isTable(value)) return value;
  for (const [key, child] of Object.entries(value)) {
    Object.defineProperty(value, key, {
      value: withoutDates(child),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return value;
}
