/** Canonical forms of exact answers: one text for all ways to write a value, null for what is no such value. */

/**
 * `integer`; `tuple`: integers in order; `set`: integers in any order, each once; `fraction`, `fractions`: one rational number, or several in
 * order; `fractionSet`: rational numbers in any order, each once.
 */
export type AnswerKind = "integer" | "tuple" | "set" | "fraction" | "fractions" | "fractionSet";

/** More digits are no answer to any row, and big numbers cost time. */
const MOST_DIGITS = 2_000;
const INTEGER = /^[+-]?\d+$/u;
const GROUPED = /^[+-]?\d{1,3}(?:,\d{3})+$/u;

export function canonicalAnswer(text: string, kind: AnswerKind): string | null {
  const plain = withoutLatex(text);
  switch (kind) {
    case "integer":
      return integerIn(plain);
    case "fraction":
      return fractionIn(plain);
    case "fractions":
    case "fractionSet": {
      const parts = withoutBrackets(plain)
        .split(/[,;\n]/u)
        .map((part) => fractionIn(part.trim()));
      if (parts.includes(null)) return null;
      const values = parts.map(String);
      if (kind === "fractions") return values.join(", ");
      return new Set(values).size < values.length ? null : ascending(values);
    }
    case "tuple":
    case "set": {
      const parts = withoutBrackets(plain)
        .split(/[,;\n]/u)
        .map(integerIn);
      if (parts.includes(null)) return null;
      const values = parts.map(String);
      if (kind === "tuple") return values.join(", ");
      return new Set(values).size < values.length ? null : listed(values.map(BigInt));
    }
  }
}

/** The canonical form of a set. */
export function listed(values: readonly bigint[]): string {
  return values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)).join(", ");
}

/** The canonical form of a set of fractions, each of which is canonical. */
export function ascending(values: readonly string[]): string {
  const parts = values.map((value) => ({ value, halves: value.split("/").map(BigInt) }));
  const cross = (a: readonly bigint[], b: readonly bigint[]): bigint => (a[0] ?? 0n) * (b[1] ?? 1n);
  return parts
    .toSorted((a, b) => (cross(a.halves, b.halves) < cross(b.halves, a.halves) ? -1 : 1))
    .map(({ value }) => value)
    .join(", ");
}

function withoutLatex(text: string): string {
  return text
    .replaceAll(/\\(?:left|right|displaystyle|[,;:! ])/gu, "")
    .replaceAll(/\\[dt]frac/gu, "\\frac")
    .replaceAll("{,}", ",")
    .replaceAll(/[−–]/gu, "-")
    .replaceAll("$", "")
    .trim();
}

/** Without one pair of brackets around the whole. */
function withoutBrackets(text: string): string {
  return (
    /^(?:\\\{([^{}]*)\\\}|\{([^{}]*)\}|\(([^()]*)\)|\[([^[\]]*)\])$/u
      .exec(text)
      ?.slice(1)
      .find((part) => part !== undefined) ?? text
  );
}

function integerIn(text: string): string | null {
  const digits = GROUPED.test(text) ? text.replaceAll(",", "") : text.replaceAll(" ", "");
  if (!INTEGER.test(digits) || digits.length > MOST_DIGITS) return null;
  return String(BigInt(digits.replace("+", "")));
}

/** `3/4`, `\frac{3}{4}`, `-\frac34`, `0.75`; always in lowest terms. */
function fractionIn(text: string): string | null {
  const match =
    /^([+-]?)\\frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}$/u.exec(text) ??
    /^([+-]?)\\frac\s*(\d)\s*(\d)$/u.exec(text) ??
    /^([+-]?)\s*(\d+)\s*\/\s*(\d+)$/u.exec(text);
  if (match !== null) {
    const [, sign = "", numerator = "", denominator = ""] = match;
    if (numerator.length + denominator.length > MOST_DIGITS) return null;
    const value = sign === "-" ? -BigInt(numerator) : BigInt(numerator);
    return fractionText(value, BigInt(denominator));
  }
  const decimal = /^([+-]?)(\d*)\.(\d+)$/u.exec(text);
  if (decimal === null) return integerIn(text);
  const [, sign = "", whole = "", places = ""] = decimal;
  if (whole.length + places.length > MOST_DIGITS) return null;
  const value = BigInt(whole + places);
  return fractionText(sign === "-" ? -value : value, 10n ** BigInt(places.length));
}

/** In lowest terms, a whole number without a bar. Null for a denominator of 0. */
export function fractionText(numerator: bigint, denominator: bigint): string | null {
  if (denominator === 0n) return null;
  let [a, b] = [numerator < 0n ? -numerator : numerator, denominator < 0n ? -denominator : denominator];
  while (b !== 0n) [a, b] = [b, a % b];
  const divisor = (a === 0n ? 1n : a) * (denominator < 0n ? -1n : 1n);
  const [top, bottom] = [numerator / divisor, denominator / divisor];
  return bottom === 1n ? String(top) : `${top}/${bottom}`;
}
