/**
 * Removes the characters of Python's `str.strip()`: its set differs from `String.prototype.trim` (U+001C to U+001F and U+0085, not
 * U+FEFF).
 */

const WHITESPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const LEADING = new RegExp(`^[${WHITESPACE}]+`, "u");
const IS_WHITESPACE = new RegExp(`[${WHITESPACE}]`, "u");

/** `text` without the whitespace at both ends, as Python's `str.strip()` gives it. Linear in the length of the text. */
export function stripWhitespace(text: string): string {
  let end = text.length;
  while (end > 0 && IS_WHITESPACE.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end).replace(LEADING, "");
}
