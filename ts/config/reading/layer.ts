/** Makes the values of one source ready for merging: `"None"` becomes null where allowed, relative paths become absolute. */
import { resolve } from "node:path";
import { z } from "zod";
import { isTable, type Table } from "../keys/key-path.ts";
import { childOf, nodeOf } from "../keys/schema-walk.ts";

type AnySchema = z.core.$ZodType;

/** The folders that relative paths of a source are relative to. */
export interface PathFolders {
  /** The folder of the file, or the current folder for values that are not in a file. */
  readonly file: string;
  /** The current folder. */
  readonly current: string;
}

export function normalizeLayer(value: unknown, schema: AnySchema | undefined, folders: PathFolders): unknown {
  if (schema === undefined) return value;
  const node = nodeOf(schema);
  if (value === "None" && (node.nullable || node.inner instanceof z.ZodUnknown)) return null;
  if (value === "") return value; // The schema reports that it is empty.
  if (typeof value === "string") {
    if (node.relativeTo === "file" || node.relativeTo === "module" || node.relativeTo === "place")
      return resolve(folders.file, value);
    if (node.relativeTo === "folder") return resolve(folders.current, value);
    if (node.relativeTo === "model" && isModelPath(value)) return resolve(folders.file, value);
    if (node.relativeTo === "data" && isDataPath(value)) return resolve(folders.file, value);
    return value;
  }
  if (Array.isArray(value)) return value.map((element, i) => normalizeLayer(element, childOf(schema, i), folders));
  if (!isTable(value)) return value;
  const normalized: Table = {};
  for (const [key, child] of Object.entries(value)) {
    const result = normalizeLayer(child, childOf(schema, key), folders);
    Object.defineProperty(normalized, key, { value: result, writable: true, enumerable: true, configurable: true });
  }
  return normalized;
}

/** A model name is a path when it looks like one; every other name is looked up in the cache. */
export function isModelPath(name: string): boolean {
  return /^(\.{1,2}(\/|$)|\/)/.test(name);
}

/** Data are a file when the name looks like one; every other name is a dataset of the hub. */
export function isDataPath(name: string): boolean {
  return isModelPath(name) || /\.(parquet|((jsonl|ndjson|json|csv|tsv)(\.gz)?))$/iu.test(name);
}
