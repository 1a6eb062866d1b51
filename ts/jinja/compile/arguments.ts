/** Binds the arguments of a call to the parameters of a function. */
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import { type Arguments, Markup, typeName, Undefined, type Value } from "../values.ts";

export const NO_ARGUMENTS: Arguments = { positional: [], named: new Map() };

/** One value per parameter, undefined where none is given; the first `required` must be. */
export function bind(
  name: string,
  args: Arguments,
  parameters: readonly string[],
  required = 0,
): (Value | undefined)[] {
  if (args.positional.length > parameters.length) {
    throw new TemplateFailure(`${name} takes ${parameters.length} arguments, not ${args.positional.length}`);
  }
  const values = parameters.map((_, index) => args.positional[index]);
  for (const [key, value] of args.named) {
    const index = parameters.indexOf(key);
    if (index < 0) throw new TemplateFailure(`${name} has no argument '${key}'`);
    if (index < args.positional.length) throw new TemplateFailure(`${name} has two values for '${key}'`);
    values[index] = value;
  }
  const missing = values.findIndex((value, index) => value === undefined && index < required);
  if (missing >= 0) throw new TemplateFailure(`${name} wants an argument '${parameters[missing] ?? ""}'`);
  return values;
}

/** Binds arguments without names, which most methods of Python's types take. */
export function bindPositional(name: string, args: Arguments, least: number, most: number): readonly Value[] {
  if (args.named.size > 0) throw new TemplateFailure(`${name} takes no named arguments`);
  const count = args.positional.length;
  if (count < least || count > most) throw new TemplateFailure(`${name} does not take ${count} arguments`);
  return args.positional;
}

export function toText(name: string, value: Value | undefined): string {
  if (value instanceof Undefined) return value.fail();
  if (typeof value === "string") return value;
  if (value instanceof Markup) throw new TemplateUnsupported(`${name} of a text marked as safe is not implemented`);
  throw new TemplateFailure(`${name} wants a text, not a ${typeName(value ?? null)}`);
}

/** A number that fits an index; a bool counts as an int. */
export function toInt(name: string, value: Value | undefined): number {
  if (value instanceof Undefined) return value.fail();
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "bigint" && BigInt.asIntN(53, value) === value) return Number(value);
  throw new TemplateFailure(`${name} wants an int, not a ${typeName(value ?? null)}`);
}

export function intOr(name: string, value: Value | undefined, otherwise: number): number {
  return value === undefined ? otherwise : toInt(name, value);
}
