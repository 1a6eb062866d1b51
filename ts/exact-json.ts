/**
 * JSON whose whole numbers keep all their digits: those beyond 2^53, such as ids that a model writes in the arguments of a call, are bigints.
 * JavaScript's own reader rounds them.
 */

/** What a whole number beyond 2^53 has at least. */
const MANY_DIGITS = /\d{16}/u;
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gu;
const WHOLE = /^-?\d+$/u;
/** Stands before a large number where it has to be a text; two private-use characters, which no text here begins with. */
const MARK = "\uE0F5\uF8E2";
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "gu");

/** Errors: SyntaxError for what is no JSON. */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!MANY_DIGITS.test(text) || text.includes(MARK)) return value;
  const marked = text.replaceAll(TEXT_OR_NUMBER, (part) =>
    WHOLE.test(part) && !Number.isSafeInteger(Number(part)) ? `"${MARK}${part}"` : part,
  );
  return JSON.parse(marked, (_key, part: unknown) =>
    typeof part === "string" && part.startsWith(MARK) ? BigInt(part.slice(MARK.length)) : part,
  );
}

/** The JSON of a value of `parseExact`. */
export function exactJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? `${MARK}${part}` : part));
  return text.replaceAll(MARKED, "$1");
}
