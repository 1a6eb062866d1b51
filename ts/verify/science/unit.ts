/**
 * Units of any shape: "kg·m/s²", "J mol^-1 K^-1", "metres per second squared", `\mathrm{N\,m}`.
 *
 * Products bind tighter than a division: J/mol K is J/(mol K), as it is commonly meant; a/b/c is a/(b c).
 */
import { combine, type Dimension, DIMENSIONLESS, sameDimension } from "./dimension.ts";
import { plainNotation } from "./notation.ts";
import { lookUpUnit } from "./unit-table.ts";

export interface Unit {
  readonly dimension: Dimension;
  /** Coherent SI units in one of this. */
  readonly factor: number;
  /** The zero of a temperature scale that stands alone: added to a value before the factor. 0 in compounds, where only steps count. */
  readonly offset: number;
}

export const NO_UNIT: Unit = { dimension: DIMENSIONLESS, factor: 1, offset: 0 };

type Token =
  | { readonly kind: "unit"; readonly unit: Unit }
  | { readonly kind: "power"; readonly exponent: number }
  | { readonly kind: "next power"; readonly exponent: number }
  | { readonly kind: "(" | ")" | "/" | "*" };

/** Nesting and length of what people write; more is no unit. */
const MAX_LENGTH = 200;
const MAX_POWER = 12;

/** Null for what it does not know; "" is no unit, dimensionless. */
export function parseUnit(text: string): Unit | null {
  if (text.length > MAX_LENGTH) return null;
  const tokens = tokenize(plainNotation(text));
  if (tokens === null) return null;
  if (tokens.length === 0) return NO_UNIT;
  const [only] = tokens;
  if (tokens.length === 1 && only?.kind === "unit") return only.unit;
  const parser = { tokens, at: 0 };
  const unit = quotient(parser);
  return unit !== null && parser.at === tokens.length ? unit : null;
}

/**
 * A value from one unit to another, temperature scales with their zeros ("20" from "°C" to "K" is 293.15). Null when a unit is unknown or they
 * measure different things.
 */
export function convertUnit(value: number, from: string, to: string): number | null {
  const [source, target] = [parseUnit(from), parseUnit(to)];
  if (source === null || target === null || !sameDimension(source.dimension, target.dimension)) return null;
  return fromSi(toSi(value, source), target);
}

export function toSi(value: number, { factor, offset }: Unit): number {
  return (value + offset) * factor;
}

export function fromSi(value: number, { factor, offset }: Unit): number {
  return value / factor - offset;
}

// ---- tokens ----

const NUMBER = String.raw`\s*([+-]?\d+(?:\.\d+)?)(?:\s*\/\s*(\d+))?\s*`;
const BRACKETED_EXPONENT = new RegExp(String.raw`^(?:\^|\*\*)\s*(?:\(${NUMBER}\)|\{${NUMBER}\})`, "u");
const EXPONENT = /^(?:\^|\*\*)\s*([+-]?\d+(?:\.\d+)?)/u;
const WORD = /^(?:°\s?[CFR](?!\p{L})|\p{L}+(?:-(?:year|volt|hour)s?)?|[°′″℃℉%‰])/u;
const POWER_WORDS: Readonly<Record<string, number>> = { squared: 2, cubed: 3 };
const NEXT_POWER_WORDS: Readonly<Record<string, number>> = { square: 2, sq: 2, cubic: 3, cu: 3 };
const DEGREES = /\bdeg(?:rees?)?\.?\s+(?:(c)(?:elsius)?|(f)(?:ahrenheit)?|(r)(?:ankine)?)\b/giu;

function tokenize(text: string): Token[] | null {
  let rest = text
    .replace(DEGREES, (_, c?: string, f?: string) => (c !== undefined ? "°C" : f !== undefined ? "°F" : "°R"))
    .replace(/\bdegrees?\s+kelvin\b/giu, "K");
  const tokens: Token[] = [];
  while ((rest = rest.trimStart()) !== "") {
    const [length, token] = nextToken(rest, tokens.at(-1)) ?? [0, null];
    if (token === null) return null;
    tokens.push(token);
    rest = rest.slice(length);
    // "s-1" and "m2": a power right behind a symbol.
    const power = token.kind === "unit" ? /^[+-]?\d+(?![\d.])/u.exec(rest) : null;
    if (power !== null) {
      tokens.push({ kind: "power", exponent: Number(power[0]) });
      rest = rest.slice(power[0].length);
    }
  }
  return tokens;
}

function nextToken(rest: string, before: Token | undefined): [number, Token] | null {
  const sign = rest[0] ?? "";
  if (sign === "(" || sign === ")" || sign === "/") return [1, { kind: sign }];
  if (/^(?:\^|\*\*)/u.test(rest)) return powerToken(rest);
  if (/^[·⋅*×.-]/u.test(rest)) return [1, { kind: "*" }];
  // "1/s" begins with a number that says nothing.
  if (before === undefined && /^1\s*\//u.test(rest)) return [1, { kind: "unit", unit: NO_UNIT }];
  const word = WORD.exec(rest)?.[0];
  if (word === undefined) return null;
  const lower = word.toLowerCase();
  if (lower === "per") return [word.length, { kind: "/" }];
  const power = POWER_WORDS[lower];
  if (power !== undefined) return [word.length, { kind: "power", exponent: power }];
  const next = NEXT_POWER_WORDS[lower];
  if (next !== undefined) return [word.length, { kind: "next power", exponent: next }];
  const unit = lookUpUnit(word.replace(/\s/gu, ""));
  return unit === null ? null : [word.length, { kind: "unit", unit }];
}

function powerToken(rest: string): [number, Token] | null {
  const found = BRACKETED_EXPONENT.exec(rest) ?? EXPONENT.exec(rest);
  if (found === null) return null;
  const exponent = Number(found[1] ?? found[3]) / Number(found[2] ?? found[4] ?? 1);
  if (!(Math.abs(exponent) <= MAX_POWER)) return null;
  return [found[0].length, { kind: "power", exponent }];
}

// ---- grammar ----

interface Parser {
  readonly tokens: readonly Token[];
  at: number;
}

function quotient(parser: Parser): Unit | null {
  let unit = parser.tokens[parser.at]?.kind === "/" ? NO_UNIT : product(parser);
  while (unit !== null && parser.tokens[parser.at]?.kind === "/") {
    parser.at++;
    const divisor = product(parser);
    unit = divisor === null ? null : times(unit, divisor, -1);
  }
  return unit;
}

function product(parser: Parser): Unit | null {
  let unit: Unit | null = null;
  for (;;) {
    const token = parser.tokens[parser.at];
    if (token?.kind === "*" && unit !== null) {
      parser.at++;
      const factor = powered(parser);
      if (factor === null) return null;
      unit = times(unit, factor, 1);
    } else if (token?.kind === "unit" || token?.kind === "(" || token?.kind === "next power") {
      const factor = powered(parser);
      if (factor === null) return null;
      unit = unit === null ? factor : times(unit, factor, 1);
    } else return unit;
  }
}

function powered(parser: Parser): Unit | null {
  const token = parser.tokens[parser.at++];
  if (token?.kind === "next power") {
    const base = powered(parser);
    return base === null ? null : times(NO_UNIT, base, token.exponent);
  }
  let base: Unit | null = null;
  if (token?.kind === "unit") base = token.unit;
  if (token?.kind === "(") {
    base = quotient(parser);
    if (parser.tokens[parser.at++]?.kind !== ")") return null;
  }
  if (base === null) return null;
  const power = parser.tokens[parser.at];
  if (power?.kind !== "power") return base;
  parser.at++;
  return times(NO_UNIT, base, power.exponent);
}

function times(a: Unit, b: Unit, exponent: number): Unit {
  return { dimension: combine(a.dimension, b.dimension, exponent), factor: a.factor * b.factor ** exponent, offset: 0 };
}
