/** Built-in functions, and methods of texts, lists and dictionaries: those that the projects use. */
import {
  type Arguments,
  type Callable,
  type Class,
  compare,
  EXCEPTIONS,
  isEqual,
  isTrue,
  itemsOf,
  keyOf,
  raised,
  textOf,
  type Value,
} from "./values.ts";

function at(args: readonly Value[], index: number): Value {
  const value = args[index];
  if (value === undefined) throw raised("TypeError");
  return value;
}

const number = (value: Value | undefined): number => {
  if (typeof value === "boolean") return Number(value);
  if (typeof value !== "number") throw raised("TypeError");
  return value;
};
const text = (value: Value | undefined): string => {
  if (typeof value !== "string") throw raised("TypeError");
  return value;
};
const keyed = (args: Arguments): ((value: Value) => Value) => {
  const key = args.named.get("key");
  return key === undefined || key === null
    ? (value) => value
    : (value) => callOf(key)({ values: [value], named: NONE });
};
const NONE: ReadonlyMap<string, Value> = new Map();

/** Throws the TypeError of a value that cannot be called. */
export function callOf(value: Value): Callable["call"] {
  if (value !== null && typeof value === "object" && "call" in value) return value.call;
  throw raised("TypeError");
}

function sorted(values: readonly Value[], args: Arguments): Value[] {
  const key = keyed(args);
  const ranked = values.map((value) => ({ value, key: key(value) }));
  const sign = isTrue(args.named.get("reverse") ?? false) ? -1 : 1;
  return ranked.sort((a, b) => sign * compare(a.key, b.key)).map(({ value }) => value);
}

/** The first of the greatest (`sign` 1) or least values. */
function extreme(sign: number, args: Arguments): Value {
  const all = args.values.length === 1 ? itemsOf(at(args.values, 0)) : args.values;
  const key = keyed(args);
  const [first, ...others] = all;
  if (first === undefined) {
    const fallback = args.named.get("default");
    if (fallback === undefined) throw raised("ValueError");
    return fallback;
  }
  return others.reduce((best, one) => (sign * compare(key(one), key(best)) > 0 ? one : best), first);
}

function whole(value: Value): number {
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  const digits = text(value).trim();
  if (!/^[+-]?\d+$/u.test(digits)) throw raised("ValueError");
  return Number(digits);
}

function range(args: readonly Value[]): number[] {
  const [from, to] = args.length === 1 ? [0, number(args[0])] : [number(args[0]), number(args[1])];
  const step = args[2] === undefined ? 1 : number(args[2]);
  return Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, index) => from + step * index);
}

const FUNCTIONS: Readonly<Record<string, (args: Arguments) => Value>> = {
  len: ({ values }) => itemsOf(at(values, 0)).length,
  range: ({ values }) => range(values),
  sorted: (args) => sorted(itemsOf(at(args.values, 0)), args),
  min: (args) => extreme(-1, args),
  max: (args) => extreme(1, args),
  sum: ({ values }) => itemsOf(at(values, 0)).reduce((sum: number, one) => sum + number(one), 0),
  abs: ({ values }) => Math.abs(number(values[0])),
  int: ({ values }) => whole(at(values, 0)),
  str: ({ values }) => textOf(at(values, 0)),
  list: ({ values }) => (values.length === 0 ? [] : [...itemsOf(at(values, 0))]),
  any: ({ values }) => itemsOf(at(values, 0)).some(isTrue),
  all: ({ values }) => itemsOf(at(values, 0)).every(isTrue),
  enumerate: ({ values }) => itemsOf(at(values, 0)).map((one, index) => [index + number(values[1] ?? 0), one]),
  dict: ({ values }) => {
    const [from = new Map<string, Value>()] = values;
    if (!(from instanceof Map)) throw raised("TypeError");
    return new Map(from);
  },
};

export const BUILT_INS: ReadonlyMap<string, Value> = new Map<string, Callable | Class>([
  ...Object.entries(FUNCTIONS).map(([name, call]): [string, Callable] => [name, { call }]),
  ...EXCEPTIONS,
]);

type Method<Of> = (self: Of, args: Arguments) => Value;

const OF_TEXT: Readonly<Record<string, Method<string>>> = {
  strip: (self) => self.trim(),
  lower: (self) => self.toLowerCase(),
  upper: (self) => self.toUpperCase(),
  title: (self) => self.toLowerCase().replaceAll(/[a-z]+/gu, (word) => word[0]?.toUpperCase() + word.slice(1)),
  isdigit: (self) => /^\d+$/u.test(self),
  startswith: (self, { values }) => self.startsWith(text(values[0])),
  endswith: (self, { values }) => self.endsWith(text(values[0])),
  replace: (self, { values }) => self.replaceAll(text(values[0]), () => text(values[1])),
  join: (self, { values }) => itemsOf(at(values, 0)).map(text).join(self),
  split: (self, { values }) => splitText(self, values),
};

function splitText(self: string, values: readonly Value[]): Value[] {
  if (values[0] === undefined) return self.split(/\s+/u).filter((part) => part !== "");
  const [sign, most] = [text(values[0]), values[1] === undefined ? Infinity : number(values[1])];
  const parts = self.split(sign);
  return parts.length <= most + 1 ? parts : [...parts.slice(0, most), parts.slice(most).join(sign)];
}

const OF_LIST: Readonly<Record<string, Method<Value[]>>> = {
  append: (self, { values }) => {
    self.push(at(values, 0));
    return null;
  },
  extend: (self, { values }) => {
    self.push(...itemsOf(at(values, 0)));
    return null;
  },
  remove: (self, { values }) => {
    const found = self.findIndex((one) => isEqual(one, at(values, 0)));
    if (found < 0) throw raised("ValueError");
    self.splice(found, 1);
    return null;
  },
  pop: (self, { values }) => {
    const index = values[0] === undefined ? self.length - 1 : number(values[0]);
    const [gone] = self.splice(index, 1);
    if (gone === undefined) throw raised("IndexError");
    return gone;
  },
};

const OF_DICT: Readonly<Record<string, Method<Map<string | number, Value>>>> = {
  get: (self, { values }) => {
    const found = self.get(keyOf(at(values, 0)));
    return found === undefined ? (values[1] ?? null) : found;
  },
  keys: (self) => [...self.keys()],
  values: (self) => [...self.values()],
  items: (self) => [...self].map((pair) => [...pair]),
  pop: (self, { values }) => {
    const key = keyOf(at(values, 0));
    const found = self.has(key) ? self.get(key) : values[1];
    if (found === undefined) throw raised("KeyError");
    self.delete(key);
    return found;
  },
  setdefault: (self, { values }) => {
    const key = keyOf(at(values, 0));
    if (!self.has(key)) self.set(key, values[1] ?? null);
    return self.get(key) ?? null;
  },
};

/** The method of a built-in value, or undefined. */
export function builtInMethod(self: Value, name: string): Callable["call"] | undefined {
  if (typeof self === "string") return bound(OF_TEXT[name], self);
  if (Array.isArray(self)) return bound(OF_LIST[name], self);
  return self instanceof Map ? bound(OF_DICT[name], self) : undefined;
}

function bound<Of>(method: Method<Of> | undefined, self: Of): Callable["call"] | undefined {
  return method === undefined ? undefined : (args) => method(self, args);
}
