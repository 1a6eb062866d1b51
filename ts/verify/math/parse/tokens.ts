/** A normalized candidate as tokens. Knows numbers in their notations, commands, words and signs; nothing of grammar. */
import { power, type Rational, rational } from "../values/rational.ts";

export type Token = { readonly spaced: boolean } & (
  | { readonly type: "number"; readonly text: string; readonly value: Rational; readonly decimal: boolean }
  | { readonly type: "word"; readonly text: string }
  | { readonly type: "command"; readonly text: string }
  /** The content of \text{...}. */
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "sign"; readonly text: string }
);

const MAX_TOKENS = 60_000;
/** Commas group digits where all of them do: 1,234,567 but not 1,23 nor 5,100,200. */
const GROUPED = /(?<!\d,)\d{1,3}(?:,\d{3})+(?!\d|,\d)(?:\.\d+)?/uy;
/** Inside of brackets a comma separates, unless what follows could be no number: (12,102) are two, (12,002) is one. */
const GROUPED_IN_BRACKETS = /(?<!\d,)[1-9]\d{0,2}(?:,\d{3})*,0\d{2}(?:,\d{3})*(?!\d|,\d)/uy;
const NUMBER =
  /(?:\d{1,3}(?: \d{3})+(?!\d)(?:\.\d+)?|\d+\.\d+|\.\d+|\d+\.(?=\\overline|\\bar|\\dot|\(\d+\))|\d+)(?:[eE][+-]?\d+(?![\d.]))?/uy;
/** The repeating digits of a decimal: \overline{3}, \bar{3}, \bar 3, (3). */
const REPEATING = /\\(?:overline|bar|overbar)\s*(?:\{\s*(\d+)\s*\}|(\d))|\((\d+)\)/uy;
/** \dot{1}42\dot{7}, \dot 3. */
const DOTTED = /\\dot\s*(?:\{\s*(\d)\s*\}|(\d))(?:(\d*)\\dot\s*(?:\{\s*(\d)\s*\}|(\d)))?/uy;
const ELLIPSIS = /(?:\.\.\.|\\(?:ldots|dots|cdots))/uy;
const TEXT = /\\text(?:normal|rm|up)?\s*\{([^{}]*)\}/uy;
const COMMAND = /\\(?:([a-zA-Z]+)\*?|(.))/uy;
const WORD = /\p{L}+/uy;
const SPACE = /\s+/uy;

/** Null when it is too long. */
export function tokenize(text: string): Token[] | null {
  const tokens: Token[] = [];
  let at = 0;
  let spaced = false;
  const brackets = new Brackets();
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at += found[0].length;
    return found;
  };
  while (at < text.length) {
    if (tokens.length > MAX_TOKENS) return null;
    if (match(SPACE) !== null) {
      spaced = true;
      continue;
    }
    const start = at;
    const digits = match(brackets.separate ? GROUPED_IN_BRACKETS : GROUPED) ?? match(NUMBER);
    if (digits !== null) {
      const end = repetition(text, digits[0], at);
      at = end?.at ?? at;
      const value = end?.value ?? decimalValue(digits[0]);
      if (value === null) return null;
      const decimal = end === null && /[.eE]/u.test(digits[0]) && !/^[\d, ]+$/u.test(digits[0]);
      tokens.push({ type: "number", text: text.slice(start, at), value, decimal, spaced });
    } else {
      const found = match(TEXT);
      if (found !== null) tokens.push({ type: "text", text: (found[1] ?? "").trim(), spaced });
      else {
        const command = match(COMMAND);
        if (command !== null) {
          brackets.see(command[0]);
          tokens.push({ type: "command", text: command[1] ?? command[2] ?? "", spaced });
        } else {
          const word = match(WORD);
          if (word !== null) tokens.push({ type: "word", text: word[0], spaced });
          else {
            const sign = String.fromCodePoint(text.codePointAt(at) ?? 0);
            at += sign.length;
            brackets.see(sign);
            tokens.push({ type: "sign", text: sign, spaced });
          }
        }
      }
    }
    spaced = false;
  }
  return tokens;
}

/** Which bracket is open: in round, square, angle and set brackets commas separate, in TeX's own they do not. */
class Brackets {
  readonly #open: string[] = [];

  get separate(): boolean {
    const last = this.#open.at(-1);
    return last !== undefined && last !== "{";
  }

  see(sign: string): void {
    if (OPENING.has(sign) || (sign === "]" && this.#open.length === 0)) this.#open.push(sign);
    else if (CLOSING.has(sign)) this.#open.pop();
  }
}

const OPENING = new Set(["(", "[", "{", "\\{", "\\langle"]);
const CLOSING = new Set([")", "]", "}", "\\}", "\\rangle"]);

function decimalValue(text: string): Rational | null {
  const [mantissa = "", exponent = "0"] = text.replace(/[, ]/gu, "").split(/[eE]/u);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const shift = Number(exponent) - fraction.length;
  if (Math.abs(shift) > 20_000) return null;
  const scale = power({ numerator: 10n, denominator: 1n }, BigInt(Math.abs(shift)));
  if (scale === null) return null;
  const digits = BigInt(`${whole}${fraction}` || "0");
  return shift >= 0 ? rational(digits * scale.numerator, 1n) : rational(digits, scale.numerator);
}

/** The exact value of a decimal whose end repeats, and where it ends in `text`; null when nothing repeats. */
function repetition(text: string, digits: string, at: number): { value: Rational; at: number } | null {
  if (!digits.includes(".") || /[eE, ]/u.test(digits)) return null;
  const [whole = "0", fixed = ""] = digits.split(".");
  REPEATING.lastIndex = at;
  const bar = REPEATING.exec(text);
  if (bar !== null && !(bar[3] !== undefined && fixed === "" && !digits.endsWith("."))) {
    return repeated(whole, fixed, bar[1] ?? bar[2] ?? bar[3] ?? "", REPEATING.lastIndex);
  }
  DOTTED.lastIndex = at;
  const dots = DOTTED.exec(text);
  if (dots !== null) {
    const period = `${dots[1] ?? dots[2] ?? ""}${dots[3] ?? ""}${dots[4] ?? dots[5] ?? ""}`;
    return repeated(whole, fixed, period, DOTTED.lastIndex);
  }
  ELLIPSIS.lastIndex = at;
  if (ELLIPSIS.exec(text) === null) return null;
  const period = visiblePeriod(fixed);
  return period === null ? null : repeated(whole, fixed.slice(0, period.start), period.digits, ELLIPSIS.lastIndex);
}

function repeated(whole: string, fixed: string, period: string, at: number): { value: Rational; at: number } | null {
  if (period === "" || fixed.length + period.length > 2000) return null;
  const base = BigInt(`${whole}${fixed}` || "0");
  const scale = 10n ** BigInt(fixed.length);
  const nines = 10n ** BigInt(period.length) - 1n;
  const value = rational(base * nines + BigInt(period), scale * nines);
  return value === null ? null : { value, at };
}

/** The shortest block that stands at least twice (a single digit: three times) at the end. */
function visiblePeriod(digits: string): { start: number; digits: string } | null {
  for (let length = 1; length * 2 <= digits.length; length++) {
    const block = digits.slice(-length);
    let start = digits.length - length;
    while (start >= length && digits.slice(start - length, start) === block) start -= length;
    const times = (digits.length - start) / length;
    if (times >= (length === 1 ? 3 : 2)) return { start, digits: block };
  }
  return null;
}
