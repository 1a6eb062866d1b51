/**
 * The value that a called function returned, and its comparison with the expected value.
 *
 * The harness inside the sandbox writes lists, texts, numbers and nulls as JSON and tags the rest: `{"t": [...]}` a tuple, `{"d": [[key,
 * value], ...]}` a dictionary, `{"o": "..."}` anything else, which equals nothing. Equality is Python's over JSON, as LiveCodeBench has it:
 * true is 1, whole numbers equal floats of the same value, the outermost tuple equals a list and inner ones do not.
 */
import { type ExactJson, parseExactJson } from "./exact-json.ts";

/** A value as JSON, exactly; a text is JSON itself. Throws a SyntaxError. */
export function expectedValue(value: unknown): ExactJson {
  return parseExactJson(typeof value === "string" ? value : (JSON.stringify(value) ?? "null"));
}

/** @param tolerance largest difference of two numbers of which one is no whole number */
export function equalsExpected(actual: ExactJson, expected: ExactJson, tolerance: number): boolean {
  const tuple = tagged(actual, "t");
  return equal(Array.isArray(tuple) ? tuple : actual, expected, tolerance);
}

function equal(actual: ExactJson, expected: ExactJson, tolerance: number): boolean {
  const [a, b] = [numeric(actual), numeric(expected)];
  if (a !== null && b !== null) return sameNumber(a, b, tolerance);
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return actual.length === expected.length && actual.every((item, i) => equal(item, expected[i] ?? null, tolerance));
  }
  if (actual instanceof Map && expected instanceof Map) {
    const entries = tagged(actual, "d");
    if (!Array.isArray(entries) || entries.length !== expected.size) return false;
    return entries.every((entry) => {
      const [key, value] = Array.isArray(entry) ? entry : [];
      const wanted = typeof key === "string" ? expected.get(key) : undefined;
      return wanted !== undefined && value !== undefined && equal(value, wanted, tolerance);
    });
  }
  return actual === expected;
}

function tagged(value: ExactJson, tag: string): ExactJson | undefined {
  return value instanceof Map && value.size === 1 ? value.get(tag) : undefined;
}

function numeric(value: ExactJson): bigint | number | null {
  if (typeof value === "boolean") return value ? 1n : 0n;
  return typeof value === "bigint" || typeof value === "number" ? value : null;
}

function sameNumber(a: bigint | number, b: bigint | number, tolerance: number): boolean {
  // Between a bigint and a double, == compares the values exactly.
  // oxlint-disable-next-line eqeqeq
  if (a == b) return true;
  if (typeof a === "bigint" && typeof b === "bigint") return false;
  return Math.abs(Number(a) - Number(b)) <= tolerance;
}
