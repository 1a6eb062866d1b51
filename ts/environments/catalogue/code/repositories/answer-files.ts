/** Several files in one block: a line `=== path` before each. Prompts show projects so, and answers give what they change. */
import type { Files } from "./python/run-files.ts";

const HEAD = /^=== (\S+)$/gmu;
const PATH = /^\w+(\/\w+)*\.(py|md)$/u;
const MOST_FILES = 60;

/** Null where a text stands before the first path, or a path is none or comes twice. */
export function filesIn(answer: string): Files | null {
  const heads = [...answer.matchAll(HEAD)];
  const [first] = heads;
  if (first === undefined || heads.length > MOST_FILES || answer.slice(0, first.index).trim() !== "") return null;
  const files: Record<string, string> = {};
  for (const [index, head] of heads.entries()) {
    const path = head[1] ?? "";
    if (!PATH.test(path) || path in files) return null;
    const text = answer.slice(head.index + head[0].length, heads[index + 1]?.index ?? answer.length);
    files[path] = `${text.trim()}\n`;
  }
  return files;
}

export function filesText(files: Files): string {
  return Object.entries(files)
    .map(([path, text]) => `=== ${path}\n${text.trimEnd()}`)
    .join("\n\n");
}
