/**
 * Numbers as they are written in measurements: value, significant figures, uncertainty.
 *
 * Zeros at the front are not significant, zeros between digits and behind a decimal point are, zeros at the end of a whole number without a
 * point may be or not.
 */
import { plainNotation } from "./notation.ts";

export interface MeasuredNumber {
  readonly value: number;
  /** Significant figures, those that may or may not be left out. */
  readonly figures: number;
  /** Zeros at the end of a whole number that may be significant too. */
  readonly ambiguousZeros: number;
  /** Half a unit of the last digit that is written; 0 for fractions and bare powers of ten, which are exact. */
  readonly halfUnit: number;
  /** As stated by `±` or digits in brackets, else null. */
  readonly uncertainty: number | null;
}

const DIGITS = String.raw`(?:\d{1,3}(?:[, ]\d{3})+(?!\d)(?:\.\d*)?|\d+,\d+(?![\d,])|\d+(?:\.\d*)?|\.\d+)`;
const MANTISSA = new RegExp(String.raw`^([+-]?)\s*(${DIGITS})(?:\((\d+)\))?`, "u");
const PLUS_MINUS = new RegExp(String.raw`^\s*(?:±|\+\s*\/\s*-)\s*(${DIGITS})`, "u");
const TENS = String.raw`10\s*(?:\^|\*\*)\s*(?:\(\s*([+-]?\d{1,4})\s*\)|\{\s*([+-]?\d{1,4})\s*\}|([+-]?\d{1,4}))`;
const EXPONENT = new RegExp(String.raw`^(?:[eE]([+-]?\d{1,4})(?!\p{L})|\s*[×x*·⋅]\s*${TENS})`, "u");
const POWER_OF_TEN = new RegExp(String.raw`^([+-]?)\s*${TENS}`, "u");
const FRACTION = /^([+-]?)\s*(\d{1,15})\s*\/\s*(\d{1,15})(?![\d.])/u;

/** Reads the number that a text begins with. Null when it begins with none; `rest` is what stands behind it. */
export function readNumber(text: string): { number: MeasuredNumber; rest: string } | null {
  const plain = plainNotation(text);
  return bracketed(plain) ?? power(plain) ?? fraction(plain) ?? decimal(plain);
}

/** "(5.0 ± 0.1) × 10^3". */
function bracketed(text: string): ReturnType<typeof readNumber> {
  const inner = /^\(([^()]*)\)/u.exec(text);
  if (inner === null) return null;
  const found = decimal(inner[1]?.trim() ?? "");
  if (found === null || found.rest.trim() !== "") return null;
  const rest = text.slice(inner[0].length);
  const exponent = EXPONENT.exec(rest);
  if (exponent === null) return { number: found.number, rest };
  const scale = Number(`1e${firstOf(exponent)}`);
  const { value, halfUnit, uncertainty } = found.number;
  const scaled = { value: value * scale, halfUnit: halfUnit * scale };
  return {
    number: { ...found.number, ...scaled, uncertainty: uncertainty === null ? null : uncertainty * scale },
    rest: rest.slice(exponent[0].length),
  };
}

function power(text: string): ReturnType<typeof readNumber> {
  const found = POWER_OF_TEN.exec(text);
  if (found === null) return null;
  const value = Number(`${found[1]}1e${found[2] ?? found[3] ?? found[4]}`);
  return { number: exact(value), rest: text.slice(found[0].length) };
}

function fraction(text: string): ReturnType<typeof readNumber> {
  const found = FRACTION.exec(text);
  if (found === null || Number(found[3]) === 0) return null;
  const value = (Number(found[2]) / Number(found[3])) * (found[1] === "-" ? -1 : 1);
  return { number: exact(value), rest: text.slice(found[0].length) };
}

function exact(value: number): MeasuredNumber {
  return { value, figures: 1, ambiguousZeros: 0, halfUnit: 0, uncertainty: null };
}

function decimal(text: string): ReturnType<typeof readNumber> {
  const found = MANTISSA.exec(text);
  if (found === null) return null;
  const [whole, sign = "", written = "", concise] = found;
  let rest = text.slice(whole.length);
  const plusMinus = PLUS_MINUS.exec(rest);
  if (plusMinus !== null) rest = rest.slice(plusMinus[0].length);
  const power10 = EXPONENT.exec(rest);
  if (power10 !== null) rest = rest.slice(power10[0].length);
  const exponent = Number(power10 === null ? 0 : firstOf(power10));
  const digits = withPoint(written);
  const decimals = digits.includes(".") ? digits.length - digits.indexOf(".") - 1 : 0;
  const at = (mantissa: string, shift = 0): number => Number(`${mantissa}e${exponent + shift}`);
  const uncertainty =
    plusMinus !== null ? at(withPoint(plusMinus[1] ?? "0")) : concise !== undefined ? at(concise, -decimals) : null;
  const number = { value: at(sign + digits), halfUnit: at("0.5", -decimals), uncertainty, ...countFigures(digits) };
  return Number.isFinite(number.value) ? { number, rest } : null;
}

/** The one group of a match that took part. */
function firstOf([, ...groups]: RegExpExecArray): string {
  return groups.find((group) => group !== undefined) ?? "0";
}

/** Without separators of thousands, a decimal comma as a point. */
function withPoint(written: string): string {
  const isDecimalComma = /^\d+,\d+$/u.test(written) && !/^\d{1,3},\d{3}$/u.test(written);
  return isDecimalComma ? written.replace(",", ".") : written.replaceAll(/[, ]/gu, "");
}

function countFigures(digits: string): Pick<MeasuredNumber, "figures" | "ambiguousZeros"> {
  const significant = digits.replace(".", "").replace(/^0+/u, "");
  if (significant === "") return { figures: 1, ambiguousZeros: 0 };
  let figures = significant.length;
  // This is a loop, because a regular expression would scan a long run of zeros again and again.
  while (!digits.includes(".") && significant[figures - 1] === "0") figures--;
  return { figures, ambiguousZeros: significant.length - figures };
}

export interface SignificantFigures {
  /** The fewest that the writing can mean. */
  readonly least: number;
  /** The most: zeros at the end of a whole number without a point count too. */
  readonly most: number;
}

/** Significant figures of a written number ("0.0450": 3; "1500": 2 to 4; "1.50e3": 3). Null when it is none. */
export function significantFigures(text: string): SignificantFigures | null {
  const found = readNumber(text);
  if (found === null || found.rest.trim() !== "") return null;
  const { figures, ambiguousZeros } = found.number;
  return { least: figures, most: figures + ambiguousZeros };
}

/** A number rounded to so many figures, written so that they can be counted. Ties go away from zero. Errors: RangeError for figures below 1 or over 100. */
export function roundToFigures(value: number, figures: number): string {
  const text = value.toExponential(figures - 1);
  const exponent = Number(text.slice(text.indexOf("e") + 1));
  const isPlain = exponent >= -4 && exponent < figures;
  return isPlain ? value.toFixed(figures - 1 - exponent) : text.replace("e+", "e");
}
