/** Numbers in the presentations that `%` and `str.format` share. */
import { checkTextLength } from "../budget.ts";
import { exponentOf, floatText, scaledToInt } from "./numbers.ts";

const MAX_PRECISION = 10_000;

export interface FloatStyle {
  /** e, f, g or their capitals. */
  readonly kind: string;
  readonly precision: number;
  /** `#`: always a point; `g` keeps its zeros. */
  readonly alternate: boolean;
}

/** The digits of a float without its sign. */
export function formatFloat(value: number, { kind, precision, alternate }: FloatStyle): string {
  if (precision > MAX_PRECISION) checkTextLength(Infinity);
  const size = Math.abs(value);
  const lower = kind.toLowerCase();
  let text: string;
  if (!Number.isFinite(size)) text = floatText(size);
  else if (lower === "f") text = fixed(size, precision, alternate);
  else if (lower === "e") text = scientific(size, precision, alternate);
  else text = general(size, Math.max(precision, 1), alternate);
  return kind === lower ? text : text.toUpperCase();
}

function fixed(size: number, precision: number, alternate: boolean): string {
  const digits = scaledToInt(size, precision)
    .toString()
    .padStart(precision + 1, "0");
  return withPoint(digits, digits.length - precision, alternate);
}

function withPoint(digits: string, at: number, alternate: boolean): string {
  return at < digits.length || alternate ? `${digits.slice(0, at)}.${digits.slice(at)}` : digits;
}

/** `count` significant digits and the exponent of the first. */
function significant(size: number, count: number): { digits: string; exponent: number } {
  if (size === 0) return { digits: "0".repeat(count), exponent: 0 };
  let exponent = Number(size.toExponential().split("e")[1]);
  let digits = scaledToInt(size, count - 1 - exponent).toString();
  if (digits.length > count) {
    exponent += 1;
    digits = digits.slice(0, count);
  }
  return { digits, exponent };
}

function scientific(size: number, precision: number, alternate: boolean): string {
  const { digits, exponent } = significant(size, precision + 1);
  return `${withPoint(digits, 1, alternate)}e${exponentOf(exponent)}`;
}

function general(size: number, count: number, alternate: boolean): string {
  const { digits, exponent } = significant(size, count);
  const isScientific = exponent < -4 || exponent >= count;
  const kept = alternate ? digits : digits.replace(/0+$/, "").padEnd(1, "0");
  if (isScientific) return `${withPoint(kept, 1, alternate)}e${exponentOf(exponent)}`;
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${kept}`;
  return withPoint(kept.padEnd(exponent + 1, "0"), exponent + 1, alternate);
}

/** The sign to write, `plus` (`+`, a space or nothing) standing for a positive one. */
export function signOf(value: bigint | number, plus: string): string {
  return value < 0 || Object.is(value, -0) ? "-" : plus;
}
