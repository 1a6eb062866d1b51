/** The objects of a file of JSON lines, one at a time; a line that is not an object comes as null, a missing file is empty. */
import { isMissing } from "../../files/file-presence.ts";
import { textLines } from "../../files/text-lines.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Errors are those of the file system, except that a missing file has no lines. */
export async function* jsonLines(path: string): AsyncGenerator<JsonObject | null> {
  try {
    for await (const line of textLines(path)) if (line.trim() !== "") yield parseObject(line);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
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
