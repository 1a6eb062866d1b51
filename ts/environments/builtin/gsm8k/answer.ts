/** Finds the number that a reply states, and compares two numbers. */
import { extractAnswer } from "../../../verify/index.ts";

const NUMBER = String.raw`[-−]?\$?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?`;
const CHOICE = /\b(?:or|and|to)\b|[,;/|]/u;
/** The number directly behind the sign, with any decoration: `**$1,200**`, `\(18\)`, `= 18 dollars`. */
const FIRST = new RegExp(String.raw`^[\s*_$\\([=:~≈]*(${NUMBER})`, "u");

/**
 * The number as decimal digits, null when there is none. Behind the last `####` it is the first number, or the last one of the line
 * when the line is a calculation; unless `strict` also the number in the last box or at the end of the reply.
 */
export function statedNumber(reply: string, strict: boolean): string | null {
  const line = extractAnswer(reply, { from: "hash" });
  if (line !== null) {
    const calculates = /\d\s*[-+*/×÷]\s*\$?\d|=/u.test(line);
    // "5 or 6" states no number; numbers elsewhere in the reply do not count then.
    if (!calculates && isOpenChoice(line)) return null;
    const number = calculates ? lastNumber(line) : (FIRST.exec(line)?.[1] ?? lastNumber(line));
    if (number !== null) return digits(number);
  }
  if (strict) return null;
  const box = extractAnswer(reply, { from: "boxed" });
  const number = (box === null ? null : lastNumber(box)) ?? extractAnswer(reply, { from: "last_number" });
  return number === null ? null : digits(number);
}

/** Of decimal digits. */
export function sameNumber(a: string, b: string): boolean {
  return plain(a) === plain(b);
}

/** A choice between two numbers. */
function isOpenChoice(line: string): boolean {
  const numbers = [...line.matchAll(new RegExp(NUMBER, "gu"))];
  return numbers.some(({ index }, at) => {
    const before = numbers[at - 1];
    return before !== undefined && CHOICE.test(line.slice(before.index + before[0].length, index));
  });
}

function lastNumber(text: string): string | null {
  return text.match(new RegExp(NUMBER, "gu"))?.at(-1) ?? null;
}

function digits(number: string): string {
  return number.replaceAll(/[,$\s]/gu, "").replace("−", "-");
}

/** The number without leading and trailing zeros. */
function plain(number: string): string {
  const [, sign = "", whole = "", fraction = ""] = /^(-?)0*(\d*?)(?:\.(\d*?)0*)?$/u.exec(digits(number)) ?? [];
  const value = `${whole === "" ? "0" : whole}${fraction === "" ? "" : `.${fraction}`}`;
  return value === "0" ? "0" : `${sign}${value}`;
}
