/** Iterating, counting, indexing and slicing. */
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import { codePoints, textLength } from "./text.ts";
import {
  Dict,
  DictView,
  isHashable,
  isList,
  Iteration,
  Markup,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "../values.ts";

/** The elements of a value, or null when it cannot be iterated. */
function itemsOrNull(value: Value): Iterable<Value> | null {
  if (isList(value)) return value;
  if (typeof value === "string") return codePoints(value);
  if (value instanceof Tuple) return value.items;
  if (value instanceof Dict) return value.keys();
  if (value instanceof DictView) return value.items();
  if (value instanceof Range) return rangeItems(value);
  if (value instanceof Undefined) return [];
  if (value instanceof Markup) return codePoints(value.text);
  // `for of` must not close it, because the next loop continues where this one stopped.
  return value instanceof Iteration ? { [Symbol.iterator]: () => ({ next: () => advance(value) }) } : null;
}

function advance({ iterator }: Iteration): IteratorResult<Value, undefined> {
  const { done, value } = iterator.next();
  return done === true ? { done, value: undefined } : { done: false, value };
}

function* rangeItems(range: Range): Generator<Value> {
  for (let index = 0; index < range.length; index++) yield range.at(index);
}

export function isIterable(value: Value): boolean {
  return itemsOrNull(value) !== null;
}

export function items(value: Value): Iterable<Value> {
  const all = itemsOrNull(value);
  if (all === null) throw new TemplateFailure(`a ${typeName(value)} cannot be iterated`);
  return all;
}

/** `len(value)`, or null when the value has no length. */
export function lengthOrNull(value: Value): number | null {
  if (typeof value === "string") return textLength(value);
  if (isList(value)) return value.length;
  if (value instanceof Tuple) return value.items.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof DictView) return value.dict.size;
  if (value instanceof Range) return value.length;
  if (value instanceof Markup) return textLength(value.text);
  return value instanceof Undefined ? 0 : null;
}

export function length(value: Value): number {
  const count = lengthOrNull(value);
  if (count === null) throw new TemplateFailure(`a ${typeName(value)} has no length`);
  return count;
}

/** An int or a bool as an index; null for everything else. */
function asIndex(value: Value): number | null {
  if (typeof value === "bigint") return Number(value);
  return typeof value === "boolean" ? Number(value) : null;
}

/** `value[key]`; undefined where Python raises LookupError or TypeError. */
export function subscript(value: Value, key: Value): Value | undefined {
  if (value instanceof Undefined) return value.fail();
  if (value instanceof Dict) return isHashable(key) ? value.get(key) : undefined;
  const index = asIndex(key);
  if (index === null) return undefined;
  if (value instanceof Range) {
    const at = index < 0 ? index + value.length : index;
    return at >= 0 && at < value.length ? value.at(at) : undefined;
  }
  if (isList(value)) return value.at(index);
  if (value instanceof Tuple) return value.items.at(index);
  if (value instanceof Markup) throw new TemplateUnsupported("a character of a text marked as safe is not implemented");
  return typeof value === "string" ? codePoints(value).at(index) : undefined;
}

/** `value[start:stop:step]`. */
export function slice(value: Value, bounds: readonly [Value, Value, Value]): Value {
  if (value instanceof Undefined) return value.fail();
  const known = lengthOrNull(value);
  if (known === null || value instanceof Dict || value instanceof DictView || value instanceof Markup) {
    throw new TemplateFailure(`a ${typeName(value)} cannot be sliced`);
  }
  const range = sliceRange(known, bounds);
  if (value instanceof Range) {
    const [start, stop] = [range.start, range.stop].map((at) => value.start + at * value.step);
    return new Range(start ?? 0n, stop ?? 0n, value.step * range.step);
  }
  if (typeof value === "string") return pick(codePoints(value), range).join("");
  if (value instanceof Tuple) return new Tuple(pick(value.items, range));
  return isList(value) ? pick(value, range) : null;
}

function pick<T>(from: readonly T[], range: Range): T[] {
  if (range.step === 1n) return from.slice(Number(range.start), Math.max(Number(range.start), Number(range.stop)));
  return Array.from({ length: range.length }, (_, index) => from[Number(range.at(index))] as T);
}

/** The indices of a slice, as Python's `slice.indices` gives them. */
function sliceRange(size: number, [start, stop, step]: readonly [Value, Value, Value]): Range {
  const stride = bound(step) ?? 1;
  if (stride === 0) throw new TemplateFailure("slice step cannot be zero");
  const [lowest, highest] = stride > 0 ? [0, size] : [-1, size - 1];
  const place = (value: Value, otherwise: number): number => {
    const at = bound(value);
    if (at === null) return otherwise;
    return Math.min(Math.max(at < 0 ? at + size : at, lowest), highest);
  };
  const first = place(start, stride > 0 ? lowest : highest);
  const last = place(stop, stride > 0 ? highest : lowest);
  return new Range(BigInt(first), BigInt(last), BigInt(stride));
}

function bound(value: Value): number | null {
  if (value === null) return null;
  if (value instanceof Undefined) throw new TemplateFailure("slice indices must be ints or None");
  const index = asIndex(value);
  if (index === null) throw new TemplateFailure("slice indices must be ints or None");
  // Larger than any length, so that larger bounds cut at the same place.
  return Math.min(Math.max(index, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}
