/** Expressions of a Python text, parsed into functions that evaluate them. */
import { BUILT_INS, builtInMethod, callOf } from "./built-ins.ts";
import { type Frame, instanceOf, lambdaFrame, spend } from "./frame.ts";
import { type Token, Tokens, tokensOf } from "./tokens.ts";
import {
  Class,
  holds,
  Instance,
  isTrue,
  itemAt,
  itemsOf,
  keyOf,
  operate,
  raised,
  textOf,
  type Value,
} from "./values.ts";

export type Evaluate = (frame: Frame) => Value;

/** What may stand on the left of `=`. */
export interface Target {
  readonly set: (frame: Frame, value: Value) => void;
}

interface Parsed {
  readonly get: Evaluate;
  readonly target?: Target["set"];
}

const COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in", "is", "not"];
const LEVELS = [
  ["+", "-"],
  ["*", "//", "%"],
] as const;

/** One expression, or several with commas between them, which are a list. */
export function expressions(tokens: Tokens): Parsed {
  const first = parsed(tokens);
  if (!tokens.is(",")) return first;
  const all = [first];
  while (tokens.accept(",")) all.push(parsed(tokens));
  const get: Evaluate = (frame) => all.map((one) => one.get(frame));
  const targets = all.flatMap(({ target }) => (target === undefined ? [] : [target]));
  return targets.length === all.length ? { get, target: unpacking(targets) } : { get };
}

export function expression(tokens: Tokens): Evaluate {
  return parsed(tokens).get;
}

export function asTarget({ target }: Parsed): Target["set"] {
  if (target === undefined) throw new SyntaxError("nothing can be assigned to this");
  return target;
}

/** Names after `for`. */
export function loopTarget(tokens: Tokens): Target["set"] {
  const names = [nameTarget(tokens.expectKind("name"))];
  while (tokens.accept(",")) names.push(nameTarget(tokens.expectKind("name")));
  const [only] = names;
  return only !== undefined && names.length === 1 ? only : unpacking(names);
}

function nameTarget(name: string): Target["set"] {
  return ({ locals }, value) => void locals.set(name, value);
}

function unpacking(targets: readonly Target["set"][]): Target["set"] {
  return (frame, value) => {
    const items = itemsOf(value);
    if (items.length !== targets.length) throw raised("ValueError");
    for (const [index, target] of targets.entries()) target(frame, items[index] ?? null);
  };
}

function parsed(tokens: Tokens): Parsed {
  if (tokens.accept("lambda")) return { get: lambda(tokens) };
  const value = either(tokens);
  if (!tokens.accept("if")) return value;
  const test = either(tokens).get;
  tokens.expect("else");
  const otherwise = expression(tokens);
  return { get: (frame) => (isTrue(test(frame)) ? value.get(frame) : otherwise(frame)) };
}

function lambda(tokens: Tokens): Evaluate {
  const names: string[] = [];
  while (!tokens.accept(":")) {
    names.push(tokens.expectKind("name"));
    tokens.accept(",");
  }
  const body = expression(tokens);
  return (frame) => ({ call: ({ values }) => body(lambdaFrame(frame, names, values)) });
}

function either(tokens: Tokens): Parsed {
  const left = both(tokens);
  if (!tokens.is("or")) return left;
  const all = [left.get];
  while (tokens.accept("or")) all.push(both(tokens).get);
  return { get: (frame) => firstThat(all, frame, true) };
}

function both(tokens: Tokens): Parsed {
  const left = inverted(tokens);
  if (!tokens.is("and")) return left;
  const all = [left.get];
  while (tokens.accept("and")) all.push(inverted(tokens).get);
  return { get: (frame) => firstThat(all, frame, false) };
}

/** The first value that is true or not, as wanted, else the last one. */
function firstThat(all: readonly Evaluate[], frame: Frame, wanted: boolean): Value {
  let value: Value = null;
  for (const one of all) {
    value = one(frame);
    if (isTrue(value) === wanted) return value;
  }
  return value;
}

function inverted(tokens: Tokens): Parsed {
  if (!tokens.accept("not")) return comparison(tokens);
  const { get } = inverted(tokens);
  return { get: (frame) => !isTrue(get(frame)) };
}

function comparison(tokens: Tokens): Parsed {
  const first = sum(tokens, 0);
  const links: { sign: string; get: Evaluate }[] = [];
  while (COMPARISONS.some((sign) => tokens.is(sign))) {
    let sign = tokens.take().text;
    if (sign === "not") {
      tokens.expect("in");
      sign = "not in";
    }
    if (sign === "is" && tokens.accept("not")) sign = "is not";
    links.push({ sign, get: sum(tokens, 0).get });
  }
  const [only] = links;
  if (only === undefined) return first;
  return {
    get(frame) {
      let left = first.get(frame);
      return links.every(({ sign, get }) => {
        const right = get(frame);
        const is = holds(sign, left, right);
        left = right;
        return is;
      });
    },
  };
}

function sum(tokens: Tokens, level: number): Parsed {
  const signs: readonly string[] | undefined = LEVELS[level];
  if (signs === undefined) return unary(tokens);
  let left = sum(tokens, level + 1);
  while (tokens.next.kind === "sign" && signs.includes(tokens.next.text)) {
    const sign = tokens.take().text;
    const [before, after] = [left.get, sum(tokens, level + 1).get];
    left = { get: (frame) => operate(sign, before(frame), after(frame)) };
  }
  return left;
}

function unary(tokens: Tokens): Parsed {
  if (!tokens.accept("-")) return postfix(tokens);
  const { get } = unary(tokens);
  return { get: (frame) => operate("-", 0, get(frame)) };
}

function postfix(tokens: Tokens): Parsed {
  let of = atom(tokens);
  for (;;) {
    if (tokens.accept(".")) of = attribute(of.get, tokens.expectKind("name"));
    else if (tokens.accept("(")) of = { get: call(of.get, tokens) };
    else if (tokens.accept("[")) of = subscript(of.get, tokens);
    else return of;
  }
}

function attribute(of: Evaluate, name: string): Parsed {
  return {
    get: (frame) => member(of(frame), name),
    target(frame, value) {
      const self = of(frame);
      if (!(self instanceof Instance)) throw raised("AttributeError");
      self.fields.set(name, value);
    },
  };
}

function member(self: Value, name: string): Value {
  if (self instanceof Instance) {
    const field = self.fields.get(name);
    if (field !== undefined) return field;
    const method = self.is.member(name);
    if (method === undefined) throw raised("AttributeError");
    const run = callOf(method);
    return { call: ({ values, named }) => run({ values: [self, ...values], named }) };
  }
  const run = builtInMethod(self, name);
  if (run === undefined) throw raised("AttributeError");
  return { call: run };
}

function call(of: Evaluate, tokens: Tokens): Evaluate {
  const values: Evaluate[] = [];
  const named: [string, Evaluate][] = [];
  while (!tokens.accept(")")) {
    const one = parsed(tokens);
    if (tokens.accept("=")) named.push([wordOf(one), expression(tokens)]);
    else values.push(tokens.is("for") ? comprehension(one.get, tokens) : one.get);
    tokens.accept(",");
  }
  return (frame) => {
    const callee = of(frame);
    const args = {
      values: values.map((value) => value(frame)),
      named: new Map(named.map(([name, value]) => [name, value(frame)])),
    };
    return callee instanceof Class ? instanceOf(callee, args) : callOf(callee)(args);
  };
}

const WORDS = new WeakMap<Parsed, string>();

/** The name that an argument has before `=`. */
function wordOf(one: Parsed): string {
  const word = WORDS.get(one);
  if (word === undefined) throw new SyntaxError("an argument has no name");
  return word;
}

function subscript(of: Evaluate, tokens: Tokens): Parsed {
  const from = tokens.is(":") ? null : expression(tokens);
  if (tokens.accept("]")) {
    if (from === null) throw new SyntaxError("an index is missing");
    return {
      get: (frame) => itemAt(of(frame), from(frame)),
      target(frame, value) {
        const self = of(frame);
        const index = from(frame);
        if (self instanceof Map) self.set(keyOf(index), value);
        else if (Array.isArray(self) && typeof index === "number" && index in self) self[index] = value;
        else throw raised("TypeError");
      },
    };
  }
  tokens.expect(":");
  const to = tokens.is("]") ? null : expression(tokens);
  tokens.expect("]");
  return {
    get(frame) {
      const self = of(frame);
      if (typeof self !== "string" && !Array.isArray(self)) throw raised("TypeError");
      const [first, last] = [from?.(frame) ?? 0, to?.(frame) ?? self.length];
      if (typeof first !== "number" || typeof last !== "number") throw raised("TypeError");
      return self.slice(first, last);
    },
  };
}

function atom(tokens: Tokens): Parsed {
  const token = tokens.take();
  if (token.kind === "number") return constant(Number(token.text));
  if (token.kind === "text") return constant(JSON.parse(token.text) as string);
  if (token.kind === "format") return { get: formatted(token.text.slice(2, -1)) };
  if (token.kind === "name") return named(token);
  if (token.text === "(") return grouped(tokens);
  if (token.text === "[") return { get: list(tokens) };
  if (token.text === "{") return { get: dictionary(tokens) };
  throw new SyntaxError(`no expression begins with ${JSON.stringify(token)}`);
}

function constant(value: null | boolean | number | string): Parsed {
  return { get: () => value };
}

function named({ text }: Token): Parsed {
  if (text === "None") return constant(null);
  if (text === "True" || text === "False") return constant(text === "True");
  const found: Parsed = {
    get({ locals, globals }) {
      for (const names of [locals, globals, BUILT_INS]) {
        const value = names.get(text);
        if (value !== undefined) return value;
      }
      throw raised("NameError");
    },
    target: nameTarget(text),
  };
  WORDS.set(found, text);
  return found;
}

function grouped(tokens: Tokens): Parsed {
  const inner = expressions(tokens);
  tokens.expect(")");
  return { get: inner.get };
}

function list(tokens: Tokens): Evaluate {
  const items: Evaluate[] = [];
  while (!tokens.accept("]")) {
    const one = expression(tokens);
    if (tokens.is("for")) {
      const made = comprehension(one, tokens);
      tokens.expect("]");
      return made;
    }
    items.push(one);
    tokens.accept(",");
  }
  return (frame) => items.map((item) => item(frame));
}

function comprehension(value: Evaluate, tokens: Tokens): Evaluate {
  const { each } = loop(tokens);
  return (frame) => each(frame, value);
}

function loop(tokens: Tokens): { each: (frame: Frame, value: Evaluate) => Value[] } {
  tokens.expect("for");
  const target = loopTarget(tokens);
  tokens.expect("in");
  const all = either(tokens).get;
  const tests: Evaluate[] = [];
  while (tokens.accept("if")) tests.push(either(tokens).get);
  return {
    each(frame, value) {
      const made: Value[] = [];
      for (const item of itemsOf(all(frame))) {
        spend(frame);
        target(frame, item);
        if (tests.every((test) => isTrue(test(frame)))) made.push(value(frame));
      }
      return made;
    },
  };
}

function dictionary(tokens: Tokens): Evaluate {
  const pairs: [Evaluate, Evaluate][] = [];
  while (!tokens.accept("}")) {
    const key = expression(tokens);
    tokens.expect(":");
    const value = expression(tokens);
    if (tokens.is("for")) {
      const { each } = loop(tokens);
      tokens.expect("}");
      return (frame) =>
        new Map(
          each(frame, (inner) => [key(inner), value(inner)]).map((pair) => [keyOf(itemAt(pair, 0)), itemAt(pair, 1)]),
        );
    }
    pairs.push([key, value]);
    tokens.accept(",");
  }
  return (frame) => new Map(pairs.map(([key, value]) => [keyOf(key(frame)), value(frame)]));
}

/** The inside of an f-string: texts and expressions in braces. */
function formatted(inside: string): Evaluate {
  const parts = inside.split(/\{([^{}]*)\}/u).map((part, index): Evaluate => {
    if (index % 2 === 0) return constant(JSON.parse(`"${part}"`) as string).get;
    return expression(new Tokens(tokensOf(part)));
  });
  return (frame) => parts.map((part) => textOf(part(frame))).join("");
}
