/** Converts a caller's variables to a template's values, as if they had been written as JSON and read in Python. */
import { TemplateFailure } from "./failures.ts";
import { Dict, type Value } from "./values.ts";

const MAX_DEPTH = 500;

export function fromJson(value: unknown, name: string, depth = 0): Value {
  if (depth > MAX_DEPTH) throw new TemplateFailure(`${name} nests more than ${MAX_DEPTH} deep`);
  if (value === null || typeof value === "boolean" || typeof value === "string" || typeof value === "bigint")
    return value;
  if (typeof value === "number") return fromNumber(value);
  if (Array.isArray(value)) return value.map((item: unknown) => fromJson(item ?? null, name, depth + 1));
  if (typeof value === "object" && !(value instanceof Map) && !(value instanceof Set) && !(value instanceof Date)) {
    const dict = new Dict();
    for (const [key, item] of Object.entries(value)) {
      if (item !== undefined) dict.set(key, fromJson(item, name, depth + 1));
    }
    return dict;
  }
  const kind = typeof value === "object" ? value.constructor.name : typeof value;
  throw new TemplateFailure(`${name} holds a ${kind}, which is no JSON`);
}

/** A number is an int when JSON writes it without a point and an exponent. */
function fromNumber(value: number): Value {
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value) : value;
}
