/** Derivatives by the rules. Null for what no rule here knows: steps, words, sets. */
import { call, type Expression, number, product, quotient, sum, symbolsOf } from "./expression.ts";

const ZERO = number(0);
const ONE = number(1);

/** The derivative of a function, at its argument. */
const SLOPES: Readonly<Record<string, (u: Expression) => Expression>> = {
  sin: (u) => call("cos", u),
  cos: (u) => minus(call("sin", u)),
  tan: (u) => power(call("cos", u), -2),
  cot: (u) => minus(power(call("sin", u), -2)),
  sec: (u) => product([call("sec", u), call("tan", u)]),
  csc: (u) => minus(product([call("csc", u), call("cot", u)])),
  arcsin: (u) => quotient(ONE, call("sqrt", sum([ONE, minus(power(u, 2))]))),
  arccos: (u) => minus(quotient(ONE, call("sqrt", sum([ONE, minus(power(u, 2))])))),
  arctan: (u) => quotient(ONE, sum([ONE, power(u, 2)])),
  sinh: (u) => call("cosh", u),
  cosh: (u) => call("sinh", u),
  tanh: (u) => power(call("cosh", u), -2),
  exp: (u) => call("exp", u),
  ln: (u) => power(u, -1),
  sqrt: (u) => quotient(ONE, product([number(2), call("sqrt", u)])),
};

export function differentiate(expression: Expression, variable: string): Expression | null {
  if (!symbolsOf(expression).has(variable)) return isValue(expression) ? ZERO : null;
  const inner = (part: Expression): Expression | null => differentiate(part, variable);
  switch (expression.kind) {
    case "symbol":
      return ONE;
    case "sum":
      return whole(expression.terms.map(inner), sum);
    case "product":
      return whole(
        expression.factors.map((factor, index) => {
          const slope = inner(factor);
          return slope === null ? null : product(expression.factors.map((one, at) => (at === index ? slope : one)));
        }),
        sum,
      );
    case "power":
      return powerRule(expression.base, expression.exponent, variable);
    case "call": {
      const [argument, base] = expression.args;
      if (argument === undefined) return null;
      if (expression.name === "log") {
        const ln = call("ln", argument);
        return inner(quotient(ln, call("ln", base ?? number(10))));
      }
      const slope = Object.hasOwn(SLOPES, expression.name) ? SLOPES[expression.name]?.(argument) : undefined;
      const chain = expression.args.length === 1 ? inner(argument) : null;
      return slope === undefined || chain === null ? null : product([slope, chain]);
    }
    default:
      return null;
  }
}

function powerRule(base: Expression, exponent: Expression, variable: string): Expression | null {
  const [slope, growth] = [differentiate(base, variable), differentiate(exponent, variable)];
  if (slope === null || growth === null) return null;
  const itself: Expression = { kind: "power", base, exponent };
  if (!symbolsOf(exponent).has(variable)) {
    return product([exponent, { kind: "power", base, exponent: sum([exponent, number(-1)]) }, slope]);
  }
  const byExponent = product([growth, call("ln", base)]);
  if (!symbolsOf(base).has(variable)) return product([itself, byExponent]);
  return product([itself, sum([byExponent, product([exponent, quotient(slope, base)])])]);
}

function isValue({ kind }: Expression): boolean {
  return ["number", "symbol", "constant", "sum", "product", "power", "call"].includes(kind);
}

function whole(
  parts: readonly (Expression | null)[],
  join: (parts: readonly Expression[]) => Expression,
): Expression | null {
  const known = parts.filter((part) => part !== null);
  return known.length === parts.length ? join(known) : null;
}

function minus(expression: Expression): Expression {
  return product([number(-1), expression]);
}

function power(base: Expression, exponent: number): Expression {
  return { kind: "power", base, exponent: number(exponent) };
}
