/** The functions that every template can call: jinja2's and those that transformers adds. */
import { bind, bindPositional, toText } from "./compile/arguments.ts";
import { TemplateFailure, TemplateUnsupported } from "./failures.ts";
import { str } from "./python/printing.ts";
import { items } from "./python/sequences.ts";
import { strftime } from "./python/strftime.ts";
import {
  type Arguments,
  Callable,
  Dict,
  Instance,
  Namespace,
  Range,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

/** The most elements that the sandbox lets a range have. */
const MAX_RANGE = 100_000;

function range(args: Arguments): Value {
  const given = bindPositional("range", args, 1, 3).map((value) => {
    if (value instanceof Undefined) return value.fail();
    if (typeof value === "boolean") return BigInt(value);
    if (typeof value !== "bigint") throw new TemplateFailure(`range wants ints, not a ${typeName(value)}`);
    return value;
  });
  const [first = 0n, second, step = 1n] = given;
  if (step === 0n) throw new TemplateFailure("range: the step must not be zero");
  const made = second === undefined ? new Range(0n, first, 1n) : new Range(first, second, step);
  if (made.length > MAX_RANGE) throw new TemplateFailure(`range is too big: ${MAX_RANGE} elements are the most`);
  return made;
}

/** `dict(mapping or pairs, name=value, ...)`. */
function dict(args: Arguments): Dict {
  if (args.positional.length > 1) throw new TemplateFailure("dict takes one argument without a name");
  const made = new Dict();
  const [from] = args.positional;
  if (from instanceof Dict) {
    for (const [key, value] of from.entries()) made.set(key, value);
  } else if (from !== undefined) {
    for (const pair of items(from)) {
      const [key, value, more] = [...items(pair)];
      if (key === undefined || value === undefined || more !== undefined) {
        throw new TemplateFailure("dict wants pairs of a key and a value");
      }
      made.set(key, value);
    }
  }
  for (const [key, value] of args.named) made.set(key, value);
  return made;
}

function namespace(args: Arguments): Value {
  const made = new Namespace();
  for (const [key, value] of dict(args).entries()) {
    setAttribute(made, toText("namespace", key), value);
  }
  return made;
}

/** `{% set namespace.name = value %}`. */
export function setAttribute(to: Namespace, name: string, value: Value): void {
  if (name.startsWith("_")) {
    throw new TemplateFailure(`a namespace has no attributes that begin with an underscore, got '${name}'`);
  }
  to.attributes.set(name, value);
}

class Cycler extends Instance {
  readonly type = "Cycler";
  readonly isCallable = false;
  readonly #values: readonly Value[];
  #at = 0;

  constructor(values: readonly Value[]) {
    super();
    this.#values = values;
  }

  attribute(name: string): Value | undefined {
    const current = this.#values[this.#at] ?? null;
    if (name === "current") return current;
    if (name === "next") {
      return new Callable(name, () => {
        const value = this.#values[this.#at] ?? null;
        this.#at = (this.#at + 1) % this.#values.length;
        return value;
      });
    }
    if (name === "reset") {
      return new Callable(name, () => {
        this.#at = 0;
        return null;
      });
    }
    return undefined;
  }
}

class Joiner extends Instance {
  readonly type = "Joiner";
  readonly isCallable = true;
  readonly #separator: Value;
  #isUsed = false;

  constructor(separator: Value) {
    super();
    this.#separator = separator;
  }

  attribute(name: string): Value | undefined {
    if (name === "sep") return this.#separator;
    return name === "used" ? this.#isUsed : undefined;
  }

  override call(args: Arguments): Value {
    bindPositional("joiner", args, 0, 0);
    const text = this.#isUsed ? this.#separator : "";
    this.#isUsed = true;
    return text;
  }
}

/** `now` gives the time that `strftime_now` writes. */
export function templateGlobals(now: () => Date): ReadonlyMap<string, Value> {
  const functions: Record<string, (args: Arguments) => Value> = {
    range,
    dict,
    namespace,
    cycler: (args) => new Cycler(bindPositional("cycler", args, 1, Infinity)),
    joiner: (args) => {
      const [separator = ", "] = bind("joiner", args, ["sep"]);
      return new Joiner(separator);
    },
    lipsum: () => {
      throw new TemplateUnsupported("lipsum, which makes random text, is not implemented");
    },
    raise_exception: (args) => {
      throw new TemplateFailure(str(bind("raise_exception", args, ["message"], 1)[0] ?? null));
    },
    strftime_now: (args) => strftime(now(), toText("strftime_now", bind("strftime_now", args, ["format"], 1)[0])),
  };
  return new Map(Object.entries(functions).map(([name, call]) => [name, new Callable(name, call)]));
}
