/** Paths of config keys: `["orchestrator", "train", "source", 0, "env", "id"]` is `orchestrator.train.source.0.env.id`. */

export type KeyPath = readonly (string | number)[];

/** A TOML table, or its equal in JSON. */
export type Table = { [key: string]: unknown };

const BARE_KEY = /^[A-Za-z0-9_-]+$/;

/** Deeper than any config; deeper values would make messages, or the stack, too large. */
export const DEEPEST_KEY = 32;
const LONGEST_PATH = 200;

/** A text for a message, cut when it is long. */
export function shorten(text: string, most: number = LONGEST_PATH): string {
  return text.length > most ? `${text.slice(0, most)}...` : text;
}

/** How deep tables and lists are nested in a value; counting stops a little beyond the allowed depth. */
export function depthOf(value: unknown): number {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= DEEPEST_KEY; depth++) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
    if (level.length === 0) return depth;
  }
  return DEEPEST_KEY + 1;
}

/** A path as text; keys that are not bare TOML keys are quoted. */
export function formatPath(path: KeyPath): string {
  return path
    .map((part) => (typeof part === "number" || BARE_KEY.test(part) ? String(part) : JSON.stringify(part)))
    .join(".");
}

/** A path as a command-line flag, `--orchestrator.batch-size`. */
export function formatFlag(path: KeyPath): string {
  return `--${path.map((part) => String(part).replaceAll("_", "-")).join(".")}`;
}

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path, undefined when there is none. */
export function valueAt(root: unknown, path: KeyPath): unknown {
  let value = root;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Table)[part];
  }
  return value;
}

/** A value as it is shown in messages: short, with its type. */
export function showValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return '"None"';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isTable(value)) return "a table";
  if (typeof value === "string")
    return `string ${JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)}`;
  if (typeof value === "number") return Number.isInteger(value) ? `integer ${value}` : `number ${value}`;
  return `${typeof value} ${JSON.stringify(value)}`;
}
