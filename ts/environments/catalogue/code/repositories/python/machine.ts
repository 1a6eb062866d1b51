/** What translated code runs with: the functions that its text names, and the count of its steps and calls. */
import { Stackless } from "../../../stackless.ts";
import { builtIn, callable, invokeBuiltIn } from "./built-ins.ts";
import {
  Class,
  holds,
  Instance,
  isTrue,
  itemAt,
  itemsOf,
  keyOf,
  operate,
  Raised,
  raised,
  textOf,
  type Value,
} from "./values.ts";

/** A run that took more steps than it may: the program does not end, or not soon. */
export class OutOfSteps extends Stackless {}

const DEEPEST = 80;

export class Machine {
  steps = 0;
  /** Calls that are open. */
  depth = 0;
  /** The left side of an `and` or `or`. */
  kept: Value = null;
  /** Called functions as `module:name`, with their depth, while a list stands here. */
  trace: { readonly called: string; readonly depth: number }[] | null = null;

  spend(): void {
    this.steps -= 1;
    if (this.steps < 0) throw new OutOfSteps();
  }

  enter(called: string): void {
    this.spend();
    this.depth += 1;
    if (this.depth > DEEPEST) throw new OutOfSteps();
    this.trace?.push({ called, depth: this.depth });
  }

  leave(result: Value): Value {
    this.depth -= 1;
    return result;
  }
}

export const RUN_TIME = {
  Class,
  builtIn,
  callable,
  holds,
  isTrue,
  itemAt,
  itemsOf,
  operate,
  textOf,
  unpack(value: Value, count: number): readonly Value[] {
    const items = itemsOf(value);
    if (items.length !== count) throw raised("ValueError");
    return items;
  },
  field(self: Value, name: string): Value {
    const found = self instanceof Instance ? self.fields.get(name) : undefined;
    if (found === undefined) throw raised("AttributeError");
    return found;
  },
  setField(self: Value, name: string, value: Value): void {
    if (!(self instanceof Instance)) throw raised("AttributeError");
    self.fields.set(name, value);
  },
  setItem(self: Value, index: Value, value: Value): void {
    if (self instanceof Map) self.set(keyOf(index), value);
    else if (Array.isArray(self) && typeof index === "number" && index in self) self[index] = value;
    else throw raised("TypeError");
  },
  slice(self: Value, from: Value, to: Value): Value {
    if (typeof self !== "string" && !Array.isArray(self)) throw raised("TypeError");
    const [first, last] = [from ?? 0, to ?? self.length];
    if (typeof first !== "number" || typeof last !== "number") throw raised("TypeError");
    return self.slice(first, last);
  },
  invoke(self: Value, name: string, ...args: Value[]): Value {
    if (!(self instanceof Instance)) return invokeBuiltIn(self, name, args);
    const method = self.is.member(name);
    if (method === undefined) throw raised("AttributeError");
    return method(self, ...args);
  },
  imported(from: ReadonlyMap<string, Value>, name: string): Value {
    const value = from.get(name);
    if (value === undefined) throw raised("NameError");
    return value;
  },
  raise(error: Value): never {
    const made = error instanceof Class ? error.make() : error;
    throw made instanceof Instance ? new Raised(made) : raised("TypeError");
  },
  /** Throws again what the `except` is not about. */
  caught(error: unknown, kind: Value): void {
    if (!(error instanceof Raised) || !(kind instanceof Class) || !error.value.is.isA(kind)) throw error;
  },
};
