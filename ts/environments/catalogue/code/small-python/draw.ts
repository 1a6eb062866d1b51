/** Draws programs of the small Python whose statements matter: without most of them another text is printed. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { runProgram } from "./run.ts";
import { type Comparison, type Expression, name, number, operation, type Program, type Statement } from "./syntax.ts";

export interface Shape {
  readonly variables: number;
  /** Loops within loops. */
  readonly depth: number;
  /** Statements of a block. */
  readonly length: number;
  readonly hasList: boolean;
  readonly hasText: boolean;
}

interface Scope {
  readonly numbers: readonly string[];
  /** Loop variables that may be read. */
  readonly counters: readonly string[];
  readonly list: string | null;
  readonly text: string | null;
  readonly isLoop: boolean;
}

const NAMES = "abcdefghkmnpqrstuvwxyz";
const COUNTERS = ["i", "j", "o"];
const COMPARISONS: readonly Comparison[] = ["<", "<=", ">", ">=", "==", "!="];
const LETTERS = ["ab", "xyz", "no", "pqr", "st"];
/** Share of the statements without which the output changes. */
const LEAST_LIVE = 0.8;

/** Null where a name has no value, or a number gets too large. */
export function drawProgram(rng: Rng, shape: Shape): Program {
  const names = sample(NAMES, shape.variables + 2, rng);
  const numbers = names.slice(0, shape.variables);
  const scope: Scope = {
    numbers,
    counters: [],
    list: shape.hasList ? at(names, shape.variables) : null,
    text: shape.hasText ? at(names, shape.variables + 1) : null,
    isLoop: false,
  };
  const start: Statement[] = numbers.map((called) => ({ do: "set", name: called, to: number(between(rng, 0, 9)) }));
  if (scope.list !== null)
    start.push({ do: "list", name: scope.list, values: range(between(rng, 3, 5)).map(() => between(rng, 0, 9)) });
  if (scope.text !== null) start.push({ do: "set", name: scope.text, to: { text: rng.pick(LETTERS) } });
  const values = [
    ...numbers,
    ...(scope.list === null ? [] : [scope.list]),
    ...(scope.text === null ? [] : [scope.text]),
  ];
  const last: Statement = { do: "print", values: values.map(name) };
  return [...start, loop(rng, shape, scope, 0), ...block(rng, { ...shape, length: 1 }, scope, shape.depth), last];
}

/** Whether most statements matter for the output. */
export function isLive(program: Program): boolean {
  const right = runProgram(program)?.printed.join("\n");
  const shorter = deletions(program);
  const live = shorter.filter((one) => runProgram(one)?.printed.join("\n") !== right);
  return right !== undefined && live.length >= LEAST_LIVE * shorter.length;
}

/** The programs with one statement less. */
export function deletions(program: Program): Program[] {
  return program.flatMap((statement, index) => {
    const replaced = (instead: Statement): Program => program.map((one, place) => (place === index ? instead : one));
    const inner =
      statement.do === "if"
        ? [
            ...deletions(statement.holds).map((holds) => replaced({ ...statement, holds })),
            ...deletions(statement.fails).map((fails) => replaced({ ...statement, fails })),
          ]
        : "body" in statement
          ? deletions(statement.body).map((body) => replaced({ ...statement, body }))
          : [];
    return [program.filter((_, place) => place !== index), ...inner];
  });
}

function block(rng: Rng, shape: Shape, scope: Scope, depth: number): Statement[] {
  const nested = depth < shape.depth && depth > 0 ? [loop(rng, shape, scope, depth)] : [];
  const plain = range(shape.length).map(() => (rng.integer(3) === 0 ? branch(rng, scope) : simple(rng, scope)));
  return rng.integer(2) === 0 ? [...plain, ...nested] : [...nested, ...plain];
}

function loop(rng: Rng, shape: Shape, scope: Scope, depth: number): Statement {
  const counter = at(COUNTERS, depth);
  const inner = { ...scope, counters: [...scope.counters, counter], isLoop: true };
  const body = (): Statement[] => block(rng, shape, inner, depth + 1);
  if (scope.list !== null && depth === 0 && rng.integer(3) === 0)
    return { do: "for", name: counter, from: number(0), to: { length: scope.list }, step: 1, body: body() };
  if (rng.integer(4) === 0)
    return {
      do: "for",
      name: counter,
      from: number(between(rng, 5, 9)),
      to: number(between(rng, 0, 2)),
      step: -between(rng, 1, 2),
      body: body(),
    };
  const from = between(rng, 0, 3);
  const ends =
    scope.counters.length > 0 && rng.integer(2) === 0
      ? operation(name(at(scope.counters, 0)), "+", number(between(rng, 1, 3)))
      : null;
  return {
    do: "for",
    name: counter,
    from: number(from),
    to: ends ?? number(from + between(rng, 3, 6)),
    step: between(rng, 1, 2),
    body: body(),
  };
}

function branch(rng: Rng, scope: Scope): Statement {
  const test = {
    left: operation(operand(rng, scope), "%", number(between(rng, 2, 4))),
    is: rng.pick(["==", "!=", "<", ">"] as const),
    right: number(rng.integer(2)),
  };
  const other = { left: operand(rng, scope), is: rng.pick(COMPARISONS.slice(0, 4)), right: operand(rng, scope) };
  const chosen = rng.integer(3) === 0 ? other : test;
  const jump: Statement[] = scope.isLoop && rng.integer(5) === 0 ? [{ do: rng.pick(["break", "continue"]) }] : [];
  return {
    do: "if",
    test: chosen,
    holds: [simple(rng, scope), ...jump],
    fails: rng.integer(2) === 0 ? [simple(rng, scope)] : [],
  };
}

function simple(rng: Rng, scope: Scope): Statement {
  const { list, text } = scope;
  const kind = rng.integer(8);
  if (kind === 0 && list !== null)
    return { do: "put", list, index: operation(operand(rng, scope), "%", { length: list }), to: value(rng, scope) };
  if (kind === 1 && list !== null && scope.isLoop)
    return { do: "append", list, value: operation(value(rng, scope), "%", number(between(rng, 5, 12))) };
  if (kind <= 2 && text !== null) {
    const letter: Expression = { of: text, index: operation(operand(rng, scope), "%", { length: text }) };
    const added = rng.integer(2) === 0 ? operation(name(text), "+", letter) : operation(letter, "+", name(text));
    return { do: "set", name: text, to: rng.integer(5) === 0 ? { reversed: text } : added };
  }
  if (kind === 3 && scope.isLoop) return { do: "print", values: sample(scope.numbers, 2, rng).map(name) };
  return { do: "set", name: rng.pick(scope.numbers), to: value(rng, scope) };
}

/** A number that depends on several names and stays small. */
function value(rng: Rng, scope: Scope): Expression {
  const [a, b] = [operand(rng, scope), operand(rng, scope)];
  const small = number(between(rng, 2, 7));
  switch (rng.integer(6)) {
    case 0:
      // A number less itself is no work for a reader.
      return operation(a, "-", JSON.stringify(a) === JSON.stringify(b) ? small : b);
    case 1:
      return operation(operation(a, "*", small), "%", number(between(rng, 11, 29)));
    case 2:
      return operation(operation(a, "+", small), "//", number(2));
    case 3:
      return operation(operation(operation(a, "*", small), "-", b), "%", number(between(rng, 7, 19)));
    default:
      return operation(a, "+", b);
  }
}

function operand(rng: Rng, { numbers, counters, list }: Scope): Expression {
  const counter = counters.length > 0 && rng.integer(3) === 0;
  if (counter) return name(rng.pick(counters));
  if (list !== null && rng.integer(5) === 0)
    return {
      of: list,
      index: operation(name(rng.pick(counters.length > 0 ? counters : numbers)), "%", { length: list }),
    };
  return name(rng.pick(numbers));
}
