/** Operators between values, as Python computes them. */
import { checkItemCount } from "../budget.ts";
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import { formatPercent } from "./percent-format.ts";
import { items } from "./sequences.ts";
import { arithmetic, type ArithmeticOperator } from "./numbers.ts";
import { str } from "./printing.ts";
import { compareTexts, repeat } from "./text.ts";
import {
  Dict,
  DictView,
  isHashable,
  isList,
  Markup,
  Range,
  sequenceItems,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "../values.ts";

/** A bool counts as an int; null when the value is not a number. */
export function numeric(value: Value): bigint | number | null {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return typeof value === "boolean" ? BigInt(value) : null;
}

export function binary(operator: ArithmeticOperator, a: Value, b: Value): Value {
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== null && right !== null) return arithmetic(operator, left, right);
  if (operator === "%" && typeof a === "string") return formatPercent(a, b);
  if (a instanceof Undefined) return a.fail();
  if (b instanceof Undefined) return b.fail();
  const joined = operator === "+" ? concatenated(a, b) : operator === "*" ? repeated(a, b) : null;
  if (joined !== null) return joined;
  throw new TemplateFailure(`${operator} does not work between ${typeName(a)} and ${typeName(b)}`);
}

function concatenated(a: Value, b: Value): Value {
  if (typeof a === "string" && typeof b === "string") return a + b;
  if (isList(a) && isList(b)) {
    checkItemCount(a.length + b.length);
    return [...a, ...b];
  }
  if (a instanceof Tuple && b instanceof Tuple) {
    checkItemCount(a.items.length + b.items.length);
    return new Tuple([...a.items, ...b.items]);
  }
  const isText = (value: Value): boolean => typeof value === "string" || value instanceof Markup;
  if (isText(a) && isText(b)) return new Markup(markupOf(a).text + markupOf(b).text);
  return null;
}

function markupOf(value: Value): Markup {
  return value instanceof Markup ? value : Markup.escape(str(value));
}

function repeated(a: Value, b: Value): Value {
  const [sequence, times] = numeric(a) === null ? [a, numeric(b)] : [b, numeric(a)];
  if (typeof times !== "bigint") return null;
  const count = Number(times < 0n ? 0n : times);
  if (typeof sequence === "string") return repeat(sequence, count);
  const elements = sequenceItems(sequence);
  if (elements === null) return null;
  checkItemCount(elements.length * count);
  const all = elements.length === 0 ? [] : Array.from({ length: count }, () => elements).flat();
  return sequence instanceof Tuple ? new Tuple(all) : all;
}

export function negated(value: Value): Value {
  const number = numeric(value);
  if (value instanceof Undefined) return value.fail();
  if (number === null) throw new TemplateFailure(`- does not work on ${typeName(value)}`);
  return -number;
}

export function positive(value: Value): Value {
  const number = numeric(value);
  if (value instanceof Undefined) return value.fail();
  if (number === null) throw new TemplateFailure(`+ does not work on ${typeName(value)}`);
  return number;
}

export function equal(a: Value, b: Value): boolean {
  if (a === b) return !Number.isNaN(a);
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== null && right !== null) {
    return !(left < right) && !(left > right) && !Number.isNaN(left) && !Number.isNaN(right);
  }
  if (isList(a) && isList(b)) return equalItems(a, b);
  if (a instanceof Tuple && b instanceof Tuple) return equalItems(a.items, b.items);
  if (a instanceof Dict && b instanceof Dict) return equalDicts(a, b);
  if (a instanceof Undefined && b instanceof Undefined) return true;
  if (a instanceof Range && b instanceof Range) return equalItems([...items(a)], [...items(b)]);
  if (a instanceof DictView && b instanceof DictView) return equalViews(a, b);
  if (a instanceof Markup || b instanceof Markup) {
    const isText = (value: Value): boolean => typeof value === "string" || value instanceof Markup;
    return isText(a) && isText(b) && str(a) === str(b);
  }
  return false;
}

function equalItems(a: readonly Value[], b: readonly Value[]): boolean {
  return a.length === b.length && a.every((one, index) => equal(one, b[index] ?? null));
}

function equalDicts(a: Dict, b: Dict): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a.entries()) {
    const other = b.get(key);
    if (other === undefined || !equal(value, other)) return false;
  }
  return true;
}

/** `keys()` and `items()` compare as sets, `values()` with nothing but itself. */
function equalViews(a: DictView, b: DictView): boolean {
  if (a.kind === "values" || a.kind !== b.kind || a.dict.size !== b.dict.size) return false;
  return a.kind === "items" ? equalDicts(a.dict, b.dict) : a.dict.keys().every((key) => b.dict.has(key));
}

export type OrderOperator = "<" | "<=" | ">" | ">=";

export function ordered(operator: OrderOperator, a: Value, b: Value): boolean {
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== null && right !== null) return holds(operator, left, right);
  if (typeof a === "string" && typeof b === "string") return holds(operator, compareTexts(a, b), 0);
  const [one, other] = [sequenceItems(a), sequenceItems(b)];
  if (one !== null && other !== null && isList(a) === isList(b)) {
    const differs = one.findIndex((item, index) => index >= other.length || !equal(item, other[index] ?? null));
    if (differs < 0 || differs >= other.length) return holds(operator, one.length, other.length);
    return ordered(operator, one[differs] ?? null, other[differs] ?? null);
  }
  if (a instanceof Undefined) return a.fail();
  if (b instanceof Undefined) return b.fail();
  throw new TemplateFailure(`${operator} does not work between ${typeName(a)} and ${typeName(b)}`);
}

function holds(operator: OrderOperator, a: bigint | number, b: bigint | number): boolean {
  if (operator === "<") return a < b;
  if (operator === "<=") return a <= b;
  return operator === ">" ? a > b : a >= b;
}

/** `needle in container`. */
export function contains(container: Value, needle: Value): boolean {
  if (typeof container === "string") {
    if (typeof needle !== "string" && !(needle instanceof Markup)) {
      throw new TemplateFailure(`a ${typeName(needle)} is looked for in a text`);
    }
    return container.includes(str(needle));
  }
  if (container instanceof Dict || (container instanceof DictView && container.kind === "keys")) {
    if (!isHashable(needle)) throw new TemplateFailure(`a ${typeName(needle)} is no key of a dict`);
    return (container instanceof Dict ? container : container.dict).has(needle);
  }
  if (container instanceof Markup) throw new TemplateUnsupported("in is not implemented for a text marked as safe");
  for (const item of items(container)) if (equal(item, needle)) return true;
  return false;
}

/** Sorts by a key of each element, stable in both directions. */
export function sortedBy(elements: readonly Value[], key: (item: Value) => Value, reverse: boolean): Value[] {
  const keyed = elements.map((item) => ({ item, key: key(item) }));
  const direction = reverse ? -1 : 1;
  keyed.sort((a, b) => (ordered("<", a.key, b.key) ? -direction : ordered("<", b.key, a.key) ? direction : 0));
  return keyed.map(({ item }) => item);
}
