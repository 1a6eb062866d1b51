/** Runs a service: its files as one program, over tables that outlive the program. */
import { Stackless } from "../../stackless.ts";
import { type Expression, type Module, parseModule, type Routine, type Statement } from "./syntax.ts";

export type Value = number | string | boolean | null | readonly Value[];

/** Tables by name; of each, values by key in the order in which keys came. */
export type Tables = Map<string, Map<string | number, Value>>;

/** A request that the service did not answer. */
export class Fault extends Stackless {}

/** Statements and expressions of one request. */
const MOST_STEPS = 20_000;
const DEEPEST_CALL = 30;
/** Blocks and expressions within each other, over all open calls: this process runs them on its own stack. */
const DEEPEST = 400;
const LARGEST = 1e12;
const LONGEST = 200;
const MOST_KEYS = 5_000;

interface Returned {
  readonly value: Value;
}

export type Program = readonly Module[];

/** Throws NotSource. */
export function programOf(sources: readonly string[]): Program {
  return sources.map((source) => parseModule(source));
}

/** A program with its tables. */
export class Service {
  readonly #routines = new Map<string, Routine>();
  readonly #constants = new Map<string, Value>();
  readonly #tables: Tables;
  readonly #minute: () => number;
  #steps = 0;
  #depth = 0;
  #nested = 0;

  /** Throws Fault where a constant has no value. */
  constructor(program: Program, tables: Tables, minute: () => number) {
    this.#tables = tables;
    this.#minute = minute;
    for (const module of program) {
      for (const [name, routine] of module.routines) this.#routines.set(name, routine);
      for (const [name, value] of module.constants) this.#constants.set(name, this.#value(value, new Map()));
    }
  }

  /** Throws Fault where the program fails or does not end. */
  call(name: string, args: readonly Value[]): Value {
    this.#steps = 0;
    this.#depth = 0;
    this.#nested = 0;
    return this.#call(name, args);
  }

  #call(name: string, args: readonly Value[]): Value {
    const built = this.#builtIn(name, args);
    if (built !== undefined) return built;
    const routine = this.#routines.get(name);
    if (routine === undefined) throw new Fault(`there is no function ${name}`);
    if (routine.parameters.length !== args.length) throw new Fault(`${name} takes ${routine.parameters.length} values`);
    if (this.#depth >= DEEPEST_CALL) throw new Fault("too many calls within calls");
    this.#depth += 1;
    const scope = new Map(routine.parameters.map((parameter, index) => [parameter, args[index] ?? null] as const));
    const returned = this.#block(routine.body, scope);
    this.#depth -= 1;
    return returned?.value ?? null;
  }

  #block(body: readonly Statement[], scope: Map<string, Value>): Returned | null {
    this.#enter();
    let returned: Returned | null = null;
    for (const statement of body) {
      returned = this.#run(statement, scope);
      if (returned !== null) break;
    }
    this.#nested -= 1;
    return returned;
  }

  #enter(): void {
    this.#nested += 1;
    if (this.#nested > DEEPEST) throw new Fault("too much within each other");
  }

  #run(statement: Statement, scope: Map<string, Value>): Returned | null {
    this.#spend(1);
    switch (statement.do) {
      case "set":
        scope.set(statement.name, this.#value(statement.to, scope));
        return null;
      case "call":
        this.#value(statement.call, scope);
        return null;
      case "return":
        return { value: this.#value(statement.value, scope) };
      case "if":
        return this.#block(holds(this.#value(statement.test, scope)) ? statement.holds : statement.or, scope);
      case "while":
        while (holds(this.#value(statement.test, scope))) {
          this.#spend(1);
          const returned = this.#block(statement.body, scope);
          if (returned !== null) return returned;
        }
        return null;
      default:
        return null;
    }
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MOST_STEPS) throw new Fault("the program does not end");
  }

  #value(expression: Expression, scope: ReadonlyMap<string, Value>): Value {
    this.#spend(1);
    this.#enter();
    const value = this.#valueOf(expression, scope);
    this.#nested -= 1;
    return value;
  }

  #valueOf(expression: Expression, scope: ReadonlyMap<string, Value>): Value {
    switch (expression.is) {
      case "value":
        return expression.value;
      case "name": {
        const found = scope.get(expression.name) ?? this.#constants.get(expression.name);
        if (found !== undefined) return found;
        if (scope.has(expression.name) || this.#constants.has(expression.name)) return null;
        throw new Fault(`the name ${expression.name} has no value`);
      }
      case "list":
        return bundled(expression.items.map((item) => this.#value(item, scope)));
      case "call":
        return this.#call(
          expression.name,
          expression.args.map((arg) => this.#value(arg, scope)),
        );
      case "item":
        return itemOf(this.#value(expression.of, scope), this.#value(expression.index, scope));
      case "not":
        return !holds(this.#value(expression.of, scope));
      case "minus":
        return bounded(-whole(this.#value(expression.of, scope)));
      default:
        return this.#both(expression, scope);
    }
  }

  #both(expression: Expression & { readonly is: "both" }, scope: ReadonlyMap<string, Value>): Value {
    const left = this.#value(expression.left, scope);
    if (expression.op === "and") return holds(left) ? this.#value(expression.right, scope) : left;
    if (expression.op === "or") return holds(left) ? left : this.#value(expression.right, scope);
    const right = this.#value(expression.right, scope);
    if (expression.op === "==") return isEqual(left, right);
    if (expression.op === "!=") return !isEqual(left, right);
    if (expression.op === "+" && typeof left === "string" && typeof right === "string") return shortened(left + right);
    return arithmetic(expression.op, whole(left), whole(right));
  }

  /** Undefined where the name is none of these. */
  #builtIn(name: string, args: readonly Value[]): Value | undefined {
    const [first = null, second = null, third = null] = args;
    switch (name) {
      case "now":
        return this.#minute();
      case "get":
        return this.#table(first).get(keyOf(second)) ?? null;
      case "put": {
        const table = this.#table(first);
        if (table.size >= MOST_KEYS) throw new Fault("the table is full");
        table.set(keyOf(second), third);
        return null;
      }
      case "drop":
        this.#table(first).delete(keyOf(second));
        return null;
      case "size":
        return this.#table(first).size;
      case "oldest":
        return this.#table(first).keys().next().value ?? null;
      case "newest": {
        const table = this.#table(first);
        this.#spend(table.size);
        return [...table.keys()].at(-1) ?? null;
      }
      default:
        return undefined;
    }
  }

  #table(name: Value): Map<string | number, Value> {
    if (typeof name !== "string" || name.length > LONGEST) throw new Fault("a table has a text as its name");
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    if (this.#tables.size >= LONGEST) throw new Fault("there are too many tables");
    const made = new Map<string | number, Value>();
    this.#tables.set(name, made);
    return made;
  }
}

function keyOf(value: Value): string | number {
  if (typeof value === "number" || typeof value === "string") return value;
  throw new Fault("a key is a number or a text");
}

function holds(value: Value): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function isEqual(left: Value, right: Value): boolean {
  return Array.isArray(left) ? JSON.stringify(left) === JSON.stringify(right) : left === right;
}

function whole(value: Value): number {
  if (typeof value === "number") return value;
  throw new Fault(`${JSON.stringify(value)} is no number`);
}

function itemOf(of: Value, index: Value): Value {
  if (!Array.isArray(of)) throw new Fault("only lists have items");
  const found = (of as readonly Value[])[whole(index)];
  if (found === undefined) throw new Fault(`the list has no item ${whole(index)}`);
  return found;
}

function bounded(value: number): number {
  if (Math.abs(value) <= LARGEST) return value;
  throw new Fault("a number gets too large");
}

/** A list with few values in it, those of its lists included: an answer shows all of them. */
function bundled(items: readonly Value[]): Value {
  if (sizeOf(items) <= LONGEST) return items;
  throw new Fault("a list gets too long");
}

function sizeOf(value: Value): number {
  return Array.isArray(value) ? (value as readonly Value[]).reduce((sum: number, item) => sum + sizeOf(item), 1) : 1;
}

function shortened(text: string): string {
  if (text.length <= LONGEST) return text;
  throw new Fault("a text gets too long");
}

function arithmetic(op: string, left: number, right: number): Value {
  switch (op) {
    case "+":
      return bounded(left + right);
    case "-":
      return bounded(left - right);
    case "*":
      return bounded(left * right);
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    case ">=":
      return left >= right;
    default: {
      if (right === 0) throw new Fault("division by zero");
      const quotient = Math.floor(left / right);
      return op === "//" ? quotient : left - quotient * right;
    }
  }
}
