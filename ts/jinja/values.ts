/**
 * The values of a template, which are Python's: `null` is None, a bigint an int, a number a float, an array a list.
 *
 * Lists and dicts are never changed once a template can see them, as in jinja2's immutable sandbox.
 */
import { TemplateFailure, TemplateUnsupported } from "./failures.ts";

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly Value[]
  | Tuple
  | Dict
  | DictView
  | Range
  | Iteration
  | Undefined
  | Markup
  | Namespace
  | Callable
  | Instance;

/** Arguments of a call. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** A missing value. It prints as the empty text; nearly every other use of it fails with `reason`. */
export class Undefined {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }

  fail(): never {
    throw new TemplateFailure(this.reason);
  }
}

export class Tuple {
  readonly items: readonly Value[];
  /** Names of the elements, for the groups of `groupby`. */
  readonly fields: readonly string[];

  constructor(items: readonly Value[], fields: readonly string[] = []) {
    this.items = items;
    this.fields = fields;
  }
}

/** A key for a Map: `1`, `1.0` and `True` are the same key. */
type DictKey = string | bigint | number | null | undefined;

export class Dict {
  readonly #entries = new Map<DictKey, [Value, Value]>();

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(dictKey(key))?.[1];
  }

  has(key: Value): boolean {
    return this.#entries.has(dictKey(key));
  }

  /** For building the dict. An existing key keeps its place and its first spelling. */
  set(key: Value, value: Value): this {
    const known = dictKey(key);
    const entry = this.#entries.get(known);
    if (entry === undefined) this.#entries.set(known, [key, value]);
    else entry[1] = value;
    return this;
  }

  keys(): Value[] {
    return [...this.#entries.values()].map(([key]) => key);
  }

  values(): Value[] {
    return [...this.#entries.values()].map(([, value]) => value);
  }

  entries(): IterableIterator<[Value, Value]> {
    return this.#entries.values();
  }
}

/** Lists, dicts and views of dicts cannot be keys. */
export function isHashable(value: Value): boolean {
  return !isList(value) && !(value instanceof Dict) && !(value instanceof DictView && value.kind !== "values");
}

function dictKey(key: Value): DictKey {
  if (typeof key === "string" || key === null || typeof key === "bigint") return key;
  if (typeof key === "boolean") return key ? 1n : 0n;
  if (typeof key === "number") return Number.isInteger(key) ? BigInt(key) : key;
  if (key instanceof Markup) return key.text;
  if (key instanceof Undefined) return undefined;
  if (!isHashable(key)) throw new TemplateFailure(`a ${typeName(key)} is used as the key of a dict`);
  throw new TemplateUnsupported(`a ${typeName(key)} as the key of a dict is not implemented`);
}

/** `dict.keys()`, `dict.values()`, `dict.items()`. */
export class DictView {
  readonly kind: "keys" | "values" | "items";
  readonly dict: Dict;

  constructor(kind: DictView["kind"], dict: Dict) {
    this.kind = kind;
    this.dict = dict;
  }

  items(): Value[] {
    if (this.kind === "keys") return this.dict.keys();
    if (this.kind === "values") return this.dict.values();
    return [...this.dict.entries()].map(([key, value]) => new Tuple([key, value]));
  }
}

export class Range {
  readonly start: bigint;
  readonly stop: bigint;
  readonly step: bigint;
  readonly length: number;

  constructor(start: bigint, stop: bigint, step: bigint) {
    this.start = start;
    this.stop = stop;
    this.step = step;
    const span = step > 0n ? stop - start : start - stop;
    const stride = step > 0n ? step : -step;
    this.length = span <= 0n ? 0 : Number((span + stride - 1n) / stride);
  }

  at(index: number): bigint {
    return this.start + BigInt(index) * this.step;
  }
}

/** The result of a generator or `reversed`: it gives each element once. */
export class Iteration {
  readonly iterator: Iterator<Value, undefined>;

  constructor(iterator: Iterator<Value, undefined>) {
    this.iterator = iterator;
  }
}

/** A text that is marked as safe HTML, by `safe` or `escape`. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static escape(text: string): Markup {
    const named: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };
    return new Markup(text.replace(/[&<>"']/g, (sign) => named[sign] ?? sign));
  }
}

/** `namespace()`: the only value whose attributes a template may set. */
export class Namespace {
  readonly attributes = new Map<string, Value>();
}

/** A function, method or macro. */
export class Callable {
  readonly name: string;
  readonly call: (args: Arguments) => Value;
  /** Its printed text; null where Python prints an address. */
  readonly printed: string | null;

  constructor(name: string, call: (args: Arguments) => Value, printed: string | null = null) {
    this.name = name;
    this.call = call;
    this.printed = printed;
  }
}

/** An object with attributes: `loop`, a cycler, a joiner. */
export abstract class Instance {
  abstract readonly type: string;
  abstract readonly isCallable: boolean;
  abstract attribute(name: string): Value | undefined;

  call(_args: Arguments): Value {
    throw new TemplateFailure(`a ${this.type} cannot be called`);
  }

  /** Its printed text; null where Python prints an address. */
  printed(): string | null {
    return null;
  }
}

/** Python's name of the value's type. */
export function typeName(value: Value): string {
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "float";
  if (typeof value === "string") return "str";
  if (Array.isArray(value)) return "list";
  if (value instanceof Tuple) return "tuple";
  if (value instanceof Dict) return "dict";
  if (value instanceof DictView) return `dict_${value.kind}`;
  if (value instanceof Range) return "range";
  if (value instanceof Iteration) return "generator";
  if (value instanceof Callable) return "function";
  return value instanceof Instance ? value.type : value.constructor.name;
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** None for a list and a tuple's elements alike. */
export function sequenceItems(value: Value): readonly Value[] | null {
  if (isList(value)) return value;
  return value instanceof Tuple ? value.items : null;
}

/** Python's truth of a value. */
export function truth(value: Value): boolean {
  if (typeof value === "object" && value !== null) {
    if (isList(value)) return value.length > 0;
    if (value instanceof Dict) return value.size > 0;
    if (value instanceof Undefined) return false;
    if (value instanceof Tuple) return value.items.length > 0;
    if (value instanceof Range) return value.length > 0;
    if (value instanceof DictView) return value.dict.size > 0;
    if (value instanceof Markup) return value.text !== "";
    return true;
  }
  return Number.isNaN(value) || Boolean(value);
}
