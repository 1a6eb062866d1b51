/**
 * The config while it is merged: one tree of values, and the origin of each.
 *
 * Merging is left to right: tables deep, everything else, lists included, replaced whole. The tree knows nothing of schemas.
 */
import { formatPath, isTable, type KeyPath, type Table, valueAt } from "./keys/key-path.ts";

/** Where a value came from. */
export type Origin =
  | { readonly kind: "file"; readonly file: string; readonly line: number | null }
  | { readonly kind: "flag"; readonly flag: string }
  | { readonly kind: "environment"; readonly variable: string }
  | { readonly kind: "override" }
  | { readonly kind: "default" };

/** By dotted path: the origin of every value of a config. */
export type Provenance = ReadonlyMap<string, Origin>;

/** An origin as text for the beginning of a message. */
export function describeOrigin(origin: Origin): string {
  switch (origin.kind) {
    case "file":
      return origin.line === null ? origin.file : `${origin.file}:${origin.line}`;
    case "flag":
      return `command line, ${origin.flag}`;
    case "environment":
      return `environment variable ${origin.variable}`;
    case "override":
      return "overrides";
    case "default":
      return "default";
  }
}

/** Where a key, or the nearest table around it, was set; undefined when it was not set. */
export function originIn(provenance: Provenance | undefined, key: KeyPath): Origin | undefined {
  for (let depth = key.length; depth > 0; depth--) {
    const origin = provenance?.get(formatPath(key.slice(0, depth)));
    if (origin !== undefined && origin.kind !== "default") return origin;
  }
  return undefined;
}

/** `rl.toml:12: model.name`: a key with the place where it was set, as far as that is known. */
export function placeOf(key: KeyPath, provenance: Provenance | undefined): string {
  const origin = originIn(provenance, key);
  return origin === undefined ? formatPath(key) : `${describeOrigin(origin)}: ${formatPath(key)}`;
}

/** Merges `patch` over `base` into a new value: tables deep, everything else replaced. */
export function mergeValues(base: unknown, patch: unknown): unknown {
  if (!isTable(base) || !isTable(patch)) return structuredClone(patch);
  const merged: Table = {};
  for (const key of new Set([...Object.keys(base), ...Object.keys(patch)])) {
    if (!Object.hasOwn(patch, key)) define(merged, key, base[key]);
    else
      define(merged, key, Object.hasOwn(base, key) ? mergeValues(base[key], patch[key]) : structuredClone(patch[key]));
  }
  return merged;
}

/** A key in the middle of a path names a list element that does not exist. */
export class ListIndexProblem extends Error {}

export class ConfigTree {
  #root: Table = {};
  readonly #origins = new Map<string, Origin>();

  get root(): Table {
    return this.#root;
  }

  get origins(): Provenance {
    return this.#origins;
  }

  /**
   * Merges `value` in at `path`; `originOf` gets the full path of every value in it. Missing tables on the way are made; a number in
   * the path is an element of a list, or the one after its last.
   */
  merge(path: KeyPath, value: unknown, originOf: (path: KeyPath) => Origin): void {
    const before = valueAt(this.#root, path);
    this.#root = this.#place(this.#root, path, 0, value) as Table;
    for (let depth = 1; depth <= path.length; depth++) this.#keepOrigin(path.slice(0, depth), originOf);
    this.#record(path, value, before, originOf);
  }

  /** Origin of a path, or of the nearest table around it that has one. */
  originOf(path: KeyPath): Origin | undefined {
    for (let depth = path.length; depth > 0; depth--) {
      const origin = this.#origins.get(formatPath(path.slice(0, depth)));
      if (origin !== undefined) return origin;
    }
    return undefined;
  }

  #place(current: unknown, path: KeyPath, depth: number, value: unknown): unknown {
    const part = path[depth];
    if (part === undefined) return mergeValues(current, value);
    if (typeof part === "number") {
      const list = Array.isArray(current) ? [...current] : [];
      if (part > list.length) {
        throw new ListIndexProblem(
          `${formatPath(path.slice(0, depth))} has ${list.length} elements: the next one is ${list.length}, not ${part}`,
        );
      }
      list[part] = this.#place(list[part], path, depth + 1, value);
      return list;
    }
    const table: Table = isTable(current) ? { ...current } : {};
    define(table, part, this.#place(Object.hasOwn(table, part) ? table[part] : undefined, path, depth + 1, value));
    return table;
  }

  /** `before`: the earlier value; a table is merged into it when it is a table, too. */
  #record(path: KeyPath, value: unknown, before: unknown, originOf: (path: KeyPath) => Origin): void {
    const name = formatPath(path);
    if (isTable(value)) {
      const earlier = isTable(before) ? before : {};
      if (path.length > 0 && isTable(before)) this.#keepOrigin(path, originOf);
      else if (path.length > 0) this.#replaceOrigin(name, originOf(path));
      for (const [key, child] of Object.entries(value)) {
        this.#record([...path, key], child, valueAt(earlier, [key]), originOf);
      }
      return;
    }
    this.#replaceOrigin(name, originOf(path));
    if (!Array.isArray(value)) return;
    value.forEach((element, i) => this.#record([...path, i], element, undefined, originOf));
  }

  #replaceOrigin(name: string, origin: Origin): void {
    // A value without an origin has none below it either.
    if (this.#origins.has(name)) {
      for (const known of this.#origins.keys()) if (known.startsWith(`${name}.`)) this.#origins.delete(known);
    }
    this.#origins.set(name, origin);
  }

  #keepOrigin(path: KeyPath, originOf: (path: KeyPath) => Origin): void {
    const name = formatPath(path);
    if (!this.#origins.has(name)) this.#origins.set(name, originOf(path));
  }
}

/** Sets a key as plain data, `__proto__` included. */
function define(table: Table, key: string, value: unknown): void {
  Object.defineProperty(table, key, { value, writable: true, enumerable: true, configurable: true });
}
