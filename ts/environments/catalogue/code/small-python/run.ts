/**
 * Runs programs of the small Python as Python does: floor division, remainders with the sign of the divisor, ranges that are fixed when a loop
 * begins. A program that reads a name without a value, leaves a list, or takes too many steps fails.
 */
import { Stackless } from "../../stackless.ts";
import { calculated, compared } from "./operators.ts";
import type { Expression, Operator, Program, Statement, Test } from "./syntax.ts";

export type Value = number | string | number[];

export interface Run {
  readonly printed: readonly string[];
  /** Executed statements, and rounds of loops. */
  readonly steps: number;
  /** How often each statement was executed; of a loop, how often it was reached. */
  readonly counts: ReadonlyMap<Statement, number>;
  readonly values: ReadonlyMap<string, Value>;
}

export interface RunOptions {
  readonly values?: Readonly<Record<string, Value>>;
  readonly mostSteps?: number;
  /** Sees the state before the test of each `while`, also before the one that fails. */
  readonly atTest?: (values: ReadonlyMap<string, Value>) => void;
}

type Signal = "next" | "break" | "continue";

const MOST_STEPS = 3_000;
const LARGEST = 1e9;
const LONGEST = 60;

class Failed extends Stackless {}

/** Null where the program fails. */
export function runProgram(
  program: Program,
  { values = {}, mostSteps = MOST_STEPS, atTest }: RunOptions = {},
): Run | null {
  const machine = new Machine(values, mostSteps, atTest);
  try {
    machine.block(program);
  } catch (error) {
    if (error instanceof Failed) return null;
    throw error;
  }
  return machine;
}

class Machine {
  readonly printed: string[] = [];
  readonly counts = new Map<Statement, number>();
  readonly values: Map<string, Value>;
  steps = 0;
  readonly #mostSteps: number;
  readonly #atTest: RunOptions["atTest"];

  constructor(values: Readonly<Record<string, Value>>, mostSteps: number, atTest: RunOptions["atTest"]) {
    this.values = new Map(
      Object.entries(values).map(([key, value]) => [key, Array.isArray(value) ? [...value] : value]),
    );
    this.#mostSteps = mostSteps;
    this.#atTest = atTest;
  }

  block(program: Program): Signal {
    for (const statement of program) {
      this.#step();
      this.counts.set(statement, (this.counts.get(statement) ?? 0) + 1);
      const signal = this.#execute(statement);
      if (signal !== "next") return signal;
    }
    return "next";
  }

  #step(): void {
    this.steps += 1;
    if (this.steps > this.#mostSteps) throw new Failed();
  }

  #execute(statement: Statement): Signal {
    switch (statement.do) {
      case "set":
        this.#set(statement.name, this.#value(statement.to));
        return "next";
      case "list":
        this.values.set(statement.name, [...statement.values]);
        return "next";
      case "put": {
        const list = this.#list(statement.list);
        const index = this.#index(statement.index, list.length);
        list[index] = this.#number(statement.to);
        return "next";
      }
      case "append": {
        const list = this.#list(statement.list);
        if (list.push(this.#number(statement.value)) > LONGEST) throw new Failed();
        return "next";
      }
      case "print":
        this.printed.push(statement.values.map((value) => shown(this.#value(value))).join(" "));
        return "next";
      case "if":
        return this.block(this.#holds(statement.test) ? statement.holds : statement.fails);
      case "break":
      case "continue":
        return statement.do;
      default:
        this.#loop(statement);
        return "next";
    }
  }

  #loop(statement: Extract<Statement, { body: Program }>): void {
    if (statement.do === "while") {
      for (;;) {
        this.#atTest?.(this.values);
        if (!this.#holds(statement.test) || this.#round(statement.body)) return;
      }
    }
    if (statement.do === "each") {
      const list = this.#list(statement.list);
      for (let index = 0; index < list.length; index++) {
        this.#set(statement.name, list[index] ?? 0);
        if (this.#round(statement.body)) return;
      }
      return;
    }
    const [from, to] = [this.#number(statement.from), this.#number(statement.to)];
    for (let value = from; statement.step > 0 ? value < to : value > to; value += statement.step) {
      this.#set(statement.name, value);
      if (this.#round(statement.body)) return;
    }
  }

  /** Whether the loop ends. */
  #round(body: Program): boolean {
    this.#step();
    return this.block(body) === "break";
  }

  #set(name: string, value: Value): void {
    if (typeof value === "number" && Math.abs(value) > LARGEST) throw new Failed();
    if (typeof value === "string" && value.length > LONGEST) throw new Failed();
    this.values.set(name, value);
  }

  #holds({ left, is, right }: Test): boolean {
    const [a, b] = [this.#value(left), this.#value(right)];
    if (is === "==") return a === b;
    if (is === "!=") return a !== b;
    if (typeof a !== "number" || typeof b !== "number") throw new Failed();
    return compared(a, is, b);
  }

  #value(expression: Expression): Value {
    if ("number" in expression) return expression.number;
    if ("text" in expression) return expression.text;
    if ("name" in expression) return this.#named(expression.name);
    if ("length" in expression) {
      const value = this.#named(expression.length);
      if (typeof value === "number") throw new Failed();
      return value.length;
    }
    if ("reversed" in expression) {
      const value = this.#named(expression.reversed);
      if (typeof value !== "string") throw new Failed();
      return value.split("").reverse().join("");
    }
    if ("of" in expression) {
      const whole = this.#named(expression.of);
      if (typeof whole === "number") throw new Failed();
      const item = whole[this.#index(expression.index, whole.length)];
      if (item === undefined) throw new Failed();
      return item;
    }
    return resultOf(this.#value(expression.left), expression.op, this.#value(expression.right));
  }

  #named(name: string): Value {
    const value = this.values.get(name);
    if (value === undefined) throw new Failed();
    return value;
  }

  #number(expression: Expression): number {
    const value = this.#value(expression);
    if (typeof value !== "number") throw new Failed();
    return value;
  }

  #list(name: string): number[] {
    const value = this.values.get(name);
    if (!Array.isArray(value)) throw new Failed();
    return value;
  }

  #index(expression: Expression, length: number): number {
    const index = this.#number(expression);
    if (index < 0 || index >= length) throw new Failed();
    return index;
  }
}

function resultOf(a: Value, op: Operator, b: Value): Value {
  if (typeof a === "string" && typeof b === "string" && op === "+") return a + b;
  if (typeof a === "string" && typeof b === "number" && op === "*" && a.length * b <= LONGEST)
    return a.repeat(Math.max(0, b));
  if (typeof a !== "number" || typeof b !== "number") throw new Failed();
  if ((op === "//" || op === "%") && b === 0) throw new Failed();
  const value = calculated(a, op, b);
  // -0 is 0 in Python.
  return value === 0 ? 0 : value;
}

function shown(value: Value): string {
  return Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
}
