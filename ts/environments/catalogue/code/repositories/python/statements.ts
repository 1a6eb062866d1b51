/** Statements of a Python text, parsed into functions that carry them out. */
import { asTarget, type Evaluate, expression, expressions, loopTarget } from "./expressions.ts";
import { type Frame, instanceOf, spend } from "./frame.ts";
import { Tokens, tokensOf } from "./tokens.ts";
import { type Arguments, Class, Instance, isTrue, itemsOf, operate, Raised, raised, type Value } from "./values.ts";

/** What follows a statement, where it is not the next one. */
type After = "break" | "continue" | "return" | undefined;
export type Execute = (frame: Frame) => After;

/** Throws SyntaxError. */
export function moduleOf(source: string): Execute {
  const tokens = new Tokens(tokensOf(source));
  const body: Execute[] = [];
  while (tokens.next.kind !== "end") body.push(statement(tokens));
  return sequence(body);
}

function sequence(body: readonly Execute[]): Execute {
  return (frame) => {
    for (const one of body) {
      const after = one(frame);
      if (after !== undefined) return after;
    }
    return undefined;
  };
}

function block(tokens: Tokens): Execute {
  tokens.expect(":");
  tokens.expectKind("line");
  tokens.expectKind("indent");
  const body: Execute[] = [];
  while (tokens.next.kind !== "dedent") body.push(statement(tokens));
  tokens.expectKind("dedent");
  return sequence(body);
}

function statement(tokens: Tokens): Execute {
  if (tokens.accept("def")) return definition(tokens);
  if (tokens.accept("class")) return classOf(tokens);
  if (tokens.accept("if")) return branch(tokens);
  if (tokens.accept("for")) return forLoop(tokens);
  if (tokens.accept("while")) return whileLoop(tokens);
  if (tokens.accept("try")) return attempt(tokens);
  const done = simple(tokens);
  tokens.expectKind("line");
  return done;
}

function simple(tokens: Tokens): Execute {
  if (tokens.accept("pass")) return () => undefined;
  if (tokens.accept("break")) return () => "break";
  if (tokens.accept("continue")) return () => "continue";
  if (tokens.accept("return")) return returned(tokens.next.kind === "line" ? () => null : expressions(tokens).get);
  if (tokens.accept("raise")) return raising(expression(tokens));
  if (tokens.accept("from")) return imported(tokens);
  if (tokens.accept("assert")) return asserted(expression(tokens));
  const left = expressions(tokens);
  const sign = tokens.next.text;
  if (tokens.accept("=")) {
    const [set, value] = [asTarget(left), expressions(tokens).get];
    return (frame) => void set(frame, value(frame));
  }
  if (["+=", "-=", "*=", "//="].some((one) => tokens.accept(one))) {
    const [set, value] = [asTarget(left), expression(tokens)];
    return (frame) => void set(frame, operate(sign.slice(0, -1), left.get(frame), value(frame)));
  }
  return (frame) => void left.get(frame);
}

function returned(value: Evaluate): Execute {
  return (frame) => {
    frame.result = value(frame);
    return "return";
  };
}

function raising(value: Evaluate): Execute {
  return (frame) => {
    const error = value(frame);
    if (error instanceof Class) throw new Raised(instanceOf(error, { values: [], named: new Map() }));
    throw error instanceof Instance ? new Raised(error) : raised("TypeError");
  };
}

function asserted(value: Evaluate): Execute {
  return (frame) => {
    if (!isTrue(value(frame))) throw raised("Exception");
    return undefined;
  };
}

function imported(tokens: Tokens): Execute {
  let module = tokens.expectKind("name");
  while (tokens.accept(".")) module += `.${tokens.expectKind("name")}`;
  tokens.expect("import");
  const names: [name: string, as: string][] = [];
  do {
    const name = tokens.expectKind("name");
    names.push([name, tokens.accept("as") ? tokens.expectKind("name") : name]);
  } while (tokens.accept(","));
  return ({ machine, locals }) => {
    const from = machine.load(module);
    for (const [name, as] of names) {
      const value = from.get(name);
      if (value === undefined) throw raised("NameError");
      locals.set(as, value);
    }
    return undefined;
  };
}

interface Parameter {
  readonly name: string;
  readonly fallback: Evaluate | null;
}

function definition(tokens: Tokens): Execute {
  const name = tokens.expectKind("name");
  tokens.expect("(");
  const parameters: Parameter[] = [];
  while (!tokens.accept(")")) {
    const parameter = tokens.expectKind("name");
    parameters.push({ name: parameter, fallback: tokens.accept("=") ? expression(tokens) : null });
    tokens.accept(",");
  }
  const body = block(tokens);
  return (frame) => {
    const { locals, globals, machine, module } = frame;
    const called = `${module}:${name}`;
    const call = (args: Arguments): Value => {
      const inner: Frame = { locals: argumentsOf(parameters, args, frame), globals, machine, module, result: null };
      spend(inner);
      machine.depth += 1;
      machine.trace?.push({ called, depth: machine.depth });
      try {
        body(inner);
      } finally {
        machine.depth -= 1;
      }
      return inner.result;
    };
    locals.set(name, { call });
    return undefined;
  };
}

function argumentsOf(parameters: readonly Parameter[], args: Arguments, outer: Frame): Map<string, Value> {
  const locals = new Map<string, Value>();
  for (const [index, { name, fallback }] of parameters.entries()) {
    let given = index < args.values.length ? args.values[index] : args.named.get(name);
    if (given === undefined) given = fallback?.(outer);
    if (given === undefined) throw raised("TypeError");
    locals.set(name, given);
  }
  if (args.values.length > parameters.length) throw raised("TypeError");
  return locals;
}

function classOf(tokens: Tokens): Execute {
  const name = tokens.expectKind("name");
  let base: Evaluate | null = null;
  if (tokens.accept("(")) {
    base = expression(tokens);
    tokens.expect(")");
  }
  const body = block(tokens);
  return (frame) => {
    const members = new Map<string, Value>();
    body({ ...frame, locals: members });
    const above = base?.(frame);
    frame.locals.set(name, new Class(name, above instanceof Class ? above : null, members));
    return undefined;
  };
}

function branch(tokens: Tokens): Execute {
  const test = expression(tokens);
  const then = block(tokens);
  let otherwise: Execute | null = null;
  if (tokens.accept("elif")) otherwise = branch(tokens);
  else if (tokens.accept("else")) otherwise = block(tokens);
  return (frame) => (isTrue(test(frame)) ? then(frame) : otherwise?.(frame));
}

function forLoop(tokens: Tokens): Execute {
  const target = loopTarget(tokens);
  tokens.expect("in");
  const all = expressions(tokens).get;
  const body = block(tokens);
  return (frame) => {
    for (const item of itemsOf(all(frame))) {
      spend(frame);
      target(frame, item);
      const after = body(frame);
      if (after === "break") return undefined;
      if (after === "return") return after;
    }
    return undefined;
  };
}

function whileLoop(tokens: Tokens): Execute {
  const test = expression(tokens);
  const body = block(tokens);
  return (frame) => {
    while (isTrue(test(frame))) {
      spend(frame);
      const after = body(frame);
      if (after === "break") return undefined;
      if (after === "return") return after;
    }
    return undefined;
  };
}

function attempt(tokens: Tokens): Execute {
  const body = block(tokens);
  tokens.expect("except");
  const kind = expression(tokens);
  const as = tokens.accept("as") ? tokens.expectKind("name") : null;
  const handle = block(tokens);
  return (frame) => {
    const { depth } = frame.machine;
    try {
      return body(frame);
    } catch (error) {
      const caught = kind(frame);
      if (!(error instanceof Raised) || !(caught instanceof Class) || !error.value.is.isA(caught)) throw error;
      frame.machine.depth = depth;
      if (as !== null) frame.locals.set(as, error.value);
      return handle(frame);
    }
  };
}
