/** Compiles statements to functions that write to a rendering's output. */
import {
  compileFilter,
  compileArguments,
  compileExpression,
  type CompileOptions,
  type Evaluation,
} from "./compile-expression.ts";
import { callValue } from "./attributes.ts";
import { TemplateFailure } from "../failures.ts";
import { assignedNames, FrameNames } from "../parse/frame-names.ts";
import { setAttribute } from "../globals.ts";
import { LoopState } from "./loop.ts";
import { argumentNames, compileMacro, type MacroMaker } from "./macro.ts";
import { str } from "../python/printing.ts";
import type { Rendering } from "../rendering.ts";
import { Scope } from "./scope.ts";
import type { Body, Expression, Statement, Target } from "../parse/syntax.ts";
import { Markup, Namespace, truth, typeName, Undefined, type Value } from "../values.ts";

/** How a statement ends: in order, or leaving the loop or its round. */
export type Ending = "done" | "break" | "continue";
export type Execution = (rendering: Rendering, scope: Scope) => Ending;

export function compileBody(body: Body, options: CompileOptions): Execution {
  const statements = body.map((statement) => ({ line: statement.line, run: compileStatement(statement, options) }));
  return (rendering, scope) => {
    for (const { line, run } of statements) {
      rendering.budget.spend(1);
      rendering.line = line;
      const ending = run(rendering, scope);
      if (ending !== "done") return ending;
    }
    return "done";
  };
}

/** A block with its own variables; `parameters` are set before it begins. */
export function compileFrame(body: Body, parameters: readonly string[], options: CompileOptions): Execution {
  const names = new FrameNames(body, parameters, options.names);
  const run = compileBody(body, { ...options, names });
  const shadows = names.shadowed.map((name) => [name, new Undefined(`'${name}' is undefined`)] as const);
  if (shadows.length === 0) return run;
  return (rendering, scope) => {
    for (const [name, value] of shadows) scope.set(name, value);
    return run(rendering, scope);
  };
}

function compileStatement(statement: Statement, options: CompileOptions): Execution {
  switch (statement.kind) {
    case "text": {
      const { text } = statement;
      return writing(() => text);
    }
    case "print":
      return writing(compileExpression(statement.value, options));
    case "if":
      return compileIf(statement, { ...options, isConditional: true });
    case "for":
      return compileFor(statement, options);
    case "break":
    case "continue": {
      const { kind } = statement;
      return () => kind;
    }
    case "set": {
      const [value, assign] = [compileExpression(statement.value, options), compileTarget(statement.target)];
      return (rendering, scope) => {
        assign(rendering, scope, value(rendering, scope));
        return "done";
      };
    }
    case "with":
      return compileWith(statement, options);
    case "macro": {
      const make = compileMacro(
        {
          ...statement,
          body: compileFrame(statement.body, argumentNames(statement.signature), options),
          source: statement.body,
        },
        options,
      );
      return (rendering, scope) => {
        scope.set(statement.name, make(rendering, scope));
        return "done";
      };
    }
    case "call":
      return compileCallBlock(statement, options);
    case "setblock":
    case "filterblock":
      return compileCapture(statement, options);
    case "generation":
      return compileGeneration(compileFrame(statement.body, [], options));
  }
}

function writing(value: Evaluation): Execution {
  return (rendering, scope) => {
    rendering.write(str(value(rendering, scope)));
    return "done";
  };
}

function compileIf({ branches, otherwise }: Statement & { kind: "if" }, options: CompileOptions): Execution {
  const tests = branches.map(({ test, body }) => ({
    test: compileExpression(test, options),
    body: compileBody(body, options),
  }));
  const last = compileBody(otherwise, options);
  return (rendering, scope) => {
    const found = tests.find(({ test }) => truth(test(rendering, scope)));
    return (found?.body ?? last)(rendering, scope);
  };
}

type Assignment = (rendering: Rendering, scope: Scope, value: Value) => void;

function compileTarget(target: Target): Assignment {
  if (target.kind === "name") {
    const { name } = target;
    return (_rendering, scope, value) => scope.set(name, value);
  }
  if (target.kind === "namespace") {
    const { name, attribute } = target;
    return (_rendering, scope, value) => {
      const to = scope.get(name);
      if (!(to instanceof Namespace)) {
        throw new TemplateFailure(`'${name}.${attribute}' is set, but '${name}' is a ${typeName(to)}, not a namespace`);
      }
      setAttribute(to, attribute, value);
    };
  }
  const inner = target.targets.map(compileTarget);
  return (rendering, scope, value) => {
    const values = [...rendering.items(value)];
    if (values.length !== inner.length) {
      throw new TemplateFailure(`${values.length} values are unpacked into ${inner.length} names`);
    }
    inner.forEach((assign, index) => assign(rendering, scope, values[index] ?? null));
  };
}

function compileFor(statement: Statement & { kind: "for" }, options: CompileOptions): Execution {
  const over = compileExpression(statement.over, options);
  const test = statement.test === null ? null : compileExpression(statement.test, options);
  const assign = compileTarget(statement.target);
  const body = compileFrame(statement.body, ["loop", ...assignedNames(statement.target)], options);
  const otherwise = compileFrame(statement.otherwise, [], options);

  function* chosen(rendering: Rendering, scope: Scope, value: Value, holds: Evaluation): Generator<Value> {
    for (const item of rendering.items(value)) {
      const inner = new Scope(scope);
      assign(rendering, inner, item);
      if (truth(holds(rendering, inner))) yield item;
    }
  }

  const rounds = (rendering: Rendering, scope: Scope, value: Value, depth: number): Ending => {
    const elements = test === null ? rendering.elements(value) : chosen(rendering, scope, value, test);
    const again = (inner: Value, deeper: number): string =>
      rendering.budget.nested(() => rendering.capture(() => rounds(rendering, scope, inner, deeper)));
    const loop = new LoopState(elements, statement.recursive ? again : null, depth);
    const around = new Scope(scope);
    around.set("loop", loop);
    // As in jinja2, only a round that runs to its end counts: after a loop that was left in its first round `else` still runs.
    let isEmpty = true;
    for (let item = loop.advance(); item !== undefined; item = loop.advance()) {
      rendering.budget.spend(1);
      const inner = new Scope(around);
      assign(rendering, inner, item);
      const ending = body(rendering, inner);
      if (ending === "done") isEmpty = false;
      if (ending === "break") break;
    }
    return isEmpty ? otherwise(rendering, new Scope(scope)) : "done";
  };
  return (rendering, scope) => rounds(rendering, scope, over(rendering, scope), 0);
}

function compileWith({ bindings, body }: Statement & { kind: "with" }, options: CompileOptions): Execution {
  const values = bindings.map(([target, value]) => ({
    assign: compileTarget(target),
    value: compileExpression(value, options),
  }));
  const parameters = bindings.flatMap(([target]) => assignedNames(target));
  const run = compileFrame(body, parameters, options);
  return (rendering, scope) => {
    const inner = new Scope(scope);
    for (const { assign, value } of values) assign(rendering, inner, value(rendering, scope));
    return run(rendering, inner);
  };
}

function compileCallBlock({ signature, call, body }: Statement & { kind: "call" }, options: CompileOptions): Execution {
  const [of, given] = [compileExpression(call.of, options), compileArguments(call.args, options)];
  const run = compileFrame(body, argumentNames(signature), options);
  const source = { name: "caller", signature, body: run, source: body };
  const makeCaller: MacroMaker = compileMacro(source, options);
  return (rendering, scope) => {
    const { positional, named } = given(rendering, scope);
    const args = { positional, named: new Map(named).set("caller", makeCaller(rendering, scope)) };
    rendering.write(str(callValue(of(rendering, scope), args)));
    return "done";
  };
}

function compileCapture(
  statement: Statement & { kind: "setblock" | "filterblock" },
  options: CompileOptions,
): Execution {
  const body = compileFrame(statement.body, [], options);
  const filter = statement.filter === null ? null : compileFilterChain(statement.filter, options);
  const assign = statement.kind === "setblock" ? compileTarget(statement.target) : null;
  return (rendering, scope) => {
    const inner = new Scope(scope);
    const text = rendering.capture(() => body(rendering, inner));
    const value = filter === null ? text : filter(rendering, inner, text);
    if (assign !== null) assign(rendering, scope, value);
    else if (typeof value === "string" || value instanceof Markup) rendering.write(str(value));
    else throw new TemplateFailure(`the filter of a block gives a ${typeName(value)}, not a text`);
    return "done";
  };
}

/** The filters of a block; the innermost works on its text. */
function compileFilterChain(
  filter: Expression,
  options: CompileOptions,
): (rendering: Rendering, scope: Scope, text: Value) => Value {
  if (filter.kind !== "filter") throw new TemplateFailure("a block is given to something that is no filter");
  const apply = compileFilter(filter, options);
  const inner = filter.of === null ? null : compileFilterChain(filter.of, options);
  return (rendering, scope, text) => apply(rendering, scope, inner === null ? text : inner(rendering, scope, text));
}

function compileGeneration(body: Execution): Execution {
  return (rendering, scope) => {
    const { marks } = rendering;
    if (marks !== null) rendering.write(marks.start);
    body(rendering, new Scope(scope));
    if (marks !== null) rendering.write(marks.end);
    return "done";
  };
}
