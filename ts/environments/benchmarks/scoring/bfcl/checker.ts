/**
 * Whether calls are among the possible answers, by the rules of BFCL's checker (bfcl-eval 2026.3.23, Python functions).
 *
 * A parameter's possible answers are a list; "" in it means that the parameter may be left out. Some rules look odd and count all the same: a type
 * may differ from the declared one when the possible answers have it, and items of lists are checked one level deep.
 */
import { PrlError } from "../../../../errors.ts";
import type { ExactJson } from "../../../../verify/internal.ts";
import { equal, includes, type PythonType, standard, typeOf } from "./values.ts";

/** A function that may be called. */
export interface FunctionType {
  readonly name: string;
  readonly required: readonly string[];
  readonly parameters: Readonly<Record<string, { readonly type: string; readonly items?: string }>>;
}

export interface Call {
  readonly name: string;
  readonly args: ReadonlyMap<string, ExactJson>;
}

export type Category = "simple" | "multiple" | "parallel" | "parallel_multiple";

type Answer = ReadonlyMap<string, ExactJson>;

const TYPES: Readonly<Record<string, PythonType>> = {
  string: "str",
  integer: "int",
  float: "float",
  boolean: "bool",
  array: "list",
  tuple: "list",
  dict: "dict",
  any: "str",
};

/** @param answers one `{function: {parameter: [possible value, ...]}}` for each call. Errors: PRL_DATA_FORMAT for rows of another shape. */
export function isAnswer(
  category: Category,
  functions: readonly FunctionType[],
  calls: readonly Call[],
  answers: readonly ExactJson[],
): boolean {
  const expected = answers.map(expectedCall);
  const declared = (name: string): FunctionType => {
    const found = category === "simple" ? functions[0] : functions.find((one) => one.name === name);
    return found ?? wrong(`no function is named ${name}`);
  };
  if (calls.length !== expected.length) return false;
  const left = [...calls];
  // An answer takes the first call that fits; calls may come in any order.
  return expected.every(({ name, args }) => {
    const at = left.findIndex((call) => fits(declared(name), call, args));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

/** The name of a function as a model gets it: its API knows no dots. */
export function calledName(name: string): string {
  return name.replaceAll(".", "_");
}

function expectedCall(answer: ExactJson): { name: string; args: Answer } {
  const [entry] = answer instanceof Map ? answer : [];
  if (entry === undefined || !(entry[1] instanceof Map)) return wrong("a possible answer is no call");
  return { name: entry[0], args: entry[1] };
}

function fits({ name, required, parameters }: FunctionType, call: Call, answer: Answer): boolean {
  if (call.name !== calledName(name)) return false;
  if (!required.every((parameter) => call.args.has(parameter))) return false;
  for (const [parameter, value] of call.args) {
    const type = Object.hasOwn(parameters, parameter) ? parameters[parameter] : undefined;
    if (type === undefined || !answer.has(parameter)) return false;
    if (!isPossible(type, value, listed(answer.get(parameter)))) return false;
  }
  return [...answer].every(([parameter, values]) => call.args.has(parameter) || listed(values).includes(""));
}

function listed(values: ExactJson | undefined): readonly ExactJson[] {
  return Array.isArray(values) ? values : wrong("possible values are no list");
}

function isPossible(
  { type, items }: { type: string; items?: string },
  given: ExactJson,
  possible: readonly ExactJson[],
): boolean {
  const wanted = pythonType(type);
  const isList = type === "array" || type === "tuple";
  const inner = isList ? pythonType(items ?? "") : null;
  const value = type === "float" && typeof given === "bigint" ? Number(given) : given;
  const checked = checkType(value, possible, wanted, inner);
  if (checked === "wrong") return false;
  if (checked === "variable") return includes(possible, value);
  if (value instanceof Map) return isPossibleDict(value, possible);
  if (Array.isArray(value))
    return inner === "dict" ? isPossibleDicts(value, possible) : isPossibleList(value, possible);
  if (typeof value === "string")
    return includes(possible.filter((one) => typeof one === "string").map(standard), standard(value));
  return includes(possible, value);
}

function pythonType(type: string): PythonType {
  return TYPES[type] ?? wrong(`a parameter has the type ${JSON.stringify(type)}`);
}

/**
 * `variable`: the value has the type of the possible answers, which is not the declared one; then it is compared as it is. The checker takes the
 * type of the first possible answer that is not "".
 */
function checkType(
  value: ExactJson,
  possible: readonly ExactJson[],
  wanted: PythonType,
  inner: PythonType | null,
): "right" | "variable" | "wrong" {
  const first = possible.find((one) => one !== "");
  const answered = first === undefined ? null : typeOf(first);
  if (typeOf(value) === wanted) {
    const right = answered !== null && answered !== wanted ? "variable" : "right";
    if (inner === null) return right;
    const items = value as readonly ExactJson[];
    const isTyped = possible.some(
      (one) => !Array.isArray(one) || items.every((item) => checkType(item, one, inner, null) !== "wrong"),
    );
    return isTyped ? right : "wrong";
  }
  return answered !== null && typeOf(value) === answered ? "variable" : "wrong";
}

/** Items in their order, texts in their standard form. A possible answer that is a text is a list of its signs. */
function isPossibleList(value: readonly ExactJson[], possible: readonly ExactJson[]): boolean {
  const given = value.map(standard);
  return possible.some((one) => equal(itemsOf(one).map(standard), given));
}

function itemsOf(value: ExactJson): ExactJson[] {
  if (Array.isArray(value)) return value;
  return typeof value === "string" ? Array.from(value) : wrong("a possible list is no list");
}

function isPossibleDict(value: ReadonlyMap<string, ExactJson>, possible: readonly ExactJson[]): boolean {
  return possible.some((one) => {
    if (one === "") return false;
    if (!(one instanceof Map)) return wrong("a possible dictionary is none");
    const isGiven = [...value].every(([key, item]) => {
      const values = one.get(key);
      return values !== undefined && includes(itemsOf(values).map(standard), standard(item));
    });
    return isGiven && [...one].every(([key, values]) => value.has(key) || itemsOf(values).includes(""));
  });
}

function isPossibleDicts(value: readonly ExactJson[], possible: readonly ExactJson[]): boolean {
  return possible.some((one) => {
    const wanted = itemsOf(one);
    return (
      wanted.length === value.length &&
      value.every((item, at) => item instanceof Map && isPossibleDict(item, [wanted[at] ?? ""]))
    );
  });
}

function wrong(problem: string): never {
  throw new PrlError("PRL_DATA_FORMAT", `benchmark "bfcl": ${problem}`);
}
