/**
 * Finds equal tasks by the text of their prompts, without regard to white space, case and punctuation. Two rows of equal
 * keys are one task, also when one of them is in `train` and the other in `eval`.
 */
import { type Prompt, promptMessages } from "../../message.ts";
import { canonicalJson } from "../../canonical-json.ts";

/** Fields of a row that say how a task is answered, not which task it is. */
const ANSWERS: ReadonlySet<string> = new Set([
  "answer",
  "answers",
  "gold",
  "solution",
  "solutions",
  "expected",
  "label",
]);
/** Marks that end or enclose words. Marks between digits or letters, as in `2.5` and `a-b`, stay, because they may make another task. */
const PUNCTUATION = /(?<![^\s"'“”‘’`])["'“”‘’`]+|[.,;:?"'“”‘’`]+(?!\S)/gu;

/** The key of the row's prompt; without a prompt, that of its JSON without answers and without the order of its lists. */
export function contentKeyOf(row: object): string {
  const prompt = promptOfRow(row);
  if (prompt !== null) return folded(prompt.map(({ content }) => content).join("\n"));
  const asked = Object.entries(row).filter(([name]) => !ANSWERS.has(name));
  return folded(canonicalJson(unordered(Object.fromEntries(asked))));
}

/** The messages of a row's `prompt`; null when it has none. */
export function promptOfRow(row: object): ReturnType<typeof promptMessages> | null {
  const { prompt } = row as { prompt?: unknown };
  if (typeof prompt !== "string" && !(Array.isArray(prompt) && prompt.length > 0)) return null;
  return promptMessages(prompt as Prompt);
}

/** The value with every list of numbers or texts sorted: another order mostly means the same task. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(unordered);
    const isPlain = items.every((item) => typeof item === "number" || typeof item === "string");
    return isPlain ? items.toSorted((a, b) => (String(a) < String(b) ? -1 : 1)) : items;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, unordered(item)]));
}

function folded(text: string): string {
  return text.toLowerCase().replace(PUNCTUATION, " ").replace(/\s+/gu, " ").trim();
}
