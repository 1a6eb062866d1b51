/**
 * Joins the questions of BFCL with their possible answers, which lie in other files under the same id.
 *
 * Possible answers keep their text: 1 and 1.0 are different types there, which `JSON.parse` would lose.
 */
import { PrlError } from "../../../../errors.ts";
import type { PlacedRow } from "../../../../datasets/index.ts";
import { fileLines } from "../../../../datasets/index.ts";

/** Rows with the key `question`, in the order of the files; `ground_truth` of the row, or of another row with its id, becomes the text `answers`. */
export async function* joinedRows(files: readonly string[]): AsyncGenerator<PlacedRow<unknown>> {
  const answers = new Map<string, string>();
  const questions: PlacedRow<Record<string, unknown>>[] = [];
  for (const file of files) {
    for await (const { text, at } of fileLines(file)) {
      const row = parsed(text, at);
      const id = String(row["id"]);
      if ("ground_truth" in row) answers.set(id, text);
      if ("question" in row) questions.push({ row, at });
    }
  }
  for (const { row, at } of questions) {
    const id = String(row["id"]);
    const category = id.replace(/_\d+(?:-\d+)*$/u, "");
    yield { row: { ...row, category, answers: answers.get(id) ?? null }, at };
  }
}

function parsed(text: string, at: string): Record<string, unknown> {
  try {
    const row: unknown = JSON.parse(text);
    if (typeof row === "object" && row !== null && !Array.isArray(row)) return row as Record<string, unknown>;
  } catch (cause) {
    throw new PrlError("PRL_DATA_FORMAT", `${at} is no JSON`, { cause });
  }
  throw new PrlError("PRL_DATA_ROW", `${at} is no row: expected a JSON object`);
}
