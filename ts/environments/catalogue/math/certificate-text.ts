/** Reading of certificates: lists and tables of exact numbers, null for a text that is none. */
import { linesOf } from "../lists.ts";
import { canonicalAnswer } from "./exact-answer.ts";
import { type Rational, ratio } from "./rational.ts";

/** Below 2^53, so that sums of two are exact. */
const MOST_DIGITS = 15;
const INTEGER = /^[+-]?\d+$/u;

/** `3, -1, 4`, with or without one pair of brackets; commas or spaces divide. */
export function integersIn(text: string): number[] | null {
  const parts = bare(text).split(/\s*,\s*|\s+/u);
  if (!parts.every((part) => INTEGER.test(part) && part.length <= MOST_DIGITS)) return null;
  // Adding 0 makes the negative zero a plain one.
  return parts.map((part) => Number(part) + 0);
}

/** One list on each line. */
export function tableIn(text: string): number[][] | null {
  const rows = linesOf(text).map(integersIn);
  return rows.some((row) => row === null) || rows.length === 0 ? null : rows.map((row) => row ?? []);
}

/** `1/2, -3, 0.25`; commas divide. */
export function rationalsIn(text: string): Rational[] | null {
  const canonical = canonicalAnswer(bare(text), "fractions");
  return canonical === null ? null : canonical.split(", ").map(rationalOf);
}

/** Of a canonical fraction. */
export function rationalOf(text: string): Rational {
  const [top = "0", bottom = "1"] = text.split("/");
  return ratio(BigInt(top), BigInt(bottom));
}

/** The texts behind `name:` on lines of their own, in any order; null unless each name stands there exactly once and nothing else does. */
export function namedLines(text: string, names: readonly string[]): string[] | null {
  const found = new Map<string, string>();
  for (const line of linesOf(text)) {
    const [, name = "", value = ""] = /^([A-Za-z]+)\s*[:=]\s*(.*)$/u.exec(line) ?? [];
    const known = name.toLowerCase();
    if (!names.includes(known) || found.has(known)) return null;
    found.set(known, value);
  }
  return found.size === names.length ? names.map((name) => found.get(name) ?? "") : null;
}

function bare(text: string): string {
  const trimmed = text.trim();
  return (
    /^(?:\(([^()]*)\)|\[([^[\]]*)\])$/u
      .exec(trimmed)
      ?.slice(1)
      .find((part) => part !== undefined)
      ?.trim() ?? trimmed
  );
}
