/**
 * JSON whose whole numbers keep all their digits: those beyond 2^53, such as ids that a model writes in the arguments of a call, are bigints.
 * JavaScript's own reader rounds them.
 */

/** A number with as many digits as a whole one beyond 2^53 has at least; it may stand in a text. */
const MANY_DIGITS = /(?<![^\s:,[-])\d{16,}(?![^\s,\]}])/u;
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gu;
const WHOLE = /^-?\d+$/u;
/** Stands before a large number where it has to be a text; two private-use characters, which no text here begins with. */
const MARK = "\uE0F5\uF8E2";
/** Where a text has it, escaped or not, no number is marked. */
const MAYBE_MARK = /\uE0F5|\\ue0f5/iu;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "gu");

/** Errors: SyntaxError for what is no JSON. */
export function parseExact(text: string): unknown {
  return exactly(text, JSON.parse(text));
}

/** The same of a text that JavaScript's own reader has read as `value`. */
export function exactly(text: string, value: unknown): unknown {
  if (!MANY_DIGITS.test(text) || MAYBE_MARK.test(text)) return value;
  const marked = text.replaceAll(TEXT_OR_NUMBER, (part) =>
    WHOLE.test(part) && !Number.isSafeInteger(Number(part)) ? `"${MARK}${part}"` : part,
  );
  return JSON.parse(marked, (_key, part: unknown) =>
    typeof part === "string" && part.startsWith(MARK) ? BigInt(part.slice(MARK.length)) : part,
  );
}

/** The JSON of a value of `parseExact`. */
export function exactJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // A bigint is one; what else is fails below too.
    if (!(error instanceof TypeError)) throw error;
  }
  const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? `${MARK}${part}` : part));
  return text.replaceAll(MARKED, "$1");
}

/** Whether a number of the text was beyond the largest that a double holds. JSON has no such value, so that it would be written as null. */
export function holdsInfinity(value: unknown): boolean {
  if (value === Infinity || value === -Infinity) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(holdsInfinity);
}

/** A value of `parseExact` as JavaScript's own reader gives it. */
export function rounded<T>(value: T): T {
  const text = exactJson(value);
  return MANY_DIGITS.test(text) ? (JSON.parse(text) as T) : value;
}
