/**
 * Integrals, limits and derivatives. The variable of a limit or of a definite integral is bound: it gets a reserved name, so that the
 * letter does not matter. A derivative is computed at once.
 */
import { differentiate } from "../values/differentiate.ts";
import { call, type Expression, mapSymbols, number, product, some } from "../values/expression.ts";
import type { Parser } from "./parser.ts";
import { Unparsable } from "./unparsable.ts";

const MAX_ORDER = 6;

/** \int_a^b body dx, or \int body dx. */
export function integral(parser: Parser): Expression {
  let low: Expression | null = null;
  let high: Expression | null = null;
  for (;;) {
    if (parser.takeSign("_")) low = parser.argument();
    else if (parser.takeSign("^")) high = parser.argument();
    else break;
  }
  const { body, variable } = parser.integrand() ?? fromNumerator(operand(parser));
  if (low === null && high === null) return call("antiderivative", body, { kind: "symbol", name: variable });
  if (low === null || high === null) throw new Unparsable("an integral has both bounds or none");
  return bound("integral", body, variable, [low, high]);
}

/** \lim_{x \to a} body; the side is 1 for a^+, -1 for a^-, 0 for both. */
export function limit(parser: Parser): Expression {
  if (!parser.takeSign("_") || !parser.takeSign("{")) throw new Unparsable("\\lim needs x \\to a");
  const variable = parser.power();
  if (variable.kind !== "symbol") throw new Unparsable("\\lim needs a letter");
  if (!parser.takeCommand("to") && !parser.takeCommand("rightarrow")) throw new Unparsable("\\lim needs \\to");
  const { target, side } = oneSided(parser) ?? { target: parser.additive(), side: 0 };
  parser.expectSign("}");
  return bound("limit", operand(parser), variable.name, [target, number(side)]);
}

function oneSided(parser: Parser): { target: Expression; side: number } | null {
  return parser.attempt(() => {
    const sign = parser.takeSign("-") ? -1 : 1;
    const token = parser.next();
    const base: Expression | null =
      token.type === "number"
        ? number(token.value)
        : token.type === "word"
          ? { kind: "symbol", name: token.text }
          : null;
    if (base === null || !parser.takeSign("^")) throw new Unparsable("no side");
    const braced = parser.takeSign("{");
    const { text } = parser.next();
    if (braced) parser.expectSign("}");
    if (text !== "+" && text !== "-") throw new Unparsable("no side");
    return { target: sign < 0 ? product([number(-1), base]) : base, side: text === "+" ? 1 : -1 };
  });
}

/** \frac{d}{dx} body and \frac{d^2}{dx^2} body; null where numerator and denominator say something else. */
export function derivative(parser: Parser, numerator: Expression, denominator: Expression): Expression | null {
  const [operator, ...rest] = flat(numerator);
  const order = operator === undefined ? null : orderOf(operator, "d");
  const [below, letter, ...more] = flat(denominator);
  if (order === null || below === undefined || letter === undefined || more.length > 0) return null;
  const variable = letter.kind === "power" ? letter.base : letter;
  if (orderOf(below, "d") !== 1 || variable.kind !== "symbol" || orderOf(letter, variable.name) !== order) return null;
  // dy/dx alone is a name, not a task.
  if (rest.length === 1 && rest[0]?.kind === "symbol")
    return { kind: "symbol", name: `d${rest[0].name}/d${variable.name}` };
  let result: Expression | null = rest.length > 0 ? product(rest) : operand(parser);
  for (let taken = 0; taken < order && result !== null; taken++) result = differentiate(result, variable.name);
  if (result === null) throw new Unparsable("a derivative that no rule gives");
  return result;
}

/** How often the letter stands there: d is 1, d^2 is 2; null for anything else. */
function orderOf(expression: Expression, letter: string): number | null {
  if (expression.kind === "symbol") return expression.name === letter ? 1 : null;
  if (expression.kind !== "power" || expression.base.kind !== "symbol" || expression.base.name !== letter) return null;
  const { exponent } = expression;
  const order = exponent.kind === "number" && exponent.value.denominator === 1n ? Number(exponent.value.numerator) : 0;
  return order >= 1 && order <= MAX_ORDER ? order : null;
}

/** Factors up to the next sign. */
export function operand(parser: Parser): Expression {
  const factors = [parser.power()];
  while (parser.peek() !== undefined && !["+", "-", "=", ",", ";"].some((sign) => parser.isSign(sign))) {
    const isProduct = parser.takeCommand("cdot") || parser.takeSign("*") || parser.takeCommand("times");
    const more = parser.attempt(() => parser.power());
    if (more === null && isProduct) throw new Unparsable("a factor is missing");
    if (more === null) break;
    factors.push(more);
  }
  return product(factors);
}

/** \int \frac{dx}{x}: the differential is among the factors. */
function fromNumerator(expression: Expression): { body: Expression; variable: string } {
  const factors = flat(expression);
  const at = factors.findIndex(({ kind, ...one }) => kind === "symbol" && "name" in one && one.name === "d");
  const letter = factors[at + 1];
  if (at < 0 || letter?.kind !== "symbol") throw new Unparsable("an integral needs dx");
  const rest = factors.filter((_, index) => index !== at && index !== at + 1);
  return { body: rest.length === 0 ? number(1) : product(rest), variable: letter.name };
}

function flat(expression: Expression): Expression[] {
  return expression.kind === "product" ? expression.factors.flatMap(flat) : [expression];
}

function bound(name: string, body: Expression, variable: string, more: readonly Expression[]): Expression {
  let depth = 0;
  while (some(body, (node) => node.kind === "symbol" && node.name === `bound ${depth}`)) depth++;
  const own = `bound ${depth}`;
  const renamed = mapSymbols(body, (symbol) => ({
    kind: "symbol",
    name: symbol === variable ? own : symbol.replace(`(${variable})`, `(${own})`),
  }));
  return call(name, renamed, { kind: "text", text: own }, ...more);
}
