/** Functions of a few whole numbers with nested branches, and the functions that one changed token makes of them. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import { calculated, compared } from "../small-python/operators.ts";
import {
  type Comparison,
  type Expression,
  linesOfProgram,
  name,
  number,
  operation,
  type Operator,
  type Program,
  type Statement,
  type Test,
} from "../small-python/syntax.ts";

export interface Branchy {
  parameters: string[];
  /** Arguments are whole numbers from 0 to this one. */
  largest: number;
  /** Computes `r`. */
  body: Program;
}

const SIGNS: readonly Operator[] = ["+", "-", "*", "//", "%"];
const COMPARISONS: readonly Comparison[] = ["<", "<=", ">", ">=", "==", "!="];

export function drawBranchy(rng: Rng, parameterCount: number, branches: number, largest: number): Branchy {
  const parameters = "abcd".slice(0, parameterCount).split("");
  const two = (): [Expression, Expression] => {
    const [one = "a", other = "b"] = sample(parameters, 2, rng);
    return [name(one), name(other)];
  };
  const term = (): Expression => {
    const [one, other] = two();
    switch (rng.integer(4)) {
      case 0:
        return operation(one, rng.pick(["+", "-"] as const), other);
      case 1:
        return operation(one, "*", number(between(rng, 2, 4)));
      default:
        return operation(one, rng.pick(["+", "-"] as const), number(between(rng, 1, 9)));
    }
  };
  const test = (): Test => {
    const kind = rng.integer(4);
    if (kind === 0)
      return {
        left: operation(name(rng.pick(parameters)), "%", number(between(rng, 2, 5))),
        is: rng.pick(["==", "!="] as const),
        right: number(rng.integer(2)),
      };
    const [one, other] = two();
    const left = kind === 1 ? operation(one, rng.pick(["+", "-"] as const), other) : one;
    return {
      left,
      is: rng.pick(["<", "<=", ">", ">="] as const),
      right: kind === 2 ? other : number(between(rng, 2, largest - 2)),
    };
  };
  const change = (): Statement =>
    rng.integer(3) === 0
      ? { do: "set", name: "r", to: operation(name("r"), rng.pick(["+", "-"] as const), name(rng.pick(parameters))) }
      : {
          do: "set",
          name: "r",
          to: operation(name("r"), rng.pick(["+", "-", "*"] as const), number(between(rng, 2, 7))),
        };
  const branch = (left: number): Statement[] => {
    if (left <= 0) return [];
    const inner = left > 1 && rng.integer(2) === 0 ? Math.min(left - 1, between(rng, 1, 2)) : 0;
    const holds = inner > 0 ? [...branch(inner), change()] : [change()];
    const fails = rng.integer(3) > 0 ? [change()] : [];
    return [{ do: "if", test: test(), holds, fails }, ...branch(left - 1 - inner)];
  };
  return { parameters, largest, body: [{ do: "set", name: "r", to: term() }, ...branch(branches)] };
}

/** Values of names while a function runs. */
export type Values = Record<string, number>;

/** The result; null where the function divides by 0. `visit` sees each executed statement. */
export function resultOf(
  { parameters }: Branchy,
  body: Program,
  inputs: readonly number[],
  visit?: (statement: Statement) => void,
): number | null {
  const values: Values = {};
  for (const [index, one] of parameters.entries()) values[one] = at(inputs, index);
  execute(body, values, visit);
  const result = values["r"] ?? Number.NaN;
  return Number.isNaN(result) ? null : result;
}

/** Runs assignments and branches. A division by 0 gives NaN, which every later result shows. */
export function execute(body: Program, values: Values, visit?: (statement: Statement) => void): void {
  for (const statement of body) {
    visit?.(statement);
    if (statement.do === "set") values[statement.name] = valueOf(statement.to, values);
    else if (statement.do === "if")
      execute(isTrue(statement.test, values) ? statement.holds : statement.fails, values, visit);
  }
}

export function isTrue({ left, is, right }: Test, values: Values): boolean {
  const [a, b] = [valueOf(left, values), valueOf(right, values)];
  if (Number.isNaN(a) || Number.isNaN(b)) values["r"] = Number.NaN;
  return compared(a, is, b);
}

function valueOf(expression: Expression, values: Values): number {
  if ("number" in expression) return expression.number;
  if ("name" in expression) return values[expression.name] ?? Number.NaN;
  if (!("op" in expression)) return Number.NaN;
  const [a, b] = [valueOf(expression.left, values), valueOf(expression.right, values)];
  const value = calculated(a, expression.op, b);
  return Number.isFinite(value) ? value : Number.NaN;
}

export function branchySource({ parameters }: Branchy, body: Program): string {
  return [`def f(${parameters.join(", ")}):`, ...linesOfProgram(body, undefined, "    "), "    return r"].join("\n");
}

/** The source with numbers of lines, which begin at 1. */
export function numberedSource(one: Branchy, body: Program): string {
  return branchySource(one, body)
    .split("\n")
    .map((line, index) => `${String(index + 1).padStart(2)}  ${line}`)
    .join("\n");
}

export function drawInputs({ parameters, largest }: Branchy, rng: Rng): number[] {
  return parameters.map(() => rng.integer(largest + 1));
}

/** Inputs of an untrusted line such as "3 0 12" or "f(3, 0, 12)"; null where they are not in range. */
export function inputsIn({ parameters, largest }: Branchy, text: string): number[] | null {
  const bare = text.replace(/^f?\(([^()]*)\)$/u, "$1").trim();
  if (!/^\d{1,4}(?:(?:\s*,\s*|\s+)\d{1,4})*$/u.test(bare)) return null;
  const inputs = bare.split(/\s*,\s*|\s+/u).map(Number);
  return inputs.length === parameters.length && inputs.every((value) => value <= largest) ? inputs : null;
}

/** A function with one changed token. */
export interface Edit {
  /** From 1 with the head of the function. */
  line: number;
  /** How the line reads after the change. */
  text: string;
  program: Program;
}

/** All changes of one comparison, sign, number or parameter, perhaps of one line only. `numbers` gives the other numbers. */
export function editsOf(
  body: Program,
  parameters: readonly string[],
  numbers: (value: number) => readonly number[],
  only?: number,
): Edit[] {
  const edits: Edit[] = [];
  let line = 1;
  const visit = (block: Program, rebuilt: (block: Program) => Program): void => {
    for (const [index, statement] of block.entries()) {
      line += 1;
      const replaced = (other: Statement): Program =>
        rebuilt(block.map((one, place) => (place === index ? other : one)));
      if (only === undefined || only === line)
        for (const other of changed(statement, parameters, numbers)) {
          const [head = ""] = linesOfProgram([other.do === "if" ? { ...other, holds: [], fails: [] } : other]);
          edits.push({ line, text: head, program: replaced(other) });
        }
      if (statement.do !== "if") continue;
      visit(statement.holds, (holding) => replaced({ ...statement, holds: holding }));
      if (statement.fails.length > 0) line += 1;
      visit(statement.fails, (failing) => replaced({ ...statement, fails: failing }));
    }
  };
  visit(body, (block) => block);
  return edits;
}

function changed(
  statement: Statement,
  parameters: readonly string[],
  numbers: (value: number) => readonly number[],
): Statement[] {
  const inside = (expression: Expression): Expression[] => {
    if ("number" in expression)
      return numbers(expression.number)
        .filter((one) => one !== expression.number)
        .map(number);
    if ("name" in expression)
      return expression.name === "r" ? [] : parameters.filter((one) => one !== expression.name).map(name);
    if (!("op" in expression)) return [];
    const { left, op, right } = expression;
    return [
      ...SIGNS.filter((one) => one !== op).map((one) => operation(left, one, right)),
      ...inside(left).map((one) => operation(one, op, right)),
      ...inside(right).map((one) => operation(left, op, one)),
    ];
  };
  if (statement.do === "set") return inside(statement.to).map((to) => ({ ...statement, to }));
  if (statement.do !== "if") return [];
  const { test } = statement;
  const tests: Test[] = [
    ...COMPARISONS.filter((is) => is !== test.is).map((is) => ({ ...test, is })),
    ...inside(test.left).map((left) => ({ ...test, left })),
    ...inside(test.right).map((right) => ({ ...test, right })),
  ];
  return tests.map((one) => ({ ...statement, test: one }));
}

/** The line of the function, from 1. */
export function lineOf(one: Branchy, body: Program, line: number): string {
  return (branchySource(one, body).split("\n")[line - 1] ?? "").trim();
}
