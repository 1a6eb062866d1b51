/** Runs programs of a language. */
import { Stackless } from "../../stackless.ts";
import type { Language, Rules } from "./language.ts";
import { type Block, type Expression, type Operator, parsed, type Statement } from "./syntax.ts";

/** A program that is not worth drawing: it takes too long or its numbers grow too large. */
export class Excess extends Stackless {}

class Failure extends Stackless {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

class Returned extends Stackless {
  readonly value: number;
  constructor(value: number) {
    super();
    this.value = value;
  }
}

const MOST_STEPS = 3_000;
const LARGEST = 1e9;

interface Scope {
  readonly values: Map<string, number>;
  readonly outer: Scope | null;
  /** The outermost scope of a call. */
  readonly isCall: boolean;
}

/** The lines that the program shows; an error is the last of them. Throws Excess. */
export function shownBy(language: Language, text: string): string[] {
  return shownByTree(language, parsed(language, text));
}

/** Throws Excess. */
export function shownByTree(language: Language, program: Block): string[] {
  const machine = new Machine(language.rules);
  try {
    machine.execute(program, machine.global);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    machine.lines.push(`! ${error.code}`);
  }
  return machine.lines;
}

class Machine {
  readonly lines: string[] = [];
  readonly global: Scope = { values: new Map(), outer: null, isCall: true };
  private readonly rules: Rules;
  private readonly functions = new Map<string, { parameters: readonly string[]; body: Block }>();
  private steps = 0;

  constructor(rules: Rules) {
    this.rules = rules;
  }

  execute(block: Block, scope: Scope): void {
    for (const statement of block) {
      this.steps += 1;
      if (this.steps > MOST_STEPS) throw new Excess("steps");
      this.step(statement, scope);
    }
  }

  private inside(block: Block, scope: Scope): void {
    this.execute(block, this.rules.blocks ? { values: new Map(), outer: scope, isCall: false } : scope);
  }

  private step(one: Statement, scope: Scope): void {
    switch (one.do) {
      case "set":
        return this.assign(one.name, this.valueOf(one.to, scope), scope);
      case "show":
        this.lines.push(String(this.valueOf(one.value, scope)));
        return;
      case "return":
        throw new Returned(this.valueOf(one.value, scope));
      case "fail":
        throw new Failure(String(this.valueOf(one.value, scope)));
      case "if":
        return this.inside(this.isTrue(this.valueOf(one.test, scope)) ? one.holds : one.fails, scope);
      case "repeat":
        return this.repeat(one.test, one.body, scope);
      case "while":
        return this.loop(one.test, one.body, scope);
      case "define":
        this.functions.set(one.name, one);
        return;
      case "attempt":
        return this.attempt(one.body, one.rescue, scope);
    }
  }

  private repeat(count: Expression, body: Block, scope: Scope): void {
    let most = this.valueOf(count, scope);
    for (let round = 0; round < most; round++) {
      this.inside(body, scope);
      if (this.rules.repeat === "again") most = this.valueOf(count, scope);
    }
  }

  private loop(test: Expression, body: Block, scope: Scope): void {
    for (let round = 0; this.isTrue(this.valueOf(test, scope)); round++) {
      if (round === this.rules.most) {
        if (this.rules.atMost === "error") throw new Failure("loop");
        return;
      }
      this.inside(body, scope);
    }
  }

  private attempt(body: Block, rescue: Block, scope: Scope): void {
    const saved = scopesOf(scope, this.global).map(({ values }) => [values, new Map(values)] as const);
    try {
      this.inside(body, scope);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (this.rules.undo)
        for (const [values, before] of saved) {
          values.clear();
          for (const [name, value] of before) values.set(name, value);
        }
      this.inside(rescue, scope);
    }
  }

  private assign(name: string, value: number, scope: Scope): void {
    for (let place: Scope | null = scope; place !== null; place = place.outer) {
      if (place.values.has(name)) {
        place.values.set(name, value);
        return;
      }
      if (place.isCall && this.rules.assign === "own") break;
    }
    scope.values.set(name, value);
  }

  private valueOf(one: Expression, scope: Scope): number {
    if ("number" in one) return one.number;
    if ("name" in one) return this.lookUp(one.name, scope);
    if ("tell" in one) {
      const value = this.valueOf(one.tell, scope);
      this.lines.push(String(value));
      return value;
    }
    if ("call" in one) return this.call(one.call, one.values, scope);
    if (one.op === "and" || one.op === "or") return this.decide(one.op, one.left, one.right, scope);
    const [a, b] = this.both([one.left, one.right], scope);
    return this.ranged(this.operate(one.op, a ?? 0, b ?? 0));
  }

  private both(values: readonly Expression[], scope: Scope): number[] {
    if (this.rules.order === "left") return values.map((value) => this.valueOf(value, scope));
    return values
      .toReversed()
      .map((value) => this.valueOf(value, scope))
      .toReversed();
  }

  /** `and` and `or` begin with their first operand unless both are computed and the order is from the right. */
  private decide(op: "and" | "or", first: Expression, second: Expression, scope: Scope): number {
    const { logic, logicValue } = this.rules;
    const settles = (value: number): boolean => this.isTrue(value) === (op === "or");
    let result: number;
    if (logic === "both") {
      const [a = 0, b = 0] = this.both([first, second], scope);
      result = settles(a) ? a : b;
    } else {
      const a = this.valueOf(first, scope);
      result = settles(a) ? a : this.valueOf(second, scope);
    }
    return logicValue === "operand" ? result : Number(this.isTrue(result));
  }

  private operate(op: Operator, a: number, b: number): number {
    switch (op) {
      case "+":
        return a + b;
      case "-":
        return a - b;
      case "*":
        return a * b;
      case "<":
        return Number(a < b);
      case "=":
        return Number(a === b);
      default: {
        if (b === 0) throw new Failure("zero");
        const quotient = this.rules.division === "down" ? Math.floor(a / b) : Math.trunc(a / b);
        // Adding 0 turns -0 into 0.
        return op === "/" ? quotient + 0 : a - b * quotient;
      }
    }
  }

  private ranged(value: number): number {
    const { range, largest } = this.rules;
    if (Math.abs(value) > LARGEST) throw new Excess("a large number");
    if (range === "none" || Math.abs(value) <= largest) return value + 0;
    if (range === "stop") return Math.sign(value) * largest;
    const size = 2 * largest + 1;
    return ((((value + largest) % size) + size) % size) - largest;
  }

  private isTrue(value: number): boolean {
    if (this.rules.truth === "nonzero") return value !== 0;
    return this.rules.truth === "positive" ? value > 0 : value % 2 !== 0;
  }

  private lookUp(name: string, scope: Scope): number {
    for (let place: Scope | null = scope; place !== null; place = place.outer) {
      const value = place.values.get(name);
      if (value !== undefined) return value;
    }
    if (this.rules.unknown === "error") throw new Failure("name");
    return this.rules.unknown === "less" ? -1 : 0;
  }

  private call(name: string, values: readonly Expression[], scope: Scope): number {
    const found = this.functions.get(name);
    const given = this.both(values, scope);
    if (found === undefined) throw new Failure("call");
    const { parameters, body } = found;
    if (this.rules.arity === "error" && given.length !== parameters.length) throw new Failure("count");
    const outer = this.rules.sight === "caller" ? scope : this.global;
    const own: Scope = { values: new Map(), outer, isCall: true };
    for (const [index, parameter] of parameters.entries()) own.values.set(parameter, given[index] ?? 0);
    let result = 0;
    try {
      this.execute(body, own);
    } catch (error) {
      if (!(error instanceof Returned)) throw error;
      result = error.value;
    }
    if (this.rules.passing === "back")
      for (const [index, parameter] of parameters.entries()) {
        const value = values[index];
        if (value !== undefined && "name" in value) this.assign(value.name, own.values.get(parameter) ?? 0, scope);
      }
    return result;
  }
}

/** All scopes that a statement here can change, and the global one. */
function scopesOf(scope: Scope, global: Scope): Scope[] {
  const found = new Set<Scope>([global]);
  for (let place: Scope | null = scope; place !== null; place = place.outer) found.add(place);
  return [...found];
}
