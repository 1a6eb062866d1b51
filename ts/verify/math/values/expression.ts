/** The meaning of an answer, as a tree. Types and constructors only. */
import { integer, type Rational } from "./rational.ts";

/** The text between the items of a list; "," when there was no other. */
export type Joined = "," | "and" | "or";

export type RelationOperator = "=" | "<" | "<=" | ">" | ">=" | "!=" | "in" | "~";

export type Expression =
  /** `decimal`: written with a decimal point, so it may stand for something that was rounded. */
  | { readonly kind: "number"; readonly value: Rational; readonly decimal: boolean }
  /** Digits with a base, as in 101_2. */
  | { readonly kind: "based"; readonly digits: string; readonly base: number; readonly value: Rational }
  | { readonly kind: "symbol"; readonly name: string }
  | { readonly kind: "constant"; readonly name: "pi" | "e" | "i" | "infinity" }
  | { readonly kind: "sum"; readonly terms: readonly Expression[] }
  | { readonly kind: "product"; readonly factors: readonly Expression[] }
  | { readonly kind: "power"; readonly base: Expression; readonly exponent: Expression }
  | { readonly kind: "call"; readonly name: string; readonly args: readonly Expression[] }
  /** a ± b, both values. */
  | { readonly kind: "plusMinus"; readonly base: Expression; readonly offset: Expression }
  | { readonly kind: "percent"; readonly value: Expression }
  /** An angle in degrees. */
  | { readonly kind: "degrees"; readonly value: Expression }
  | { readonly kind: "quantity"; readonly value: Expression; readonly unit: string }
  | { readonly kind: "ratio"; readonly parts: readonly Expression[] }
  /** Words; lower case, single spaces. */
  | { readonly kind: "text"; readonly text: string }
  /** `brackets`: how it was written; "" is a bare list. Two items in round or square brackets may also be an interval. */
  | {
      readonly kind: "tuple";
      readonly items: readonly Expression[];
      readonly brackets: "()" | "[]" | "<>" | "";
      readonly joined: Joined;
    }
  | { readonly kind: "set"; readonly items: readonly Expression[] }
  | {
      readonly kind: "interval";
      readonly low: Expression;
      readonly high: Expression;
      readonly lowOpen: boolean;
      readonly highOpen: boolean;
    }
  | {
      readonly kind: "setOperation";
      readonly name: "union" | "intersection" | "difference";
      readonly of: readonly Expression[];
    }
  | { readonly kind: "numberSet"; readonly name: "R" | "empty" }
  | { readonly kind: "matrix"; readonly rows: readonly (readonly Expression[])[] }
  /** A chain: operators[i] stands between sides[i] and sides[i + 1]. */
  | {
      readonly kind: "relation";
      readonly sides: readonly Expression[];
      readonly operators: readonly RelationOperator[];
    };

export function number(value: Rational | bigint | number, decimal = false): Expression {
  return { kind: "number", value: typeof value === "object" ? value : integer(value), decimal };
}

export function sum(terms: readonly Expression[]): Expression {
  const [only] = terms;
  return terms.length === 1 && only !== undefined ? only : { kind: "sum", terms };
}

export function product(factors: readonly Expression[]): Expression {
  const [only] = factors;
  return factors.length === 1 && only !== undefined ? only : { kind: "product", factors };
}

export function negative(expression: Expression): Expression {
  if (expression.kind === "number") {
    const { numerator, denominator } = expression.value;
    return number({ numerator: -numerator, denominator }, expression.decimal);
  }
  return product([number(-1), expression]);
}

export function quotient(numerator: Expression, denominator: Expression): Expression {
  return product([numerator, { kind: "power", base: denominator, exponent: number(-1) }]);
}

export function call(name: string, ...args: Expression[]): Expression {
  return { kind: "call", name, args };
}

/** The expressions directly below one. */
export function children(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "sum":
      return expression.terms;
    case "product":
      return expression.factors;
    case "power":
      return [expression.base, expression.exponent];
    case "call":
      return expression.args;
    case "plusMinus":
      return [expression.base, expression.offset];
    case "percent":
    case "degrees":
    case "quantity":
      return [expression.value];
    case "ratio":
      return expression.parts;
    case "tuple":
    case "set":
      return expression.items;
    case "interval":
      return [expression.low, expression.high];
    case "setOperation":
      return expression.of;
    case "matrix":
      return expression.rows.flat();
    case "relation":
      return expression.sides;
    default:
      return [];
  }
}

/** Whether the tree holds a node that `test` accepts. */
export function some(expression: Expression, test: (node: Expression) => boolean): boolean {
  return test(expression) || children(expression).some((child) => some(child, test));
}

/** Whether both are the same to the letter. */
export function sameTree(a: Expression, b: Expression): boolean {
  if (a.kind !== b.kind) return false;
  const [left, right] = [children(a), children(b)];
  if (left.length !== right.length || own(a) !== own(b)) return false;
  return left.every((child, index) => right[index] !== undefined && sameTree(child, right[index]));
}

/** The values of a node beside its children. */
function own(node: Expression): string {
  switch (node.kind) {
    case "number":
    case "based":
      return `${node.value.numerator}/${node.value.denominator}`;
    case "symbol":
    case "constant":
    case "call":
    case "setOperation":
    case "numberSet":
      return node.name;
    case "text":
      return node.text;
    case "quantity":
      return node.unit;
    case "tuple":
      return `${node.brackets}${node.joined}`;
    case "interval":
      return `${node.lowOpen}${node.highOpen}`;
    case "relation":
      return node.operators.join(" ");
    case "matrix":
      return node.rows.map((row) => row.length).join(" ");
    default:
      return "";
  }
}

/** Names of its free symbols: not the variable of an integral or a limit, nor the index of a sum. */
export function symbolsOf(expression: Expression, names = new Set<string>()): Set<string> {
  if (expression.kind === "symbol") names.add(expression.name);
  const [body, variable, ...bounds] = expression.kind === "call" ? expression.args : [];
  if (body !== undefined && variable?.kind === "text") {
    for (const name of symbolsOf(body)) if (name !== variable.text) names.add(name);
    for (const one of bounds) symbolsOf(one, names);
  } else for (const child of children(expression)) symbolsOf(child, names);
  return names;
}

/** The tree with every symbol replaced. */
export function mapSymbols(expression: Expression, change: (name: string) => Expression): Expression {
  return mapLeaves(expression, (leaf) => (leaf.kind === "symbol" ? change(leaf.name) : leaf));
}

/** The tree with every node replaced that has none below it. */
export function mapLeaves(expression: Expression, change: (leaf: Expression) => Expression): Expression {
  return mapNodes(expression, (node) => (children(node).length === 0 ? change(node) : null));
}

/** The tree with every node replaced that `change` gives something for, which is not looked into. */
export function mapNodes(expression: Expression, change: (node: Expression) => Expression | null): Expression {
  const changed = change(expression);
  if (changed !== null) return changed;
  const go = (node: Expression): Expression => mapNodes(node, change);
  switch (expression.kind) {
    case "sum":
      return { ...expression, terms: expression.terms.map(go) };
    case "product":
      return { ...expression, factors: expression.factors.map(go) };
    case "power":
      return { ...expression, base: go(expression.base), exponent: go(expression.exponent) };
    case "call":
      return { ...expression, args: expression.args.map(go) };
    case "plusMinus":
      return { ...expression, base: go(expression.base), offset: go(expression.offset) };
    case "percent":
    case "degrees":
    case "quantity":
      return { ...expression, value: go(expression.value) };
    case "ratio":
      return { ...expression, parts: expression.parts.map(go) };
    case "tuple":
    case "set":
      return { ...expression, items: expression.items.map(go) };
    case "interval":
      return { ...expression, low: go(expression.low), high: go(expression.high) };
    case "setOperation":
      return { ...expression, of: expression.of.map(go) };
    case "matrix":
      return { ...expression, rows: expression.rows.map((row) => row.map(go)) };
    case "relation":
      return { ...expression, sides: expression.sides.map(go) };
    default:
      return expression;
  }
}

/** Values of the free symbols. */
export type Bindings<Value> = ReadonlyMap<string, Value>;

/** How to get the value of an argument; null when it has none. Functions are given it, so that they need not know the evaluator. */
export type Evaluate<Value> = (expression: Expression, bindings: Bindings<Value>) => Value | null;

/** Whether two expressions are equal answers. What compares parts is given it, so that it need not know the whole. */
export type Same = (gold: Expression, answer: Expression) => boolean;
