/**
 * The objects of a file of JSON lines, and of what was rotated out of it, one at a time; a line that is not an object comes as null, a missing file is empty.
 */
import { allLines } from "../../files/rotated-log.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Errors are those of the file system, except that a missing file has no lines. */
export async function* jsonLines(path: string): AsyncGenerator<JsonObject | null> {
  for await (const line of allLines(path)) if (line.trim() !== "") yield parseObject(line);
}

/** Null when the text is not a JSON object. */
export function parseObject(text: string): JsonObject | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

export function asObject(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
}
