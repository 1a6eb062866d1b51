/** Statements of a Python text as JavaScript. */
import { builtInMentions, type Context, mention, resolved } from "./context.ts";
import { expression, expressions, loopTarget } from "./expressions.ts";
import { Tokens, tokensOf } from "./tokens.ts";

/**
 * The body of a function of the run time `R`, the machine `M` and `load`, which gives the names of another module; it returns those of this
 * one. Throws SyntaxError.
 */
export function translated(source: string, module: string): string {
  const context: Context = { tokens: new Tokens(tokensOf(source)), module, names: new Set() };
  const body: string[] = [];
  while (context.tokens.next.kind !== "end") body.push(statement(context));
  const names = [...context.names];
  const exported = names.map((name) => `["${name}", g_${name}]`).join(", ");
  const code = builtInMentions(resolved(body.join("\n"), context.names, "g"));
  return `"use strict";\n${declared(names, "g")}${code}\nreturn new Map([${exported}]);`;
}

function declared(names: readonly string[], scope: string): string {
  return names.length === 0 ? "" : `let ${names.map((name) => `${scope}_${name}`).join(", ")};\n`;
}

function block(context: Context): string {
  const { tokens } = context;
  tokens.expect(":");
  tokens.expectKind("line");
  tokens.expectKind("indent");
  const body: string[] = [];
  while (tokens.next.kind !== "dedent") body.push(statement(context));
  tokens.expectKind("dedent");
  return `{\n${body.join("\n")}\n}`;
}

function statement(context: Context): string {
  const { tokens } = context;
  if (tokens.accept("def")) {
    const { name, code } = definition(context);
    context.names.add(name);
    return `${mention(name)} = ${code};`;
  }
  if (tokens.accept("class")) return classOf(context);
  if (tokens.accept("if")) return branch(context);
  if (tokens.accept("for")) return forLoop(context);
  if (tokens.accept("while")) return `while (R.isTrue(${expression(context)})) { M.spend(); ${block(context)} }`;
  if (tokens.accept("try")) return attempt(context);
  const done = simple(context);
  tokens.expectKind("line");
  return done;
}

function simple(context: Context): string {
  const { tokens } = context;
  if (tokens.accept("pass")) return ";";
  if (tokens.accept("break")) return "break;";
  if (tokens.accept("continue")) return "continue;";
  if (tokens.accept("return"))
    return `return M.leave(${tokens.next.kind === "line" ? "null" : expressions(context).code});`;
  if (tokens.accept("raise")) return `R.raise(${expression(context)});`;
  if (tokens.accept("from")) return imported(context);
  const left = expressions(context);
  const sign = tokens.next.text;
  const set = (value: string): string => {
    if (left.assign === undefined) throw new SyntaxError("nothing can be assigned to this");
    return `${left.assign(value)};`;
  };
  if (tokens.accept("=")) return set(expressions(context).code);
  if (["+=", "-=", "*=", "//="].some((one) => tokens.accept(one)))
    return set(`R.operate("${sign.slice(0, -1)}", ${left.code}, ${expression(context)})`);
  return `${left.code};`;
}

function imported({ tokens, names }: Context): string {
  let module = tokens.expectKind("name");
  while (tokens.accept(".")) module += `.${tokens.expectKind("name")}`;
  tokens.expect("import");
  const lines: string[] = [];
  do {
    const name = tokens.expectKind("name");
    names.add(name);
    lines.push(`${mention(name)} = R.imported(load("${module}"), "${name}");`);
  } while (tokens.accept(","));
  return lines.join(" ");
}

function definition(context: Context): { name: string; code: string } {
  const { tokens, module } = context;
  const name = tokens.expectKind("name");
  tokens.expect("(");
  const parameters: string[] = [];
  while (!tokens.accept(")")) {
    parameters.push(tokens.expectKind("name"));
    tokens.accept(",");
  }
  const names = new Set<string>();
  const body = block({ tokens, module, names });
  const given = parameters.map((one) => `l_${one}`).join(", ");
  const variables = declared(
    [...names].filter((one) => !parameters.includes(one)),
    "l",
  );
  const code = `((${given}) => {\nM.enter("${module}:${name}");\n${variables}${body}\nreturn M.leave(null);\n})`;
  return { name, code: resolved(code, new Set([...names, ...parameters]), "l") };
}

function classOf(context: Context): string {
  const { tokens } = context;
  const name = tokens.expectKind("name");
  let base = "null";
  if (tokens.accept("(")) {
    base = expression(context);
    tokens.expect(")");
  }
  tokens.expect(":");
  tokens.expectKind("line");
  tokens.expectKind("indent");
  const members: string[] = [];
  while (tokens.next.kind !== "dedent") {
    if (tokens.accept("def")) {
      const method = definition(context);
      members.push(`["${method.name}", ${method.code}]`);
    } else simpleText(tokens);
  }
  tokens.expectKind("dedent");
  context.names.add(name);
  return `${mention(name)} = new R.Class("${name}", ${base}, new Map([${members.join(", ")}]));`;
}

/** The text that describes a class. */
function simpleText(tokens: Tokens): void {
  tokens.expectKind("text");
  tokens.expectKind("line");
}

function branch(context: Context): string {
  const test = expression(context);
  const then = block(context);
  const head = `if (R.isTrue(${test})) ${then}`;
  if (context.tokens.accept("elif")) return `${head} else ${branch(context)}`;
  return context.tokens.accept("else") ? `${head} else ${block(context)}` : head;
}

function forLoop(context: Context): string {
  const assign = loopTarget(context);
  context.tokens.expect("in");
  const all = expressions(context).code;
  return `for (const item of R.itemsOf(${all})) { M.spend(); ${assign("item")}; ${block(context)} }`;
}

function attempt(context: Context): string {
  const { tokens } = context;
  const body = block(context);
  tokens.expect("except");
  const kind = expression(context);
  let as = "";
  if (tokens.accept("as")) {
    const name = tokens.expectKind("name");
    context.names.add(name);
    as = `${mention(name)} = error.value;`;
  }
  return `{ const depth = M.depth; try ${body} catch (error) { R.caught(error, ${kind}); M.depth = depth; ${as} ${block(context)} } }`;
}
