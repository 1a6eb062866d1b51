/** Values of calls as Python's JSON reads them: 1 and 1.0 are equal, and of different types. */
import type { ExactJson } from "../../../../verify/internal.ts";

export type PythonType = "int" | "float" | "str" | "bool" | "list" | "dict" | "none";

export function typeOf(value: ExactJson): PythonType {
  if (value === null) return "none";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "float";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "str";
  return Array.isArray(value) ? "list" : "dict";
}

/** Python's `==`. */
export function equal(a: ExactJson, b: ExactJson): boolean {
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, at) => equal(item, b[at] ?? null));
  }
  if (a instanceof Map) {
    if (!(b instanceof Map) || a.size !== b.size) return false;
    return [...a].every(([key, value]) => b.has(key) && equal(value, b.get(key) ?? null));
  }
  if (a === null || typeof a === "string" || b === null || typeof b === "string") return a === b;
  if (Array.isArray(b) || b instanceof Map) return false;
  // eslint-disable-next-line eqeqeq -- a bigint and a double of the same value are equal
  return asNumber(a) == asNumber(b);
}

/** A truth value is the number 0 or 1. */
function asNumber(value: boolean | bigint | number): bigint | number {
  return typeof value === "boolean" ? BigInt(value) : value;
}

/** Python's `in` of a list. */
export function includes(list: readonly ExactJson[], value: ExactJson): boolean {
  return list.some((one) => equal(one, value));
}

/** Texts are compared without blanks, some marks and the case, and with one kind of quotation mark. */
export function standard(value: ExactJson): ExactJson {
  return typeof value === "string"
    ? value
        .replaceAll(/[ ,./\-_*^]/gu, "")
        .toLowerCase()
        .replaceAll("'", '"')
    : value;
}
