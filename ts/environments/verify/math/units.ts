/**
 * Units by name: dimension and factor to the SI unit. Temperatures are left out: they are no multiples of each other.
 * Factors are exact by definition (SI brochure, international yard and pound).
 */

import { multiply, ONE, power, type Rational, rational } from "./rational.ts";

export interface Unit {
  /** Powers of metre, second, kilogram, ampere, kelvin, mole, currency, count: "m:2" and so on, sorted. */
  readonly dimension: string;
  readonly factor: Rational;
}

type Dimension = Readonly<Record<string, number>>;

const LENGTH: Dimension = { m: 1 };
const TIME: Dimension = { s: 1 };
const MASS: Dimension = { kg: 1 };

const BASE: Readonly<Record<string, readonly [Dimension, number]>> = {
  m: [LENGTH, 1],
  meter: [LENGTH, 1],
  metre: [LENGTH, 1],
  km: [LENGTH, 1e3],
  kilometer: [LENGTH, 1e3],
  kilometre: [LENGTH, 1e3],
  cm: [LENGTH, 1e-2],
  centimeter: [LENGTH, 1e-2],
  centimetre: [LENGTH, 1e-2],
  mm: [LENGTH, 1e-3],
  millimeter: [LENGTH, 1e-3],
  millimetre: [LENGTH, 1e-3],
  nm: [LENGTH, 1e-9],
  in: [LENGTH, 0.0254],
  inch: [LENGTH, 0.0254],
  inches: [LENGTH, 0.0254],
  ft: [LENGTH, 0.3048],
  foot: [LENGTH, 0.3048],
  feet: [LENGTH, 0.3048],
  yd: [LENGTH, 0.9144],
  yard: [LENGTH, 0.9144],
  mi: [LENGTH, 1609.344],
  mile: [LENGTH, 1609.344],
  s: [TIME, 1],
  sec: [TIME, 1],
  second: [TIME, 1],
  ms: [TIME, 1e-3],
  min: [TIME, 60],
  minute: [TIME, 60],
  h: [TIME, 3600],
  hr: [TIME, 3600],
  hour: [TIME, 3600],
  day: [TIME, 86_400],
  week: [TIME, 604_800],
  kg: [MASS, 1],
  kilogram: [MASS, 1],
  g: [MASS, 1e-3],
  gram: [MASS, 1e-3],
  mg: [MASS, 1e-6],
  milligram: [MASS, 1e-6],
  ton: [MASS, 907.18474],
  tonne: [MASS, 1e3],
  lb: [MASS, 0.45359237],
  lbs: [MASS, 0.45359237],
  pound: [MASS, 0.45359237],
  oz: [MASS, 0.028349523125],
  ounce: [MASS, 0.028349523125],
  l: [{ m: 3 }, 1e-3],
  liter: [{ m: 3 }, 1e-3],
  litre: [{ m: 3 }, 1e-3],
  ml: [{ m: 3 }, 1e-6],
  milliliter: [{ m: 3 }, 1e-6],
  gallon: [{ m: 3 }, 3.785411784e-3],
  acre: [{ m: 2 }, 4046.8564224],
  mph: [{ m: 1, s: -1 }, 0.44704],
  n: [{ kg: 1, m: 1, s: -2 }, 1],
  newton: [{ kg: 1, m: 1, s: -2 }, 1],
  j: [{ kg: 1, m: 2, s: -2 }, 1],
  joule: [{ kg: 1, m: 2, s: -2 }, 1],
  kj: [{ kg: 1, m: 2, s: -2 }, 1e3],
  w: [{ kg: 1, m: 2, s: -3 }, 1],
  watt: [{ kg: 1, m: 2, s: -3 }, 1],
  pa: [{ kg: 1, m: -1, s: -2 }, 1],
  pascal: [{ kg: 1, m: -1, s: -2 }, 1],
  v: [{ kg: 1, m: 2, s: -3, a: -1 }, 1],
  volt: [{ kg: 1, m: 2, s: -3, a: -1 }, 1],
  a: [{ a: 1 }, 1],
  ampere: [{ a: 1 }, 1],
  hz: [{ s: -1 }, 1],
  hertz: [{ s: -1 }, 1],
  mol: [{ mol: 1 }, 1],
  dollar: [{ usd: 1 }, 1],
  usd: [{ usd: 1 }, 1],
  cent: [{ usd: 1 }, 0.01],
  euro: [{ eur: 1 }, 1],
  eur: [{ eur: 1 }, 1],
  unit: [{}, 1],
};

/** Names that are units even where letters would be variables; longer than one letter. */
export function isUnitName(name: string): boolean {
  return name.length > 1 && lookUp(name) !== null;
}

function lookUp(name: string): readonly [Dimension, number] | null {
  const lower = name.toLowerCase();
  for (const candidate of [lower, lower.replace(/s$/u, ""), lower.replace(/es$/u, "")]) {
    const found = Object.hasOwn(BASE, candidate) ? BASE[candidate] : undefined;
    if (found !== undefined) return found;
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
  const dimension = new Map<string, number>();
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
    const scale = power(exactDecimal(base[1]), BigInt(exponent));
    factor = scale === null ? null : multiply(factor, scale);
    if (factor === null) return null;
    for (const [key, count] of Object.entries(base[0])) {
      dimension.set(key, (dimension.get(key) ?? 0) + count * exponent);
    }
  }
  const sorted = [...dimension].filter(([, count]) => count !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
  return { dimension: sorted.map(([key, count]) => `${key}:${count}`).join(" "), factor };
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
