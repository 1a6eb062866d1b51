/** Python's texts are sequences of code points; these functions read JavaScript's UTF-16 in that way. */
import { checkTextLength } from "../budget.ts";

/** The whitespace of Python's `str.isspace`, as the inside of a character class. */
export const SPACE = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

const SURROGATE = /[\uD800-\uDFFF]/;
const LEADING_SPACE = new RegExp(`^[${SPACE}]+`);
const LINE_BREAKS = "\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029";
const LINE_END = new RegExp(`\\r\\n|[${LINE_BREAKS}]`, "g");
const SPACE_ONLY = new RegExp(`^[${SPACE}]$`);

export function isSpace(character: string): boolean {
  return SPACE_ONLY.test(character);
}

/** Number of code points. */
export function textLength(text: string): number {
  return SURROGATE.test(text) ? codePoints(text).length : text.length;
}

export function codePoints(text: string): string[] {
  return SURROGATE.test(text) ? Array.from(text) : text.split("");
}

/** Code points from `start` up to `end`, both within the text. */
export function textSlice(text: string, start: number, end: number): string {
  return SURROGATE.test(text) ? codePoints(text).slice(start, end).join("") : text.slice(start, end);
}

/** The index in code points of an index in UTF-16 units. */
export function pointIndex(text: string, unit: number): number {
  return unit < 0 ? unit : textLength(text.slice(0, unit));
}

/** `strip` without its argument takes whitespace, with it any of its characters. */
export function strip(text: string, characters: string | null, sides: "both" | "left" | "right"): string {
  if (characters === null) {
    const left = sides === "right" ? text : text.replace(LEADING_SPACE, "");
    if (sides === "left") return left;
    let end = left.length;
    while (end > 0 && isSpace(left[end - 1] ?? "")) end -= 1;
    return left.slice(0, end);
  }
  const taken = new Set(codePoints(characters));
  const points = codePoints(text);
  let [start, end] = [0, points.length];
  if (sides !== "right") while (start < end && taken.has(points[start] ?? "")) start += 1;
  if (sides !== "left") while (end > start && taken.has(points[end - 1] ?? "")) end -= 1;
  return points.slice(start, end).join("");
}

/** Lines as `str.splitlines` cuts them. */
export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = [];
  let start = 0;
  for (const match of text.matchAll(LINE_END)) {
    const end = match.index + match[0].length;
    lines.push(text.slice(start, keepEnds ? end : match.index));
    start = end;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}

export function repeat(text: string, count: number): string {
  if (count <= 0 || text === "") return "";
  checkTextLength(text.length * count);
  return text.repeat(count);
}

/** Pads to `width` code points; `before` gives the part of the padding in front of the text. */
export function pad(text: string, width: number, fill: string, before: (missing: number) => number): string {
  const missing = width - textLength(text);
  if (missing <= 0) return text;
  const front = before(missing);
  return repeat(fill, front) + text + repeat(fill, missing - front);
}

/** Negative, zero or positive, by code points. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Replaces up to `count` occurrences, all for a negative one; an empty `old` matches between all characters. */
export function replaceText(text: string, old: string, fresh: string, count: number): string {
  if (count === 0) return text;
  const parts = old === "" ? ["", ...codePoints(text), ""] : text.split(old);
  const times = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1);
  checkTextLength(text.length + times * fresh.length);
  const replaced = parts.slice(0, times + 1).join(fresh);
  return [replaced, ...parts.slice(times + 1)].join(old);
}
