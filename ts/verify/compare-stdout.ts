/** Program output against expected output. */
import { z } from "zod";

import { checkOptions, only } from "../options.ts";

export interface CompareStdoutOptions {
  /** Largest absolute difference of two decimal numbers in the token rule. Default 0.001; 0 asks for equal values. */
  tolerance?: number;
}

const optionsSchema = only<CompareStdoutOptions>({ tolerance: z.number().nonnegative().optional() });

const DECIMAL = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/u;

/**
 * Equal as text without outer space, by non-empty trimmed lines, or by white-space separated tokens, where decimal numbers may differ by
 * `tolerance`. Line breaks and spacing never matter; texts have to be equal. Errors: PRL_VERIFY_OPTIONS.
 */
export function compareStdout(actual: string, expected: string, options: CompareStdoutOptions = {}): boolean {
  checkOptions("PRL_VERIFY_OPTIONS", "compareStdout", optionsSchema, options);
  const { tolerance = 1e-3 } = options;
  if (actual.trim() === expected.trim()) return true;
  const [a, b] = [actual, expected].map((text) => text.split(/\s+/u).filter((token) => token !== ""));
  if (a === undefined || b === undefined || a.length !== b.length) return false;
  return a.every((token, index) => sameToken(token, b[index] ?? "", tolerance));
}

/**
 * LiveCodeBench's rule: as many lines after trimming the whole, and each pair of trimmed lines equal as text or as decimals of exactly
 * the same value.
 */
export function compareLines(actual: string, expected: string): boolean {
  const [a, b] = [actual, expected].map((text) => text.trim().split("\n"));
  if (a === undefined || b === undefined || a.length !== b.length) return false;
  return a.every((line, index) => sameLine(line.trim(), (b[index] ?? "").trim()));
}

function sameLine(a: string, b: string): boolean {
  if (a === b) return true;
  const [left, right] = [a, b].map((line) => line.split(/\s+/u));
  if (left === undefined || right === undefined || left.length !== right.length) return false;
  return left.every((token, index) => {
    const other = right[index] ?? "";
    return DECIMAL.test(token) && DECIMAL.test(other) && exactDecimal(token) === exactDecimal(other);
  });
}

function sameToken(a: string, b: string, tolerance: number): boolean {
  if (a === b) return true;
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) return false;
  if (exactDecimal(a) === exactDecimal(b)) return true;
  return Math.abs(difference(a, b)) <= tolerance;
}

const WHOLE = /^[-+]?\d+$/u;
/** Longer whole numbers are compared as doubles, to save time. */
const MOST_DIGITS = 400;

function difference(a: string, b: string): number {
  // Doubles cannot distinguish large whole numbers.
  const areWhole = WHOLE.test(a) && WHOLE.test(b) && Math.max(a.length, b.length) <= MOST_DIGITS;
  return areWhole ? Number(BigInt(a) - BigInt(b)) : Number(a) - Number(b);
}

/** One spelling for each value: sign, digits without outer zeros, power of ten. */
function exactDecimal(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^([-+]?)(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?$/u.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/u, "");
  // This is a loop, because a regular expression would scan a long run of zeros again and again.
  let length = digits.length;
  while (digits[length - 1] === "0") length -= 1;
  const significant = digits.slice(0, length);
  if (significant === "") return "0";
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${sign === "-" ? "-" : ""}${significant}e${power}`;
}
