/** Expressions, with jinja2's precedences: `~` binds closer than `+`, `**` to the left, comparisons are chained. */
import { TemplateUnsupported } from "../failures.ts";
import type { BinaryOperator, CallArguments, ComparisonOperator, Expression } from "./syntax.ts";
import type { TokenStream } from "./token-stream.ts";

const COMPARISONS: readonly string[] = ["==", "!=", "<", "<=", ">", ">="];
const CONSTANTS = new Map<string, boolean | null>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
]);
const NO_ARGUMENTS: CallArguments = { positional: [], named: [], spread: null, namedSpread: null };

export function parseExpression(tokens: TokenStream, withCondition = true): Expression {
  return tokens.nested(() => (withCondition ? parseCondition(tokens) : parseOr(tokens)));
}

/** An expression, or a tuple where commas follow. */
export function parseTuple(
  tokens: TokenStream,
  { withCondition = true, endNames = [] as readonly string[], inParentheses = false } = {},
): Expression {
  const items: Expression[] = [];
  let isTuple = false;
  for (;;) {
    const isEnd = tokens.is("endprint") || tokens.is("close") || tokens.isSign(")") || tokens.isName(...endNames);
    if (isEnd) break;
    items.push(parseExpression(tokens, withCondition));
    if (!tokens.skip("sign", ",")) break;
    isTuple = true;
  }
  const [only] = items;
  if (!isTuple && only !== undefined) return only;
  if (!isTuple && !inParentheses) tokens.fail("an expression is expected");
  return { kind: "tuple", items };
}

function parseCondition(tokens: TokenStream): Expression {
  let value = parseOr(tokens);
  while (tokens.skip("name", "if")) {
    const test = parseOr(tokens);
    const no = tokens.skip("name", "else") ? parseExpression(tokens) : null;
    value = { kind: "condition", test, yes: value, no };
  }
  return value;
}

function parseOr(tokens: TokenStream): Expression {
  let left = parseAnd(tokens);
  while (tokens.skip("name", "or")) left = { kind: "or", left, right: parseAnd(tokens) };
  return left;
}

function parseAnd(tokens: TokenStream): Expression {
  let left = parseNot(tokens);
  while (tokens.skip("name", "and")) left = { kind: "and", left, right: parseNot(tokens) };
  return left;
}

function parseNot(tokens: TokenStream): Expression {
  if (!tokens.skip("name", "not")) return parseComparison(tokens);
  return { kind: "not", of: tokens.nested(() => parseNot(tokens)) };
}

function parseComparison(tokens: TokenStream): Expression {
  const first = parseSum(tokens);
  const rest: [ComparisonOperator, Expression][] = [];
  for (;;) {
    const { kind, text } = tokens.current;
    const next = tokens.ahead(1);
    if (kind === "sign" && COMPARISONS.includes(text)) {
      tokens.next();
      rest.push([text as ComparisonOperator, parseSum(tokens)]);
    } else if (tokens.skip("name", "in")) {
      rest.push(["in", parseSum(tokens)]);
    } else if (tokens.isName("not") && next.kind === "name" && next.text === "in") {
      tokens.next();
      tokens.next();
      rest.push(["not in", parseSum(tokens)]);
    } else {
      return rest.length === 0 ? first : { kind: "comparison", first, rest };
    }
  }
}

function parseSum(tokens: TokenStream): Expression {
  return leftToRight(tokens, ["+", "-"], parseConcat);
}

function parseConcat(tokens: TokenStream): Expression {
  const parts = [parseProduct(tokens)];
  while (tokens.skip("sign", "~")) parts.push(parseProduct(tokens));
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { kind: "concat", parts };
}

function parseProduct(tokens: TokenStream): Expression {
  return leftToRight(tokens, ["*", "/", "//", "%"], parsePower);
}

function parsePower(tokens: TokenStream): Expression {
  return leftToRight(tokens, ["**"], (inner) => parseUnary(inner, true));
}

function leftToRight(
  tokens: TokenStream,
  operators: readonly BinaryOperator[],
  parse: (tokens: TokenStream) => Expression,
): Expression {
  let left = parse(tokens);
  while (tokens.isSign(...operators)) {
    const operator = tokens.next().text as BinaryOperator;
    left = { kind: "binary", operator, left, right: parse(tokens) };
  }
  return left;
}

function parseUnary(tokens: TokenStream, withFilters: boolean): Expression {
  let value: Expression;
  if (tokens.isSign("-", "+")) {
    const kind = tokens.next().text === "-" ? "negative" : "positive";
    value = { kind, of: tokens.nested(() => parseUnary(tokens, false)) };
  } else {
    value = parsePrimary(tokens);
  }
  value = parsePostfix(tokens, value);
  return withFilters ? parseFilters(tokens, value) : value;
}

function parsePrimary(tokens: TokenStream): Expression {
  const token = tokens.current;
  if (token.kind === "name") {
    tokens.next();
    const constant = CONSTANTS.get(token.text);
    return constant === undefined ? { kind: "name", name: token.text } : { kind: "constant", value: constant };
  }
  if (token.kind === "string") {
    let value = "";
    while (tokens.is("string")) value += tokens.next().text;
    return { kind: "constant", value };
  }
  if (token.kind === "int" || token.kind === "float") {
    tokens.next();
    const digits = token.text.replaceAll("_", "");
    return { kind: "constant", value: token.kind === "int" ? BigInt(digits) : Number(digits) };
  }
  if (tokens.skip("sign", "(")) {
    const value = parseTuple(tokens, { inParentheses: true });
    tokens.expect("sign", ")");
    return value;
  }
  if (tokens.isSign("[")) return { kind: "list", items: separated(tokens, "]", () => parseExpression(tokens)) };
  if (tokens.isSign("{")) {
    const entries = separated(tokens, "}", (): [Expression, Expression] => {
      const key = parseExpression(tokens);
      tokens.expect("sign", ":");
      return [key, parseExpression(tokens)];
    });
    return { kind: "dict", entries };
  }
  return tokens.fail("an expression is expected");
}

/** A list with commas up to a bracket; a trailing comma is allowed. */
function separated<T>(tokens: TokenStream, close: string, parse: () => T): T[] {
  tokens.next();
  const found: T[] = [];
  while (!tokens.isSign(close)) {
    if (found.length > 0) tokens.expect("sign", ",");
    if (tokens.isSign(close)) break;
    found.push(parse());
  }
  tokens.expect("sign", close);
  return found;
}

function parsePostfix(tokens: TokenStream, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (tokens.isSign(".")) value = parseAttribute(tokens, value);
    else if (tokens.isSign("[")) value = parseSubscript(tokens, value);
    else if (tokens.isSign("(")) value = { kind: "call", of: value, args: parseCallArguments(tokens) };
    else return value;
  }
}

function parseFilters(tokens: TokenStream, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (tokens.isSign("|")) value = parseFilter(tokens, value);
    else if (tokens.isName("is")) value = parseTest(tokens, value);
    else if (tokens.isSign("(")) value = { kind: "call", of: value, args: parseCallArguments(tokens) };
    else return value;
  }
}

function parseAttribute(tokens: TokenStream, of: Expression): Expression {
  tokens.next();
  const token = tokens.next();
  if (token.kind === "name") return { kind: "attribute", of, name: token.text };
  if (token.kind !== "int") tokens.fail("a name or number is expected behind '.'");
  return { kind: "element", of, key: { kind: "constant", value: BigInt(token.text.replaceAll("_", "")) } };
}

function parseSubscript(tokens: TokenStream, of: Expression): Expression {
  tokens.next();
  const parts: Expression[] = [];
  while (!tokens.isSign("]")) {
    if (parts.length > 0) tokens.expect("sign", ",");
    if (tokens.isSign("]")) break;
    const start = tokens.isSign(":") ? null : parseExpression(tokens);
    if (tokens.isSign(":")) {
      const bounds = [start, ...parseBounds(tokens)];
      if (parts.length > 0 || !tokens.isSign("]")) {
        throw new TemplateUnsupported(`line ${tokens.current.line}: a slice beside other keys is not implemented`);
      }
      tokens.next();
      return { kind: "slice", of, bounds };
    }
    if (start !== null) parts.push(start);
  }
  tokens.expect("sign", "]");
  const [only] = parts;
  return {
    kind: "element",
    of,
    key: parts.length === 1 && only !== undefined ? only : { kind: "tuple", items: parts },
  };
}

/** Stop and step, from the first colon on. */
function parseBounds(tokens: TokenStream): (Expression | null)[] {
  const bound = (): Expression | null => (tokens.isSign(":", "]", ",") ? null : parseExpression(tokens));
  tokens.next();
  const stop = bound();
  return [stop, tokens.skip("sign", ":") ? bound() : null];
}

export function parseCallArguments(tokens: TokenStream): CallArguments {
  const positional: Expression[] = [];
  const named: [string, Expression][] = [];
  let [spread, namedSpread]: (Expression | null)[] = [null, null];
  const refuse = (isWrong: boolean): void => {
    if (isWrong) tokens.fail("the arguments of a call are in a wrong order");
  };
  separated(tokens, ")", () => {
    const next = tokens.ahead(1);
    if (tokens.skip("sign", "*")) {
      refuse(spread !== null || namedSpread !== null);
      spread = parseExpression(tokens);
    } else if (tokens.skip("sign", "**")) {
      refuse(namedSpread !== null);
      namedSpread = parseExpression(tokens);
    } else if (tokens.is("name") && next.kind === "sign" && next.text === "=") {
      refuse(namedSpread !== null);
      const name = tokens.next().text;
      tokens.next();
      if (named.some(([known]) => known === name)) tokens.fail(`the argument '${name}' is given twice`);
      named.push([name, parseExpression(tokens)]);
    } else {
      refuse(spread !== null || namedSpread !== null || named.length > 0);
      positional.push(parseExpression(tokens));
    }
  });
  return { positional, named, spread: spread ?? null, namedSpread: namedSpread ?? null };
}

/** One filter; `of` is null where the filter applies to a block's text. */
export function parseFilter(tokens: TokenStream, of: Expression | null): Expression {
  tokens.expect("sign", "|");
  return parseFilterCall(tokens, of);
}

/** A filter's name and arguments. */
export function parseFilterCall(tokens: TokenStream, of: Expression | null): Expression {
  const name = dottedName(tokens);
  return { kind: "filter", of, name, args: tokens.isSign("(") ? parseCallArguments(tokens) : NO_ARGUMENTS };
}

function dottedName(tokens: TokenStream): string {
  let name = tokens.expect("name").text;
  while (tokens.skip("sign", ".")) name += `.${tokens.expect("name").text}`;
  return name;
}

function parseTest(tokens: TokenStream, of: Expression): Expression {
  tokens.next();
  const isNegated = tokens.skip("name", "not");
  const name = dottedName(tokens);
  const { kind } = tokens.current;
  let args = NO_ARGUMENTS;
  if (tokens.isSign("(")) {
    args = parseCallArguments(tokens);
  } else if (
    (["name", "string", "int", "float"].includes(kind) && !tokens.isName("else", "or", "and")) ||
    tokens.isSign("[", "{")
  ) {
    if (tokens.isName("is")) tokens.fail("tests cannot be chained with 'is'");
    args = { ...NO_ARGUMENTS, positional: [parsePostfix(tokens, parsePrimary(tokens))] };
  }
  const test: Expression = { kind: "test", of, name, args };
  return isNegated ? { kind: "not", of: test } : test;
}
