/** Reads the commands behind a backslash: fractions, roots, functions, sums, matrices. */
import { call, children, type Expression, mapLeaves, number, quotient } from "../values/expression.ts";
import { derivative, integral, limit, operand } from "./parse-calculus.ts";
import { parseBrackets } from "./parse-brackets.ts";
import { parseBased } from "./parse-number.ts";
import { parseSymbol } from "./parse-symbol.ts";
import type { Parser } from "./parser.ts";
import { Unparsable } from "./unparsable.ts";
import { CANONICAL, FUNCTIONS, GREEK } from "../answer-text/vocabulary.ts";

export function parseCommand(parser: Parser, name: string): Expression {
  switch (name) {
    case "frac":
      return fraction(parser);
    case "sqrt":
      return root(parser);
    case "binom":
    case "choose":
      return call("binomial", parser.argument(), parser.argument());
    case "pi":
      return { kind: "constant", name: "pi" };
    case "infty":
    case "infinity":
      return { kind: "constant", name: "infinity" };
    case "imath":
      return { kind: "constant", name: "i" };
    case "emptyset":
      return { kind: "numberSet", name: "empty" };
    case "mathbb":
      return numberSet(parser);
    case "{":
      return parser.braces();
    case "langle":
      return angles(parser);
    case "lfloor":
      return closed(parser, "rfloor", "floor");
    case "lceil":
      return closed(parser, "rceil", "ceil");
    case "|":
      return norm(parser);
    case "begin":
      return environment(parser);
    case "sum":
    case "prod":
      return series(parser, name);
    case "int":
      return integral(parser);
    case "lim":
      return limit(parser);
    case "partial":
      return { kind: "symbol", name: "d" };
    case "based":
      return parseBased(parser);
    case "angle":
    case "measuredangle":
    case "triangle":
      return named(parser, name);
    case "Re":
    case "Im":
      return call(name, factorArgument(parser));
    default:
      break;
  }
  if (Object.hasOwn(FUNCTIONS, name)) return functionCall(parser, name);
  if (Object.hasOwn(GREEK, name)) return parseSymbol(parser, `\\${name}`);
  throw new Unparsable(`\\${name} is not known`);
}

/** \bar and the like; null for other commands. Over an expression a bar is the conjugate, over a letter a name. */
export function parseAccent(parser: Parser, name: string): Expression | null {
  if (name !== "overline" && name !== "bar" && name !== "hat" && name !== "vec" && name !== "tilde" && name !== "dot") {
    return null;
  }
  const inner = parser.argument();
  if (name === "overline" || name === "bar") {
    if (inner.kind === "symbol" && name === "bar" && inner.name !== "z")
      return { kind: "symbol", name: `${inner.name}\\bar` };
    return call("conjugate", inner);
  }
  // The unit vectors \hat{i} and \hat{j} are no numbers.
  if (inner.kind === "symbol" || inner.kind === "constant") return { kind: "symbol", name: `${inner.name}\\${name}` };
  throw new Unparsable(`\\${name} over more than a letter`);
}

/** Behind an opening |. */
export function parseBars(parser: Parser): Expression {
  parser.bars++;
  const inner = parser.list();
  parser.bars--;
  parser.expectSign("|");
  return call("abs", inner);
}

function root(parser: Parser): Expression {
  let order: Expression = number(2);
  if (parser.takeSign("[")) {
    order = parser.list();
    parser.expectSign("]");
  }
  const radicand = rootArgument(parser);
  return order.kind === "number" && order.value.numerator === 2n && order.value.denominator === 1n
    ? call("sqrt", radicand)
    : call("root", radicand, order);
}

/** \sqrt12 is the root of 12: digits behind a root are meant to be under it. */
function rootArgument(parser: Parser): Expression {
  const token = parser.peek();
  if (token?.type !== "number") return parser.argument();
  parser.next();
  return number(token.value, token.decimal);
}

/** \angle ABC: a name of points. */
function named(parser: Parser, name: string): Expression {
  const token = parser.next();
  if (token.type !== "word") throw new Unparsable(`\\${name} needs letters`);
  return { kind: "symbol", name: `\\${name === "triangle" ? name : "angle"} ${token.text}` };
}

function numberSet(parser: Parser): Expression {
  const braced = parser.takeSign("{");
  const { text } = parser.next();
  if (braced) parser.expectSign("}");
  if (text === "R") return { kind: "numberSet", name: "R" };
  return { kind: "text", text: `\\mathbb{${text.toLowerCase()}}` };
}

function angles(parser: Parser): Expression {
  const inner = parser.list();
  if (!parser.takeCommand("rangle")) throw new Unparsable("\\langle is not closed");
  return { kind: "tuple", items: inner.kind === "tuple" ? inner.items : [inner], brackets: "<>", joined: "," };
}

function closed(parser: Parser, end: string, name: string): Expression {
  const inner = parser.list();
  if (!parser.takeCommand(end)) throw new Unparsable(`\\${end} is missing`);
  return call(name, inner);
}

function norm(parser: Parser): Expression {
  const inner = parser.list();
  if (!parser.takeCommand("|")) throw new Unparsable("\\| is not closed");
  return call("abs", inner);
}

/** \sin^2 x, \log_2 8, \max(a, b), \sin 2x. */
function functionCall(parser: Parser, name: string): Expression {
  const canonical = Object.hasOwn(CANONICAL, name) ? (CANONICAL[name] ?? name) : name;
  if (name === "sqrt") return call("sqrt", factorArgument(parser));
  let exponent: Expression | null = null;
  let base: Expression | null = null;
  for (;;) {
    if (parser.takeSign("^")) exponent = exponentOf(parser);
    else if (parser.takeSign("_")) base = parser.argument();
    else break;
  }
  const isInverse =
    exponent?.kind === "number" && exponent.value.numerator === -1n && exponent.value.denominator === 1n;
  const inverse = isInverse && Object.hasOwn(FUNCTIONS, `arc${canonical}`) ? `arc${canonical}` : null;
  const args = (FUNCTIONS[name] ?? 1) < 0 ? severalArguments(parser) : [factorArgument(parser)];
  if (inverse !== null) return call(inverse, ...args);
  if (canonical === "log" && base !== null) args.push(base);
  if (canonical === "lg") args.push(number(10));
  const applied = call(canonical === "lg" ? "log" : canonical, ...args);
  return exponent === null ? applied : { kind: "power", base: applied, exponent };
}

/** d over dx is no fraction. */
function fraction(parser: Parser): Expression {
  const [numerator, denominator] = [parser.argument(), parser.argument()];
  return derivative(parser, numerator, denominator) ?? quotient(numerator, denominator);
}

function exponentOf(parser: Parser): Expression {
  if (!parser.takeSign("{")) {
    return parser.argument();
  }
  const inner = parser.list();
  parser.expectSign("}");
  return inner;
}

function severalArguments(parser: Parser): Expression[] {
  const isSet = parser.takeCommand("{");
  if (!isSet) {
    if (!parser.takeSign("(") && !parser.takeSign("{")) throw new Unparsable("arguments in brackets are missing");
  }
  const inner = parser.list();
  const isClosed = isSet ? parser.takeCommand("}") : parser.takeSign(")") || parser.takeSign("}");
  if (!isClosed) throw new Unparsable("arguments are not closed");
  return inner.kind === "tuple" && inner.brackets === "" ? [...inner.items] : [inner];
}

/** Reads the argument of a function without brackets: factors up to the next sign. With brackets: just those. */
function factorArgument(parser: Parser): Expression {
  if (parser.takeSign("(")) {
    // sin(x)^2 is the square of the sine: the brackets are the argument.
    const value = parseBrackets(parser, "(");
    return value.kind === "tuple" ? (children(value)[0] ?? value) : value;
  }
  if (parser.isSign("[") || parser.isSign("{") || parser.isSign("|")) {
    const value = parser.power();
    return value.kind === "tuple" ? (children(value)[0] ?? value) : value;
  }
  const factors = [parser.power()];
  for (;;) {
    const token = parser.peek();
    const isNumber = token?.type === "number";
    const isLetter =
      token?.type === "word" && token.text.length <= 2 && !Object.hasOwn(FUNCTIONS, token.text.toLowerCase());
    const isGreek = token?.type === "command" && Object.hasOwn(GREEK, token.text);
    if (!isNumber && !isLetter && !isGreek) break;
    factors.push(parser.power());
  }
  const [only] = factors;
  return factors.length === 1 && only !== undefined ? only : { kind: "product", factors };
}

/** \sum_{k=1}^{n} body. */
function series(parser: Parser, name: "sum" | "prod"): Expression {
  let low: Expression | null = null;
  let high: Expression | null = null;
  for (;;) {
    if (parser.takeSign("_")) low = parser.argument();
    else if (parser.takeSign("^")) high = exponentOf(parser);
    else break;
  }
  if (low?.kind !== "relation" || low.operators[0] !== "=" || low.sides.length !== 2 || high === null) {
    throw new Unparsable(`\\${name} needs both bounds`);
  }
  const [index, start] = low.sides;
  const body = operand(parser);
  if (index === undefined || start === undefined) throw new Unparsable("a sum needs an index");
  // i is the imaginary unit everywhere else, but not as an index.
  const indexName = index.kind === "symbol" ? index.name : index.kind === "constant" && index.name === "i" ? "i" : null;
  if (indexName === null) throw new Unparsable("a sum needs an index");
  return call(name, indexName === "i" ? withIndexI(body) : body, { kind: "text", text: indexName }, start, high);
}

function withIndexI(body: Expression): Expression {
  return mapLeaves(body, (leaf) =>
    leaf.kind === "constant" && leaf.name === "i" ? { kind: "symbol", name: "i" } : leaf,
  );
}

function environment(parser: Parser): Expression {
  parser.expectSign("{");
  const { text: name } = parser.next();
  while (!parser.takeSign("}")) parser.next();
  const isArray = name === "array";
  if (!isArray && !/^(?:[pbvVB]?matrix|smallmatrix|psmallmatrix|bsmallmatrix)$/u.test(name)) {
    throw new Unparsable(`\\begin{${name}} is not known`);
  }
  if (isArray && parser.takeSign("{")) while (!parser.takeSign("}")) parser.next();
  const rows: Expression[][] = [[]];
  for (;;) {
    if (parser.takeCommand("end")) break;
    if (parser.takeSign("&")) continue;
    if (parser.takeCommand("\\")) {
      rows.push([]);
      continue;
    }
    if (parser.takeCommand("hline")) continue;
    rows.at(-1)?.push(parser.relation());
  }
  while (!parser.takeSign("}")) parser.next();
  const filled = rows.filter((row) => row.length > 0);
  const width = filled[0]?.length ?? 0;
  if (width === 0 || filled.some((row) => row.length !== width)) throw new Unparsable("a matrix has equal rows");
  const matrix: Expression = { kind: "matrix", rows: filled };
  return name === "vmatrix" ? call("det", matrix) : matrix;
}
