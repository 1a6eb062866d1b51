/** `is`: the tests of jinja2. */
import { bindPositional } from "../compile/arguments.ts";
import { isCallable } from "../compile/attributes.ts";
import { TemplateFailure } from "../failures.ts";
import { TEXT_TESTS } from "../python/letter-case.ts";
import { binary, contains, equal, ordered, type OrderOperator } from "../python/operators.ts";
import { str } from "../python/printing.ts";
import { isIterable, lengthOrNull } from "../python/sequences.ts";
import { type Arguments, Dict, DictView, Markup, Undefined, type Value } from "../values.ts";

export type Test = (value: Value, args: Arguments) => boolean;

const alone =
  (test: (value: Value) => boolean): Test =>
  (value, args) => {
    bindPositional("the test", args, 0, 0);
    return test(value);
  };

const against =
  (test: (value: Value, other: Value) => boolean): Test =>
  (value, args) => {
    const [other = null] = bindPositional("the test", args, 1, 1);
    return test(value, other);
  };

const order = (operator: OrderOperator): Test => against((value, other) => ordered(operator, value, other));
const rest = (value: Value, by: Value): Value => binary("%", value, by);
const differs = against((value, other) => !equal(value, other));
const same = against(equal);

/** Equal ints and texts count as the same object; newly made values do not. */
function isSame(value: Value, other: Value): boolean {
  if (typeof value !== typeof other) return false;
  return value === other || (value instanceof Undefined && other instanceof Undefined && value === other);
}

function isSequence(value: Value): boolean {
  return lengthOrNull(value) !== null && !(value instanceof DictView);
}

const isInt = (value: Value): boolean => typeof value === "bigint";
const isFloat = (value: Value): boolean => typeof value === "number";
const isText = (value: Value): boolean => typeof value === "string" || value instanceof Markup;

const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ["odd", alone((value) => equal(rest(value, 2n), 1n))],
  ["even", alone((value) => equal(rest(value, 2n), 0n))],
  ["divisibleby", against((value, by) => equal(rest(value, by), 0n))],
  ["defined", alone((value) => !(value instanceof Undefined))],
  ["undefined", alone((value) => value instanceof Undefined)],
  ["none", alone((value) => value === null)],
  ["boolean", alone((value) => typeof value === "boolean")],
  ["false", alone((value) => value === false)],
  ["true", alone((value) => value === true)],
  ["integer", alone(isInt)],
  ["float", alone(isFloat)],
  ["number", alone((value) => isInt(value) || isFloat(value) || typeof value === "boolean")],
  ["string", alone(isText)],
  ["mapping", alone((value) => value instanceof Dict)],
  ["sequence", alone(isSequence)],
  ["iterable", alone(isIterable)],
  ["callable", alone(isCallable)],
  ["sameas", against(isSame)],
  ["escaped", alone((value) => value instanceof Markup)],
  ["lower", alone((value) => TEXT_TESTS["islower"]?.(str(value)) ?? false)],
  ["upper", alone((value) => TEXT_TESTS["isupper"]?.(str(value)) ?? false)],
  ["in", against((value, container) => contains(container, value))],
  ...["==", "eq", "equalto"].map((name): [string, Test] => [name, same]),
  ...["!=", "ne"].map((name): [string, Test] => [name, differs]),
  ...["<", "lt", "lessthan"].map((name): [string, Test] => [name, order("<")]),
  ...["<=", "le"].map((name): [string, Test] => [name, order("<=")]),
  ...[">", "gt", "greaterthan"].map((name): [string, Test] => [name, order(">")]),
  ...[">=", "ge"].map((name): [string, Test] => [name, order(">=")]),
]);

/** Tests that ask for names; the templates' compiler answers them. */
export const NAME_TESTS: readonly string[] = ["filter", "test"];

export function isTestName(name: string): boolean {
  return TESTS.has(name) || NAME_TESTS.includes(name);
}

export function findTest(name: string): Test {
  const test = TESTS.get(name);
  if (test === undefined) throw new TemplateFailure(`there is no test named '${name}'`);
  return test;
}
