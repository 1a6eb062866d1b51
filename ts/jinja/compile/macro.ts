/** `{% macro %}` and the `caller` of `{% call %}`: functions that return the output of their body. */
import { compileExpression, type CompileOptions, type Evaluation } from "./compile-expression.ts";
import { TemplateFailure } from "../failures.ts";
import { namesIn } from "../parse/frame-names.ts";
import { repr } from "../python/printing.ts";
import type { Rendering } from "../rendering.ts";
import { Scope } from "./scope.ts";
import type { Body, Signature } from "../parse/syntax.ts";
import { type Arguments, Callable, Dict, Tuple, Undefined, type Value } from "../values.ts";

export type MacroMaker = (rendering: Rendering, scope: Scope) => Callable;

export interface MacroSource {
  readonly name: string;
  readonly signature: Signature;
  readonly body: (rendering: Rendering, scope: Scope) => unknown;
  /** The body as it was parsed, which says whether it uses `varargs`, `kwargs` or `caller`. */
  readonly source: Body;
}

/** Arguments beyond the parameters. */
const EXTRAS = ["varargs", "kwargs", "caller"];

/** The names that are set in a macro's body. */
export function argumentNames({ parameters }: Signature): string[] {
  return [...parameters, ...EXTRAS];
}

interface Macro {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly defaults: readonly (Evaluation | null)[];
  /** Names that the body uses for arguments beyond its parameters. */
  readonly extras: ReadonlySet<string>;
  readonly body: MacroSource["body"];
}

export function compileMacro({ name, signature, body, source }: MacroSource, options: CompileOptions): MacroMaker {
  const { parameters, defaults } = signature;
  const used = namesIn([source, defaults]);
  const first = parameters.length - defaults.length;
  const macro: Macro = {
    name,
    parameters,
    defaults: parameters.map((_, index) => {
      const value = defaults[index - first];
      return value === undefined ? null : compileExpression(value, options);
    }),
    extras: new Set(EXTRAS.filter((extra) => used.has(extra))),
    body,
  };
  return (rendering, scope) =>
    new Callable(name, (args) => invoke(macro, rendering, new Scope(scope), args), `<Macro ${repr(name)}>`);
}

function invoke(macro: Macro, rendering: Rendering, scope: Scope, args: Arguments): Value {
  const { line } = rendering;
  const text = rendering.budget.nested(() =>
    rendering.capture(() => {
      bindParameters(macro, rendering, scope, args);
      macro.body(rendering, scope);
    }),
  );
  rendering.line = line;
  return text;
}

function bindParameters(macro: Macro, rendering: Rendering, scope: Scope, args: Arguments): void {
  const { name, parameters, defaults, extras } = macro;
  const named = new Map(args.named);
  parameters.forEach((parameter, index) => {
    const value = args.positional[index] ?? (index in args.positional ? null : named.get(parameter));
    if (index >= args.positional.length) named.delete(parameter);
    if (value !== undefined) scope.set(parameter, value);
  });
  parameters.forEach((parameter, index) => {
    const isGiven = index < args.positional.length || args.named.has(parameter);
    if (isGiven) return;
    const otherwise = defaults[index] ?? (() => new Undefined(`parameter '${parameter}' was not provided`));
    scope.set(parameter, otherwise(rendering, scope));
  });
  if (extras.has("caller") && !parameters.includes("caller")) {
    scope.set("caller", named.get("caller") ?? new Undefined("no caller is defined"));
    named.delete("caller");
  }
  const [unknown] = named.keys();
  if (extras.has("kwargs")) scope.set("kwargs", dictOf(named));
  else if (unknown !== undefined) throw new TemplateFailure(`the macro '${name}' has no argument '${unknown}'`);
  const more = args.positional.slice(parameters.length);
  if (extras.has("varargs")) scope.set("varargs", new Tuple(more));
  else if (more.length > 0) throw new TemplateFailure(`the macro '${name}' takes ${parameters.length} arguments`);
}

function dictOf(named: ReadonlyMap<string, Value>): Dict {
  const dict = new Dict();
  for (const [name, value] of named) dict.set(name, value);
  return dict;
}
