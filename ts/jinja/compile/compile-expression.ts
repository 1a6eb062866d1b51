/** Compiles expressions to functions of a rendering and the visible variables. */
import { callValue, getAttribute, getElement } from "./attributes.ts";
import { checkTextLength } from "../budget.ts";
import { TemplateFailure } from "../failures.ts";
import { isFilterName } from "../filters/filters.ts";
import type { FrameNames } from "../parse/frame-names.ts";
import { binary, contains, equal, negated, ordered, positive } from "../python/operators.ts";
import { str } from "../python/printing.ts";
import type { Rendering } from "../rendering.ts";
import type { Scope } from "./scope.ts";
import { slice } from "../python/sequences.ts";
import type { CallArguments, ComparisonOperator, Expression } from "../parse/syntax.ts";
import { isTestName } from "../filters/tests.ts";
import { type Arguments, Dict, Tuple, truth, Undefined, type Value } from "../values.ts";

export type Evaluation = (rendering: Rendering, scope: Scope) => Value;
export type ArgumentEvaluation = (rendering: Rendering, scope: Scope) => Arguments;

/** Inside a condition, a filter or test that does not exist fails only when it is reached. */
export interface CompileOptions {
  readonly isConditional: boolean;
  /** Names of the block that is compiled. */
  readonly names: FrameNames | null;
}

export function compileExpression(expression: Expression, options: CompileOptions): Evaluation {
  const compile = (inner: Expression): Evaluation => compileExpression(inner, options);
  switch (expression.kind) {
    case "constant": {
      const { value } = expression;
      return () => value;
    }
    case "name": {
      const { name } = expression;
      return (_rendering, scope) => scope.get(name);
    }
    case "list":
    case "tuple": {
      const items = expression.items.map(compile);
      const isTuple = expression.kind === "tuple";
      return (rendering, scope) => {
        const values = items.map((item) => item(rendering, scope));
        return isTuple ? new Tuple(values) : values;
      };
    }
    case "dict":
      return compileDict(expression.entries.map(([key, value]) => [compile(key), compile(value)]));
    case "attribute": {
      const [of, { name }] = [compile(expression.of), expression];
      return (rendering, scope) => getAttribute(of(rendering, scope), name);
    }
    case "element": {
      const [of, key] = [compile(expression.of), compile(expression.key)];
      return (rendering, scope) => {
        const value = of(rendering, scope);
        if (typeof value === "string") rendering.weigh(value);
        return getElement(value, key(rendering, scope));
      };
    }
    case "slice":
      return compileSlice(
        compile(expression.of),
        expression.bounds.map((bound) => (bound === null ? null : compile(bound))),
      );
    case "call":
      return compileCall(compile(expression.of), compileArguments(expression.args, options));
    case "filter": {
      if (expression.of === null) throw new TemplateFailure("a filter has nothing to work on");
      const of = compile(expression.of);
      const apply = compileFilter(expression, options);
      return (rendering, scope) => apply(rendering, scope, of(rendering, scope));
    }
    case "test":
      return compileTest(expression, options);
    case "condition":
      return compileCondition(expression, { ...options, isConditional: true });
    default:
      return compileOperation(expression, compile);
  }
}

type Operation = Extract<
  Expression,
  { kind: "binary" | "concat" | "comparison" | "and" | "or" | "not" | "negative" | "positive" }
>;

function compileOperation(expression: Operation, compile: (inner: Expression) => Evaluation): Evaluation {
  switch (expression.kind) {
    case "binary": {
      const [left, right, { operator }] = [compile(expression.left), compile(expression.right), expression];
      return (rendering, scope) => {
        const result = binary(operator, left(rendering, scope), right(rendering, scope));
        if (typeof result === "string") checkTextLength(result.length);
        else rendering.weigh(result);
        return result;
      };
    }
    case "concat": {
      const parts = expression.parts.map(compile);
      return (rendering, scope) => {
        let text = "";
        for (const part of parts) text += str(part(rendering, scope));
        checkTextLength(text.length);
        return text;
      };
    }
    case "comparison":
      return compileComparison(
        compile(expression.first),
        expression.rest.map(([operator, operand]) => [operator, compile(operand)]),
      );
    case "and":
    case "or": {
      const [left, right, ends] = [compile(expression.left), compile(expression.right), expression.kind === "or"];
      return (rendering, scope) => {
        const value = left(rendering, scope);
        return truth(value) === ends ? value : right(rendering, scope);
      };
    }
    default: {
      const of = compile(expression.of);
      if (expression.kind === "not") return (rendering, scope) => !truth(of(rendering, scope));
      const sign = expression.kind === "negative" ? negated : positive;
      return (rendering, scope) => sign(of(rendering, scope));
    }
  }
}

function compileDict(entries: readonly (readonly [Evaluation, Evaluation])[]): Evaluation {
  return (rendering, scope) => {
    const dict = new Dict();
    for (const [key, value] of entries) dict.set(key(rendering, scope), value(rendering, scope));
    return dict;
  };
}

function compileSlice(of: Evaluation, bounds: readonly (Evaluation | null)[]): Evaluation {
  const [start = null, stop = null, step = null] = bounds;
  return (rendering, scope) => {
    const value = of(rendering, scope);
    rendering.weigh(value);
    const at = (bound: Evaluation | null): Value => (bound === null ? null : bound(rendering, scope));
    return slice(value, [at(start), at(stop), at(step)]);
  };
}

function compileCall(of: Evaluation, args: ArgumentEvaluation): Evaluation {
  return (rendering, scope) => {
    rendering.budget.spend(1);
    const result = callValue(of(rendering, scope), args(rendering, scope));
    rendering.weigh(result);
    return result;
  };
}

export function compileArguments(args: CallArguments, options: CompileOptions): ArgumentEvaluation {
  const positional = args.positional.map((one) => compileExpression(one, options));
  const named = args.named.map(([name, value]) => [name, compileExpression(value, options)] as const);
  const spread = args.spread === null ? null : compileExpression(args.spread, options);
  const namedSpread = args.namedSpread === null ? null : compileExpression(args.namedSpread, options);
  return (rendering, scope) => {
    const values = positional.map((one) => one(rendering, scope));
    if (spread !== null) values.push(...rendering.items(spread(rendering, scope)));
    const names = new Map<string, Value>();
    for (const [name, value] of named) names.set(name, value(rendering, scope));
    if (namedSpread !== null) addNamed(names, namedSpread(rendering, scope));
    return { positional: values, named: names };
  };
}

function addNamed(names: Map<string, Value>, more: Value): void {
  if (!(more instanceof Dict)) throw new TemplateFailure("** wants a dict");
  for (const [name, value] of more.entries()) {
    if (typeof name !== "string") throw new TemplateFailure("names of arguments must be texts");
    if (names.has(name)) throw new TemplateFailure(`the argument '${name}' is given twice`);
    names.set(name, value);
  }
}

export function compileFilter(
  { name, args }: Extract<Expression, { kind: "filter" }>,
  options: CompileOptions,
): (rendering: Rendering, scope: Scope, value: Value) => Value {
  if (!isFilterName(name) && !options.isConditional) throw new TemplateFailure(`there is no filter named '${name}'`);
  const given = compileArguments(args, options);
  return (rendering, scope, value) => {
    rendering.budget.spend(1);
    return rendering.filter(name, value, given(rendering, scope));
  };
}

function compileTest({ of, name, args }: Extract<Expression, { kind: "test" }>, options: CompileOptions): Evaluation {
  if (!isTestName(name) && !options.isConditional) throw new TemplateFailure(`there is no test named '${name}'`);
  const value = compileExpression(of, options);
  const given = compileArguments(args, options);
  return (rendering, scope) => rendering.test(name, value(rendering, scope), given(rendering, scope));
}

function compileCondition(
  { test, yes, no }: Extract<Expression, { kind: "condition" }>,
  options: CompileOptions,
): Evaluation {
  const [holds, whenTrue] = [compileExpression(test, options), compileExpression(yes, options)];
  const whenFalse = no === null ? null : compileExpression(no, options);
  return (rendering, scope) => {
    if (truth(holds(rendering, scope))) return whenTrue(rendering, scope);
    return whenFalse === null ? new Undefined("an if without else was false") : whenFalse(rendering, scope);
  };
}

function compileComparison(
  first: Evaluation,
  rest: readonly (readonly [ComparisonOperator, Evaluation])[],
): Evaluation {
  return (rendering, scope) => {
    let left = first(rendering, scope);
    for (const [operator, operand] of rest) {
      const right = operand(rendering, scope);
      rendering.weigh(left);
      rendering.weigh(right);
      if (!compare(operator, left, right)) return false;
      left = right;
    }
    return true;
  };
}

function compare(operator: ComparisonOperator, left: Value, right: Value): boolean {
  switch (operator) {
    case "==":
      return equal(left, right);
    case "!=":
      return !equal(left, right);
    case "in":
      return contains(right, left);
    case "not in":
      return !contains(right, left);
    default:
      return ordered(operator, left, right);
  }
}
