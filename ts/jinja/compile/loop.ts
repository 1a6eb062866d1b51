/** `loop`: the state of a `{% for %}`. It looks ahead only as far as the template needs, as in jinja2. */
import { bindPositional } from "./arguments.ts";
import { TemplateFailure } from "../failures.ts";
import { equal } from "../python/operators.ts";
import { type Arguments, Callable, Instance, Tuple, Undefined, type Value } from "../values.ts";

/** Renders the loop's body once more over other elements. */
export type Recursion = (over: Value, depth: number) => string;

export class LoopState extends Instance {
  readonly type = "LoopContext";
  readonly isCallable = true;
  readonly #recurse: Recursion | null;
  readonly #depth: number;
  #iterator: Iterator<Value, undefined>;
  /** Null until it is needed, where the elements come one by one. */
  #length: number | null;
  #index = -1;
  #before: Value | undefined;
  #current: Value | undefined;
  /** The next element, if it was read ahead. */
  #after: Value | undefined;
  #changed: Value | undefined;

  constructor(elements: Iterable<Value>, recurse: Recursion | null, depth: number) {
    super();
    this.#iterator = elements[Symbol.iterator]();
    this.#length = Array.isArray(elements) ? elements.length : null;
    this.#recurse = recurse;
    this.#depth = depth;
  }

  /** The next element; undefined behind the last. */
  advance(): Value | undefined {
    const item = this.#peek();
    if (item === undefined) return undefined;
    this.#after = undefined;
    this.#index += 1;
    this.#before = this.#current;
    this.#current = item;
    return item;
  }

  override call(args: Arguments): Value {
    const [over = null] = bindPositional("loop", args, 1, 1);
    if (this.#recurse === null) throw new TemplateFailure("loop() is called in a loop that is not recursive");
    return this.#recurse(over, this.#depth + 1);
  }

  override printed(): string {
    return `<LoopContext ${this.#index + 1}/${this.#count()}>`;
  }

  attribute(name: string): Value | undefined {
    switch (name) {
      case "index":
        return BigInt(this.#index + 1);
      case "index0":
        return BigInt(this.#index);
      case "first":
        return this.#index === 0;
      case "last":
        return this.#peek() === undefined;
      case "length":
        return BigInt(this.#count());
      case "revindex":
        return BigInt(this.#count() - this.#index);
      case "revindex0":
        return BigInt(this.#count() - this.#index - 1);
      case "previtem":
        return this.#before === undefined ? new Undefined("there is no previous item") : this.#before;
      case "nextitem": {
        const next = this.#peek();
        return next === undefined ? new Undefined("there is no next item") : next;
      }
      case "depth":
        return BigInt(this.#depth + 1);
      case "depth0":
        return BigInt(this.#depth);
      case "cycle":
        return new Callable("cycle", (args) => this.#cycle(args));
      case "changed":
        return new Callable("changed", (args) => this.#hasChanged(args));
      default:
        return undefined;
    }
  }

  #peek(): Value | undefined {
    if (this.#after === undefined) {
      const { done, value } = this.#iterator.next();
      if (done !== true) this.#after = value;
    }
    return this.#after;
  }

  #count(): number {
    if (this.#length === null) {
      const rest = [...this.#rest()];
      this.#iterator = rest[Symbol.iterator]();
      this.#length = this.#index + 1 + (this.#after === undefined ? 0 : 1) + rest.length;
    }
    return this.#length;
  }

  *#rest(): Generator<Value> {
    for (;;) {
      const { done, value } = this.#iterator.next();
      if (done === true) return;
      yield value;
    }
  }

  #cycle(args: Arguments): Value {
    const values = bindPositional("cycle", args, 1, Infinity);
    return values[this.#index % values.length] ?? null;
  }

  #hasChanged(args: Arguments): boolean {
    const value = new Tuple(bindPositional("changed", args, 0, Infinity));
    if (this.#changed !== undefined && equal(this.#changed, value)) return false;
    this.#changed = value;
    return true;
  }
}
