/**
 * Units of answers: which names count as units in mathematics, where most letters are variables, and what they measure by the table of
 * `science`.
 */
import { combine, DIMENSIONLESS, formatDimension, type Dimension } from "../../science/dimension.ts";
import { lookUpUnit } from "../../science/unit-table.ts";
import type { Expression } from "./expression.ts";
import { multiply, ONE, power, type Rational, rational } from "./rational.ts";

export interface Unit {
  /** The dimension, as a text that is equal for equal dimensions; money and each scale of temperature are separate dimensions. */
  readonly dimension: string;
  readonly factor: Rational;
}

/** Lower case, one form each. */
const NAMES = new Set(
  (
    "m meter metre km kilometer kilometre cm centimeter centimetre mm millimeter millimetre nm in inch inches ft foot feet yd yard " +
    "mi mile s sec second ms min minute h hr hour day week kg kilogram g gram mg milligram ton tonne lb lbs pound oz ounce l liter " +
    "litre ml milliliter gallon acre mph n newton j joule kj w watt pa pascal v volt a ampere hz hertz mol"
  ).split(" "),
);
/** Symbols whose case the table minds. */
const SYMBOLS: Readonly<Record<string, string>> = {
  n: "N",
  j: "J",
  kj: "kJ",
  w: "W",
  pa: "Pa",
  v: "V",
  a: "A",
  hz: "Hz",
  ml: "mL",
};
/** The part that the table does not measure: which money or scale it is, and how much of it. */
const OWN: Readonly<Record<string, readonly [own: string, factor: number]>> = {
  dollar: ["usd", 1],
  usd: ["usd", 1],
  cent: ["usd", 0.01],
  euro: ["eur", 1],
  eur: ["eur", 1],
  gbp: ["gbp", 1],
  yen: ["jpy", 1],
  // Scales of temperature are no multiples of each other: each is comparable to itself.
  k: ["kelvin", 1],
  kelvin: ["kelvin", 1],
  degc: ["celsius", 1],
  celsius: ["celsius", 1],
  degf: ["fahrenheit", 1],
  fahrenheit: ["fahrenheit", 1],
};

interface Base {
  readonly dimension: Dimension;
  /** Money or a scale. */
  readonly own: string | null;
  readonly factor: number;
}

/** Names that are units even where letters would be variables; longer than one letter. */
export function isUnitName(name: string): boolean {
  return name.length > 1 && lookUp(name) !== null;
}

function lookUp(name: string): Base | null {
  const lower = name.toLowerCase();
  for (const candidate of [lower, lower.replace(/s$/u, ""), lower.replace(/es$/u, "")]) {
    if (candidate === "unit") return { dimension: DIMENSIONLESS, own: null, factor: 1 };
    const own = Object.hasOwn(OWN, candidate) ? OWN[candidate] : undefined;
    if (own !== undefined) return { dimension: DIMENSIONLESS, own: own[0], factor: own[1] };
    const found = NAMES.has(candidate) ? lookUpUnit(SYMBOLS[candidate] ?? candidate) : null;
    if (found !== null) return { ...found, own: null };
  }
  return null;
}

/** Reads "cm^2", "square meters", "m/s", "miles per hour". Null for what it does not know. */
export function parseUnit(text: string): Unit | null {
  const prepared = text
    .toLowerCase()
    .replace(/\bper\b/gu, "/")
    .replace(/\\cdot|\*/gu, " ")
    .replace(/\bsq(?:uare|\.)?\s+(\p{L}+)/gu, "$1^2")
    .replace(/\bcu(?:bic|\.)?\s+(\p{L}+)/gu, "$1^3")
    .replace(/\b(\p{L}+)\s+squared\b/gu, "$1^2")
    .replace(/\b(\p{L}+)\s+cubed\b/gu, "$1^3")
    .replace(/\.(?!\d)/gu, " ");
  let dimension = DIMENSIONLESS;
  const owned = new Map<string, number>();
  let factor: Rational | null = ONE;
  let sign = 1;
  const parts = prepared.match(/\/|\p{L}+(?:\s*\^\s*\{?\s*-?\d+\s*\}?)?|\S/gu) ?? [];
  if (parts.length === 0) return null;
  for (const part of parts) {
    if (part === "/") {
      sign = -1;
      continue;
    }
    const [, name, exponentText] = /^(\p{L}+)(?:\s*\^\s*\{?\s*(-?\d+)\s*\}?)?$/u.exec(part) ?? [];
    const base = name === undefined ? null : lookUp(name);
    if (base === null) return null;
    const exponent = sign * Number(exponentText ?? 1);
    const scale = power(exactDecimal(base.factor), BigInt(exponent));
    factor = scale === null ? null : multiply(factor, scale);
    if (factor === null) return null;
    dimension = combine(dimension, base.dimension, exponent);
    if (base.own !== null) owned.set(base.own, (owned.get(base.own) ?? 0) + exponent);
  }
  const more = [...owned].filter(([, count]) => count !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
  return { dimension: [formatDimension(dimension), ...more.map((one) => one.join(":"))].join(" "), factor };
}

/** The decimal number that a double is written as. */
function exactDecimal(value: number): Rational {
  const [digits = "0", exponent = "0"] = String(value).split("e");
  const [whole = "0", fraction = ""] = digits.split(".");
  const shift = Number(exponent) - fraction.length;
  const scale = 10n ** BigInt(Math.abs(shift));
  const integer = BigInt(`${whole}${fraction}`);
  return (shift >= 0 ? rational(integer * scale, 1n) : rational(integer, scale)) ?? ONE;
}

/** Factors that were read as variables, as the text of a unit: m, m^2, m/s. Null when they name none. */
export function letterUnit(factors: readonly Expression[]): string | null {
  const parts = factors.map((factor) => letterPower(factor, 1));
  if (parts.length === 0 || parts.includes(null)) return null;
  const text = parts.join(" ");
  return parseUnit(text) === null ? null : text;
}

function letterPower(factor: Expression, exponent: number): string | null {
  if (factor.kind === "symbol") return exponent === 1 ? factor.name : `${factor.name}^${exponent}`;
  if (factor.kind !== "power" || factor.exponent.kind !== "number") return null;
  const { numerator, denominator } = factor.exponent.value;
  return denominator === 1n ? letterPower(factor.base, exponent * Number(numerator)) : null;
}

/** Unknown units by their letters: without plurals and points. */
export function sameUnitName(a: string, b: string): boolean {
  const plain = (unit: string): string => unit.replace(/s\b/gu, "").replace(/[\s.]+/gu, "");
  return plain(a) === plain(b);
}
