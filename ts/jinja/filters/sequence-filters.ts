/** Filters of lists, dicts and other values with elements. */
import { bind, bindPositional, toInt, toText } from "../compile/arguments.ts";
import { ownAttribute } from "../compile/attributes.ts";
import { checkItemCount } from "../budget.ts";
import { TemplateFailure } from "../failures.ts";
import type { Filter, FilterContext } from "./filter.ts";
import { group, ignoreCase, lookup, lookupAll } from "./lookup.ts";
import { binary, equal, ordered, sortedBy } from "../python/operators.ts";
import { str } from "../python/printing.ts";
import { length } from "../python/sequences.ts";
import { codePoints } from "../python/text.ts";
import {
  type Arguments,
  Dict,
  DictView,
  isList,
  Iteration,
  Markup,
  Range,
  Tuple,
  truth,
  typeName,
  Undefined,
  type Value,
} from "../values.ts";

/** The elements of a value as a list of bounded length. */
function listOf(value: Value, context: FilterContext): Value[] {
  const list: Value[] = [];
  for (const item of context.items(value)) {
    list.push(item);
    if (list.length % 65_536 === 0) checkItemCount(list.length);
  }
  return list;
}

/** A filter whose elements are made on demand. */
const lazily =
  (make: (value: Value, args: Arguments, context: FilterContext) => Generator<Value>): Filter =>
  (value, args, context) =>
    new Iteration(make(value, args, context));

const first: Filter = (value, args, context) => {
  bindPositional("first", args, 0, 0);
  for (const item of context.items(value)) return item;
  return new Undefined("there is no first item, the sequence is empty");
};

/** The elements in reverse order, or null when Python cannot reverse the value. */
function reversed(value: Value, context: FilterContext): Value[] | null {
  if (typeof value === "string") return codePoints(value).reverse();
  const isReversible =
    isList(value) ||
    value instanceof Tuple ||
    value instanceof Dict ||
    value instanceof DictView ||
    value instanceof Range ||
    value instanceof Undefined;
  return isReversible ? listOf(value, context).reverse() : null;
}

const last: Filter = (value, args, context) => {
  bindPositional("last", args, 0, 0);
  const turned = reversed(value, context);
  if (turned === null) throw new TemplateFailure(`a ${typeName(value)} has no last element to be found`);
  const [item = new Undefined("there is no last item, the sequence is empty")] = turned;
  return item;
};

const reverse: Filter = (value, args, context) => {
  bindPositional("reverse", args, 0, 0);
  if (typeof value === "string") return codePoints(value).reverse().join("");
  const turned = reversed(value, context);
  return turned === null ? listOf(value, context).reverse() : new Iteration(turned[Symbol.iterator]());
};

const sort: Filter = (value, args, context) => {
  const [turned = false, caseSensitive = false, attribute = null] = bind("sort", args, [
    "reverse",
    "case_sensitive",
    "attribute",
  ]);
  const keys = lookupAll(attribute);
  const fold = truth(caseSensitive) ? (key: Value): Value => key : ignoreCase;
  return sortedBy(listOf(value, context), (item) => keys(item).map(fold), truth(turned));
};

const dictsort: Filter = (value, args) => {
  const parameters = ["case_sensitive", "by", "reverse"];
  const [caseSensitive = false, by = "key", turned = false] = bind("dictsort", args, parameters);
  if (by !== "key" && by !== "value") throw new TemplateFailure('dictsort sorts by "key" or "value"');
  if (value instanceof Undefined) return value.fail();
  if (!(value instanceof Dict)) throw new TemplateFailure(`dictsort wants a dict, not a ${typeName(value)}`);
  const pairs = [...value.entries()].map((pair) => new Tuple(pair));
  const key = (pair: Value): Value => (pair instanceof Tuple ? (pair.items[by === "key" ? 0 : 1] ?? null) : null);
  return sortedBy(pairs, (pair) => (truth(caseSensitive) ? key(pair) : ignoreCase(key(pair))), truth(turned));
};

const groupby: Filter = (value, args, context) => {
  const parameters = ["attribute", "default", "case_sensitive"];
  const [attribute = null, otherwise = null, caseSensitive = false] = bind("groupby", args, parameters, 1);
  const read = lookup(attribute, otherwise);
  const key = (item: Value): Value => (truth(caseSensitive) ? read(item) : ignoreCase(read(item)));
  const groups: { key: Value; grouper: Value; items: Value[] }[] = [];
  for (const item of sortedBy(listOf(value, context), key, false)) {
    const current = groups.at(-1);
    if (current !== undefined && equal(current.key, key(item))) current.items.push(item);
    else groups.push({ key: key(item), grouper: read(item), items: [item] });
  }
  return groups.map(({ grouper, items }) => group(grouper, items));
};

const extreme =
  (name: string, operator: "<" | ">"): Filter =>
  (value, args, context) => {
    const [caseSensitive = false, attribute = null] = bind(name, args, ["case_sensitive", "attribute"]);
    const read = lookup(attribute);
    const key = (item: Value): Value => (truth(caseSensitive) ? read(item) : ignoreCase(read(item)));
    let best: { item: Value; key: Value } | null = null;
    for (const item of context.items(value)) {
      const candidate = { item, key: key(item) };
      if (best === null || ordered(operator, candidate.key, best.key)) best = candidate;
    }
    return best === null ? new Undefined("there is no aggregated item, the sequence is empty") : best.item;
  };

const unique = lazily(function* (value, args, context) {
  const [caseSensitive = false, attribute = null] = bind("unique", args, ["case_sensitive", "attribute"]);
  const read = lookup(attribute);
  const seen = new Dict();
  for (const item of context.items(value)) {
    const key = truth(caseSensitive) ? read(item) : ignoreCase(read(item));
    if (seen.has(key)) continue;
    seen.set(key, true);
    yield item;
  }
});

const sum: Filter = (value, args, context) => {
  const [attribute = null, start = 0n] = bind("sum", args, ["attribute", "start"]);
  if (typeof start === "string" || start instanceof Markup) throw new TemplateFailure("sum cannot add texts: use join");
  const read = lookup(attribute);
  let total: Value = start;
  for (const item of context.items(value)) total = binary("+", total, read(item));
  return total;
};

const batch = lazily(function* (value, args, context) {
  const [count, fill = null] = bind("batch", args, ["linecount", "fill_with"], 1);
  const size = toInt("batch", count);
  let row: Value[] = [];
  for (const item of context.items(value)) {
    if (row.length === size) {
      yield row;
      row = [];
    }
    row.push(item);
  }
  if (row.length === 0) return;
  checkItemCount(size);
  yield fill === null ? row : [...row, ...Array.from({ length: Math.max(size - row.length, 0) }, () => fill)];
});

const slice = lazily(function* (value, args, context) {
  const [count, fill = null] = bind("slice", args, ["slices", "fill_with"], 1);
  const slices = toInt("slice", count);
  const all = listOf(value, context);
  if (slices === 0) throw new TemplateFailure("slice: division by zero");
  checkItemCount(slices);
  const [size, extra] = [Math.floor(all.length / slices), all.length % slices];
  for (let index = 0; index < slices; index++) {
    const start = index * size + Math.min(index, extra);
    const part = all.slice(start, start + size + (index < extra ? 1 : 0));
    yield fill !== null && index >= extra ? [...part, fill] : part;
  }
});

const map = lazily(function* (value, args, context) {
  if (!truth(value)) return;
  const convert = mapping(args, context);
  for (const item of context.items(value)) yield convert(item);
});

/** The function that `map` applies to each element: reading an attribute or a filter. */
function mapping(args: Arguments, context: FilterContext): (item: Value) => Value {
  const [name, ...rest] = args.positional;
  if (name !== undefined) {
    const inner = { positional: rest, named: args.named };
    return (item) => context.filter(str(name), item, inner);
  }
  if (!args.named.has("attribute")) throw new TemplateFailure("map wants the name of a filter");
  const [attribute = null, otherwise = null] = bind("map", args, ["attribute", "default"]);
  return lookup(attribute, otherwise);
}

/** select, reject, selectattr, rejectattr. */
const choosing = (wanted: boolean, byAttribute: boolean): Filter =>
  lazily(function* (value, args, context) {
    if (!truth(value)) return;
    const [attribute] = args.positional;
    if (byAttribute && attribute === undefined) throw new TemplateFailure("the name of an attribute is missing");
    const read = byAttribute && attribute !== undefined ? lookup(attribute) : (item: Value): Value => item;
    const [name, ...rest] = args.positional.slice(byAttribute ? 1 : 0);
    const inner = { positional: rest, named: args.named };
    const holds = name === undefined ? truth : (item: Value): boolean => context.test(str(name), item, inner);
    for (const item of context.items(value)) if (holds(read(item)) === wanted) yield item;
  });

const entries = lazily(function* (value, args) {
  bindPositional("items", args, 0, 0);
  if (value instanceof Undefined) return;
  if (!(value instanceof Dict)) throw new TemplateFailure(`items wants a dict, not a ${typeName(value)}`);
  for (const pair of value.entries()) yield new Tuple(pair);
});

const attr: Filter = (value, args) => {
  const [name = null] = bind("attr", args, ["name"], 1);
  if (value instanceof Undefined) return value.fail();
  const wanted = toText("attr", name);
  const own = ownAttribute(value, wanted);
  return own === undefined ? new Undefined(`there is no attribute '${wanted}'`) : own;
};

const otherwise: Filter = (value, args) => {
  const [fallback = "", alsoFalse = false] = bind("default", args, ["default_value", "boolean"]);
  return value instanceof Undefined || (truth(alsoFalse) && !truth(value)) ? fallback : value;
};

const count: Filter = (value, args) => {
  bindPositional("length", args, 0, 0);
  return BigInt(length(value instanceof Markup ? value.text : value));
};

export const SEQUENCE_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["first", first],
  ["last", last],
  ["length", count],
  ["count", count],
  [
    "list",
    (value, args, context) => {
      bindPositional("list", args, 0, 0);
      return listOf(value, context);
    },
  ],
  ["reverse", reverse],
  ["sort", sort],
  ["dictsort", dictsort],
  ["groupby", groupby],
  ["min", extreme("min", "<")],
  ["max", extreme("max", ">")],
  ["unique", unique],
  ["sum", sum],
  ["batch", batch],
  ["slice", slice],
  ["map", map],
  ["select", choosing(true, false)],
  ["reject", choosing(false, false)],
  ["selectattr", choosing(true, true)],
  ["rejectattr", choosing(false, true)],
  ["items", entries],
  ["attr", attr],
  ["default", otherwise],
  ["d", otherwise],
]);
