/** Built-in functions, and methods of texts, lists and dictionaries: those that the projects use. */
import {
  type Callable,
  Class,
  compare,
  type Dict,
  EXCEPTIONS,
  isEqual,
  isTrue,
  itemsOf,
  keyOf,
  raised,
  textOf,
  type Value,
} from "./values.ts";

const number = (value: Value | undefined): number => {
  if (typeof value === "boolean") return Number(value);
  if (typeof value !== "number") throw raised("TypeError");
  return value;
};
const text = (value: Value | undefined): string => {
  if (typeof value !== "string") throw raised("TypeError");
  return value;
};
const list = (value: Value | undefined): readonly Value[] => itemsOf(value ?? null);

/** What is called for a value. Throws the TypeError of one that cannot be called. */
export function callable(value: Value): Callable {
  if (typeof value === "function") return value;
  if (value instanceof Class) return value.make;
  throw raised("TypeError");
}

function sorted(values: readonly Value[], key: Value | undefined): Value[] {
  if (key === undefined) return [...values].sort(compare);
  const rank = callable(key);
  const ranked = values.map((value) => ({ value, key: rank(value) }));
  return ranked.sort((a, b) => compare(a.key, b.key)).map(({ value }) => value);
}

/** The first of the greatest (`sign` 1) or least values. */
function extreme(sign: number, args: readonly Value[]): Value {
  const [first, ...others] = args.length === 1 ? list(args[0]) : args;
  if (first === undefined) throw raised("ValueError");
  return others.reduce((best, one) => (sign * compare(one, best) > 0 ? one : best), first);
}

function whole(value: Value | undefined): number {
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  const digits = text(value).trim();
  if (!/^[+-]?\d+$/u.test(digits)) throw raised("ValueError");
  return Number(digits);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

const FUNCTIONS: Readonly<Record<string, Callable>> = {
  len: (one) => (one instanceof Map ? one.size : list(one).length),
  range: (one, other) => (other === undefined ? range(0, number(one)) : range(number(one), number(other))),
  sorted: (one, key) => sorted(list(one), key),
  min: (...args) => extreme(-1, args),
  max: (...args) => extreme(1, args),
  sum: (one) => list(one).reduce((sum: number, item) => sum + number(item), 0),
  int: whole,
  str: (one) => textOf(one ?? null),
  any: (one) => list(one).some(isTrue),
  enumerate: (one, from) => list(one).map((item, index) => [index + number(from ?? 0), item]),
};

const BUILT_INS: ReadonlyMap<string, Value> = new Map<string, Value>([...Object.entries(FUNCTIONS), ...EXCEPTIONS]);

export function builtIn(name: string): Value {
  const found = BUILT_INS.get(name);
  if (found === undefined) throw raised("NameError");
  return found;
}

const OF_TEXT: Readonly<Record<string, (self: string, ...args: Value[]) => Value>> = {
  strip: (self) => self.trim(),
  lower: (self) => self.toLowerCase(),
  title: (self) => self.toLowerCase().replaceAll(/[a-z]+/gu, (word) => (word[0] ?? "").toUpperCase() + word.slice(1)),
  isdigit: (self) => /^\d+$/u.test(self),
  startswith: (self, one) => self.startsWith(text(one)),
  endswith: (self, one) => self.endsWith(text(one)),
  replace: (self, one, other) => self.replaceAll(text(one), () => text(other)),
  join: (self, all) => list(all).map(text).join(self),
  split: splitText,
};

function splitText(self: string, sign?: Value, most?: Value): Value[] {
  if (sign === undefined) return self.split(/\s+/u).filter((part) => part !== "");
  const [separator, count] = [text(sign), most === undefined ? Infinity : number(most)];
  const parts = self.split(separator);
  return parts.length <= count + 1 ? parts : [...parts.slice(0, count), parts.slice(count).join(separator)];
}

const OF_LIST: Readonly<Record<string, (self: Value[], ...args: Value[]) => Value>> = {
  append(self, one) {
    self.push(one ?? null);
    return null;
  },
  remove(self, one) {
    const found = self.findIndex((item) => isEqual(item, one ?? null));
    if (found < 0) throw raised("ValueError");
    self.splice(found, 1);
    return null;
  },
};

const OF_DICT: Readonly<Record<string, (self: Dict, ...args: Value[]) => Value>> = {
  get(self, key, otherwise) {
    const found = self.get(keyOf(key ?? null));
    return found === undefined ? (otherwise ?? null) : found;
  },
  values: (self) => [...self.values()],
  items: (self) => [...self].map((pair) => [...pair]),
  setdefault(self, key, fresh) {
    const name = keyOf(key ?? null);
    const found = self.get(name);
    if (found !== undefined) return found;
    self.set(name, fresh ?? null);
    return fresh ?? null;
  },
};

/** Calls a method of a built-in value. */
export function invokeBuiltIn(self: Value, name: string, args: Value[]): Value {
  if (typeof self === "string") return methodOf(OF_TEXT, name)(self, ...args);
  if (Array.isArray(self)) return methodOf(OF_LIST, name)(self, ...args);
  if (self instanceof Map) return methodOf(OF_DICT, name)(self, ...args);
  throw raised("AttributeError");
}

function methodOf<Method>(methods: Readonly<Record<string, Method>>, name: string): Method {
  const found = methods[name];
  if (found === undefined) throw raised("AttributeError");
  return found;
}
