/** Values of the translated Python and what the operators do with them. Whole numbers only; tuples are lists. */
import { Stackless } from "../../../stackless.ts";
import { type Json, isList } from "../../json.ts";

export type Value = null | boolean | number | string | Value[] | Dict | Instance | Class | Callable;
export type Dict = Map<string | number, Value>;

/** A function, a method or a built-in. */
export type Callable = (...args: Value[]) => Value;

export class Class {
  readonly name: string;
  readonly base: Class | null;
  readonly members: ReadonlyMap<string, Callable>;

  readonly make: Callable;

  constructor(name: string, base: Class | null, members: ReadonlyMap<string, Callable>) {
    this.name = name;
    this.base = base;
    this.members = members;
    this.make = (...args) => {
      const made = new Instance(this);
      this.member("__init__")?.(made, ...args);
      return made;
    };
  }

  member(name: string): Callable | undefined {
    return this.members.get(name) ?? this.base?.member(name);
  }

  isA(other: Class): boolean {
    return this === other || (this.base?.isA(other) ?? false);
  }
}

export class Instance {
  readonly is: Class;
  readonly fields = new Map<string, Value>();

  constructor(is: Class) {
    this.is = is;
  }
}

/** An exception on its way. */
export class Raised extends Stackless {
  readonly value: Instance;

  constructor(value: Instance) {
    super(value.is.name);
    this.value = value;
  }
}

const EXCEPTION = new Class("Exception", null, new Map());
const builtIn = (name: string): Class => new Class(name, EXCEPTION, new Map());
export const EXCEPTIONS: ReadonlyMap<string, Class> = new Map(
  [
    EXCEPTION,
    ...["ValueError", "KeyError", "IndexError", "TypeError", "ZeroDivisionError", "AttributeError", "NameError"].map(
      builtIn,
    ),
  ].map((one) => [one.name, one]),
);

export function raised(name: string): Raised {
  return new Raised(new Instance(EXCEPTIONS.get(name) ?? EXCEPTION));
}

export function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return value !== null && value !== false && value !== 0 && value !== "";
}

function asNumber(value: Value): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  throw raised("TypeError");
}

export function keyOf(value: Value): string | number {
  if (typeof value === "string" || typeof value === "number") return value;
  throw raised("TypeError");
}

/** Throws the TypeError of values that have no order. */
export function compare(left: Value, right: Value): number {
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : Number(left > right);
  if (Array.isArray(left) && Array.isArray(right)) {
    for (const [index, item] of left.entries()) {
      const other = right[index];
      if (other === undefined) return 1;
      if (!isEqual(item, other)) return compare(item, other);
    }
    return left.length - right.length;
  }
  return asNumber(left) - asNumber(right);
}

export function isEqual(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, index) => isEqual(item, right[index] ?? null));
  if (left instanceof Map && right instanceof Map)
    return (
      left.size === right.size &&
      [...left].every(([key, item]) => right.has(key) && isEqual(item, right.get(key) ?? null))
    );
  if (typeof left === "boolean" && typeof right === "number") return Number(left) === right;
  return typeof left === "number" && typeof right === "boolean" && left === Number(right);
}

function arithmetic(sign: string, left: number, right: number): number {
  switch (sign) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "//":
    case "%":
      if (right === 0) throw raised("ZeroDivisionError");
      return sign === "//" ? Math.floor(left / right) : left - right * Math.floor(left / right);
    default:
      return left ** right;
  }
}

export function operate(sign: string, left: Value, right: Value): Value {
  if (typeof left === "number" && typeof right === "number") return arithmetic(sign, left, right);
  if (sign === "+" && typeof left === "string" && typeof right === "string") return left + right;
  if (sign === "+" && Array.isArray(left) && Array.isArray(right)) return [...left, ...right];
  return arithmetic(sign, asNumber(left), asNumber(right));
}

export function holds(sign: string, left: Value, right: Value): boolean {
  switch (sign) {
    case "==":
      return isEqual(left, right);
    case "!=":
      return !isEqual(left, right);
    case "<":
      return compare(left, right) < 0;
    case "<=":
      return compare(left, right) <= 0;
    case ">":
      return compare(left, right) > 0;
    case ">=":
      return compare(left, right) >= 0;
    case "in":
      return contains(right, left);
    case "not in":
      return !contains(right, left);
    default:
      return (left === right) === (sign === "is");
  }
}

function contains(all: Value, one: Value): boolean {
  if (all instanceof Map) return (typeof one === "string" || typeof one === "number") && all.has(one);
  if (typeof all === "string" && typeof one === "string") return all.includes(one);
  if (Array.isArray(all)) return all.some((item) => isEqual(item, one));
  throw raised("TypeError");
}

/** The list itself, or a list of what a dictionary or a text has. */
export function itemsOf(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return [...value.keys()];
  if (typeof value === "string") return Array.from(value);
  throw raised("TypeError");
}

export function textOf(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string" || typeof value === "number") return String(value);
  throw raised("TypeError");
}

export function itemAt(of: Value, index: Value): Value {
  if (of instanceof Map) {
    const found = of.get(keyOf(index));
    if (found === undefined) throw raised("KeyError");
    return found;
  }
  if (!Array.isArray(of) && typeof of !== "string") throw raised("TypeError");
  const found = of.at(asNumber(index));
  if (found === undefined) throw raised("IndexError");
  return found;
}

/** JSON as a value: objects become dictionaries. */
export function fromJson(json: Json): Value {
  if (json === null || typeof json !== "object") return json;
  if (isList(json)) return json.map(fromJson);
  return new Map(Object.entries(json).map(([key, item]) => [key, fromJson(item)]));
}

/** Throws the TypeError of what is no JSON. */
export function toJson(value: Value): Json {
  if (typeof value === "function" || value === undefined) throw raised("TypeError");
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [String(key), toJson(item)]));
  throw raised("TypeError");
}
