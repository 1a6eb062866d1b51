/** `value.name` and `value[key]`, as jinja2's immutable sandbox looks them up. */
import { bindPositional } from "./arguments.ts";
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import { type FieldAccess, formatMethod } from "../python/format-method.ts";
import { equal } from "../python/operators.ts";
import { repr } from "../python/printing.ts";
import { subscript } from "../python/sequences.ts";
import { mappedArguments, TEXT_METHODS, UNSUPPORTED_TEXT_METHODS } from "../python/text-methods.ts";
import {
  type Arguments,
  Callable,
  Dict,
  DictView,
  Instance,
  isList,
  Markup,
  Namespace,
  sequenceItems,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "../values.ts";

/** Methods that the sandbox hides from templates, because they change their object. */
const CHANGING: Readonly<Record<"list" | "dict", readonly string[]>> = {
  list: ["append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"],
  dict: ["clear", "pop", "popitem", "setdefault", "update"],
};
/** Attributes of Python's objects that templates hardly ever read. */
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  int: ["as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "imag", "is_integer"],
  float: ["as_integer_ratio", "conjugate", "fromhex", "hex", "imag", "is_integer", "real"],
  dict: ["fromkeys"],
  range: ["start", "stop", "step", "count", "index"],
  dict_keys: ["isdisjoint", "mapping"],
  dict_items: ["isdisjoint", "mapping"],
  dict_values: ["mapping"],
  generator: ["send", "throw", "close"],
  function: ["name", "arguments", "caller", "catch_kwargs", "catch_varargs", "explicit_caller"],
};

/** `value.name`: an attribute, else an element of that name, else undefined. */
export function getAttribute(value: Value, name: string): Value {
  const own = ownAttribute(value, name);
  const found = own === undefined ? subscript(value, name) : own;
  return found === undefined ? absent(value, name) : found;
}

/** `value[key]`: an element, else an attribute of that name, else undefined. */
export function getElement(value: Value, key: Value): Value {
  let found = subscript(value, key);
  if (found === undefined && typeof key === "string") found = ownAttribute(value, key);
  return found === undefined ? absent(value, key) : found;
}

/** Fields of a format are looked up like the rest of a template. */
const FIELDS: FieldAccess = { attribute: getAttribute, element: getElement };

function absent(value: Value, key: Value): Undefined {
  const what = value === null ? "None" : `a ${typeName(value)}`;
  return new Undefined(`${what} has no ${typeof key === "string" ? `attribute ${repr(key)}` : `element ${repr(key)}`}`);
}

/** An attribute that Python's object itself has. */
export function ownAttribute(value: Value, name: string): Value | undefined {
  if (value instanceof Undefined) return value.fail();
  if (value instanceof Namespace) return value.attributes.get(name);
  if (name.startsWith("_")) return undefined;
  if (typeof value === "string") return textMethod(value, name);
  if (value instanceof Dict) return dictMethod(value, name) ?? unsupported(value, name);
  if (isList(value) || value instanceof Tuple) return sequenceMethod(value, name);
  if (value instanceof Instance) return value.attribute(name);
  if (value instanceof Markup) throw new TemplateUnsupported(`.${name} of a text marked as safe is not implemented`);
  if (typeof value === "boolean" && (UNSUPPORTED["int"]?.includes(name) ?? false)) return unsupported(0n, name);
  return unsupported(value, name);
}

function unsupported(value: Value, name: string): undefined {
  const type = typeName(value);
  if (
    UNSUPPORTED[type]?.includes(name) === true ||
    (type === "int" && ["numerator", "real", "to_bytes"].includes(name))
  ) {
    throw new TemplateUnsupported(`.${name} of a ${type} is not implemented`);
  }
  return undefined;
}

function unsafe(type: string, name: string): Undefined {
  return new Undefined(`access to attribute '${name}' of '${type}' object is unsafe`);
}

function textMethod(text: string, name: string): Value | undefined {
  const method = TEXT_METHODS.get(name);
  if (method !== undefined) return new Callable(name, (args) => method(text, args));
  if (name === "format") return new Callable(name, (args) => formatMethod(text, args, FIELDS));
  if (name === "format_map") return new Callable(name, (args) => formatMethod(text, mappedArguments(args), FIELDS));
  if (UNSUPPORTED_TEXT_METHODS.includes(name)) throw new TemplateUnsupported(`str.${name} is not implemented`);
  return undefined;
}

function dictMethod(dict: Dict, name: string): Value | undefined {
  switch (name) {
    case "get":
      return new Callable(name, (args) => {
        const [key = null, otherwise = null] = bindPositional(name, args, 1, 2);
        const found = dict.get(key);
        return found === undefined ? otherwise : found;
      });
    case "keys":
    case "values":
    case "items":
      return new Callable(name, (args) => {
        bindPositional(name, args, 0, 0);
        return new DictView(name, dict);
      });
    case "copy":
      return new Callable(name, (args) => {
        bindPositional(name, args, 0, 0);
        return dict;
      });
    default:
      return CHANGING.dict.includes(name) ? unsafe("dict", name) : undefined;
  }
}

function sequenceMethod(sequence: Value, name: string): Value | undefined {
  const elements = sequenceItems(sequence) ?? [];
  if (name === "count") {
    return new Callable(name, (args) => {
      const [wanted = null] = bindPositional(name, args, 1, 1);
      return BigInt(elements.filter((item) => equal(item, wanted)).length);
    });
  }
  if (name === "index") return new Callable(name, (args) => indexOf(elements, args));
  if (sequence instanceof Tuple) {
    const field = sequence.fields.indexOf(name);
    return field < 0 ? undefined : elements[field];
  }
  if (name === "copy") return new Callable(name, () => sequence);
  return CHANGING.list.includes(name) ? unsafe("list", name) : undefined;
}

function indexOf(elements: readonly Value[], args: Arguments): Value {
  const [wanted = null, start = 0n, end = BigInt(elements.length)] = bindPositional("index", args, 1, 3);
  if (typeof start !== "bigint" || typeof end !== "bigint") throw new TemplateFailure("index wants ints as bounds");
  const place = (at: bigint): number => Math.max(Number(at < 0n ? at + BigInt(elements.length) : at), 0);
  const found = elements.findIndex((item, at) => at >= place(start) && at < place(end) && equal(item, wanted));
  if (found < 0) throw new TemplateFailure(`index: ${repr(wanted)} is not in the list`);
  return BigInt(found);
}

/** `value(...)`. */
export function callValue(value: Value, args: Arguments): Value {
  if (value instanceof Callable || value instanceof Instance) return value.call(args);
  if (value instanceof Undefined) return value.fail();
  throw new TemplateFailure(`a ${typeName(value)} is called, which is no function`);
}

export function isCallable(value: Value): boolean {
  // Python's Undefined has `__call__`, which fails.
  return value instanceof Callable || value instanceof Undefined || (value instanceof Instance && value.isCallable);
}
