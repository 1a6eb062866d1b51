/** Expressions of a Python text as JavaScript that calls the run time `R` and the machine `M`. */
import { type Context, mention, resolved } from "./context.ts";
import { Tokens, tokensOf } from "./tokens.ts";

interface Parsed {
  readonly code: string;
  /** The assignment of a value to it. */
  readonly assign?: (value: string) => string;
  /** The call of it, where it is a member. */
  readonly invoke?: (args: readonly string[]) => string;
  readonly name?: string;
}

const COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in", "is", "not"];
const LEVELS = [
  ["+", "-"],
  ["*", "//", "%"],
] as const;

/** One expression, or several with commas between them, which are a list. */
export function expressions(context: Context): Parsed {
  const first = parsed(context);
  if (!context.tokens.is(",")) return first;
  const all = [first];
  while (context.tokens.accept(",")) all.push(parsed(context));
  const code = `[${all.map((one) => one.code).join(", ")}]`;
  const names = all.flatMap(({ name }) => (name === undefined ? [] : [name]));
  if (names.length < all.length) return { code };
  return { code, assign: (value) => unpacked(context, names, value) };
}

export function expression(context: Context): string {
  return parsed(context).code;
}

/** Names after `for`, and the assignment of a value to them. */
export function loopTarget(context: Context): (value: string) => string {
  const names = [context.tokens.expectKind("name")];
  while (context.tokens.accept(",")) names.push(context.tokens.expectKind("name"));
  for (const name of names) context.names.add(name);
  return (value) => (names.length === 1 ? `${mention(names[0] ?? "")} = ${value}` : unpacked(context, names, value));
}

function unpacked({ names: known }: Context, names: readonly string[], value: string): string {
  for (const name of names) known.add(name);
  return `[${names.map(mention).join(", ")}] = R.unpack(${value}, ${names.length})`;
}

function parsed(context: Context): Parsed {
  const { tokens } = context;
  if (tokens.accept("lambda")) return { code: lambda(context) };
  const value = either(context);
  if (!tokens.accept("if")) return value;
  const test = either(context).code;
  tokens.expect("else");
  return { code: `(R.isTrue(${test}) ? ${value.code} : ${expression(context)})` };
}

function lambda(context: Context): string {
  const names: string[] = [];
  while (!context.tokens.accept(":")) {
    names.push(context.tokens.expectKind("name"));
    context.tokens.accept(",");
  }
  const body = resolved(expression(context), new Set(names), "p");
  return `((${names.map((name) => `p_${name}`).join(", ")}) => ${body})`;
}

function either(context: Context): Parsed {
  const left = both(context);
  if (!context.tokens.accept("or")) return left;
  return { code: `(M.kept = ${left.code}, R.isTrue(M.kept) ? M.kept : ${either(context).code})` };
}

function both(context: Context): Parsed {
  const left = inverted(context);
  if (!context.tokens.accept("and")) return left;
  return { code: `(M.kept = ${left.code}, R.isTrue(M.kept) ? ${both(context).code} : M.kept)` };
}

function inverted(context: Context): Parsed {
  if (!context.tokens.accept("not")) return comparison(context);
  return { code: `(!R.isTrue(${inverted(context).code}))` };
}

function comparison(context: Context): Parsed {
  const { tokens } = context;
  const left = sum(context, 0);
  if (!COMPARISONS.some((sign) => tokens.is(sign))) return left;
  let sign = tokens.take().text;
  if (sign === "not") {
    tokens.expect("in");
    sign = "not in";
  }
  if (sign === "is" && tokens.accept("not")) sign = "is not";
  return { code: `R.holds("${sign}", ${left.code}, ${sum(context, 0).code})` };
}

function sum(context: Context, level: number): Parsed {
  const signs: readonly string[] | undefined = LEVELS[level];
  if (signs === undefined) return unary(context);
  let left = sum(context, level + 1);
  while (context.tokens.next.kind === "sign" && signs.includes(context.tokens.next.text)) {
    const sign = context.tokens.take().text;
    left = { code: `R.operate("${sign}", ${left.code}, ${sum(context, level + 1).code})` };
  }
  return left;
}

function unary(context: Context): Parsed {
  if (!context.tokens.accept("-")) return postfix(context);
  return { code: `R.operate("-", 0, ${unary(context).code})` };
}

function postfix(context: Context): Parsed {
  const { tokens } = context;
  let of = atom(context);
  for (;;) {
    if (tokens.accept(".")) of = member(of.code, tokens.expectKind("name"));
    else if (tokens.accept("(")) of = call(of, context);
    else if (tokens.accept("[")) of = subscript(of.code, context);
    else return of;
  }
}

function member(of: string, name: string): Parsed {
  return {
    code: `R.field(${of}, "${name}")`,
    assign: (value) => `R.setField(${of}, "${name}", ${value})`,
    invoke: (args) => `R.invoke(${[of, `"${name}"`, ...args].join(", ")})`,
  };
}

function call(of: Parsed, context: Context): Parsed {
  const { tokens } = context;
  const values: string[] = [];
  while (!tokens.accept(")")) {
    const one = parsed(context);
    if (tokens.accept("=")) {
      // The only named argument is the key of an order, which comes second.
      if (one.name !== "key") throw new SyntaxError(`no argument is named ${one.name ?? "so"}`);
      values.push(expression(context));
    } else values.push(tokens.is("for") ? comprehension(one.code, context) : one.code);
    tokens.accept(",");
  }
  return { code: of.invoke?.(values) ?? `R.callable(${of.code})(${values.join(", ")})` };
}

function subscript(of: string, context: Context): Parsed {
  const { tokens } = context;
  const from = tokens.is(":") ? "null" : expression(context);
  if (tokens.accept("]"))
    return { code: `R.itemAt(${of}, ${from})`, assign: (value) => `R.setItem(${of}, ${from}, ${value})` };
  tokens.expect(":");
  const to = tokens.is("]") ? "null" : expression(context);
  tokens.expect("]");
  return { code: `R.slice(${of}, ${from}, ${to})` };
}

function atom(context: Context): Parsed {
  const { tokens } = context;
  const token = tokens.take();
  if (token.kind === "number" || token.kind === "text") return { code: token.text };
  if (token.kind === "format") return { code: formatted(token.text.slice(2, -1), context) };
  if (token.kind === "name") return named(token.text, context);
  if (token.text === "(") {
    const { code } = expressions(context);
    tokens.expect(")");
    return { code };
  }
  if (token.text === "[") return { code: list(context) };
  if (token.text === "{") return { code: dictionary(context) };
  throw new SyntaxError(`no expression begins with ${JSON.stringify(token)}`);
}

function named(name: string, { names }: Context): Parsed {
  const constant = { None: "null", True: "true", False: "false" }[name];
  if (constant !== undefined) return { code: constant };
  return {
    name,
    code: mention(name),
    assign(value) {
      names.add(name);
      return `${mention(name)} = ${value}`;
    },
  };
}

function list(context: Context): string {
  const { tokens } = context;
  const items: string[] = [];
  while (!tokens.accept("]")) {
    const one = expression(context);
    if (tokens.is("for")) {
      const made = comprehension(one, context);
      tokens.expect("]");
      return made;
    }
    items.push(one);
    tokens.accept(",");
  }
  return `[${items.join(", ")}]`;
}

function comprehension(value: string, context: Context): string {
  const { tokens } = context;
  tokens.expect("for");
  const assign = loopTarget(context);
  tokens.expect("in");
  const all = either(context).code;
  const test = tokens.accept("if") ? `if (R.isTrue(${either(context).code})) ` : "";
  return `(() => { const made = []; for (const item of R.itemsOf(${all})) { M.spend(); ${assign("item")}; ${test}made.push(${value}); } return made; })()`;
}

function dictionary(context: Context): string {
  const pairs: string[] = [];
  while (!context.tokens.accept("}")) {
    const key = expression(context);
    context.tokens.expect(":");
    pairs.push(`[${key}, ${expression(context)}]`);
    context.tokens.accept(",");
  }
  return `new Map([${pairs.join(", ")}])`;
}

/** The inside of an f-string: texts and expressions in braces. */
function formatted(inside: string, context: Context): string {
  const parts = inside
    .split(/\{([^{}]*)\}/u)
    .map((part, index) =>
      index % 2 === 0 ? `"${part}"` : `R.textOf(${expression({ ...context, tokens: new Tokens(tokensOf(part)) })})`,
    );
  return `(${parts.join(" + ")})`;
}
