/** How documents of a generated corpus look: marks, registers, and lists of things in a sentence. */
import type { Rng } from "../../../random/rng.ts";
import { at } from "../lists.ts";

const REGISTERS = ["Letter", "Minutes", "Newspaper", "Report", "Ledger", "Message", "Diary", "Notice"] as const;

/** One block for each document, in this order: `[D1] Letter. ...`. */
export function corpus(documents: readonly string[], rng: Rng, letter = "D"): string {
  return documents.map((text, index) => `[${letter}${index + 1}] ${rng.pick(REGISTERS)}. ${text}`).join("\n");
}

/** `S1. ...`, one line each. */
export function numbered(sentences: readonly string[], letter: string): string {
  return sentences.map((text, index) => `${letter}${index + 1}. ${text}`).join("\n");
}

export function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

/** "a", "a and b", "a, b and c". */
export function inWords(items: readonly string[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${at(items, items.length - 1)}`;
}

/** The text as a sentence: with a capital letter and a full stop. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Rows of cells as lines with bars between the cells. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [head, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
