/** Functions whose values are fractions: roots that come out even, factorials, whole-number functions, finite sums. */
import type { Bindings, Evaluate, Expression } from "./expression.ts";
import * as q from "./rational.ts";
import type { Rational } from "./rational.ts";

/** Terms of a \sum or \prod that are added up. */
export const MAX_TERMS = 10_000n;
const MAX_FACTORIAL = 5000n;

export function exactCall(
  expression: Expression & { kind: "call" },
  bindings: Bindings<Rational>,
  exact: Evaluate<Rational>,
): Rational | null {
  const { name, args } = expression;
  if (name === "sum" || name === "prod") return series(expression, bindings, exact);
  const values: Rational[] = [];
  for (const argument of args) {
    const value = exact(argument, bindings);
    if (value === null) return null;
    values.push(value);
  }
  const [a, b] = values;
  if (a === undefined) return null;
  switch (name) {
    case "abs":
      return a.numerator < 0n ? q.negate(a) : a;
    case "sqrt":
    case "cbrt":
      return q.exactRoot(a, name === "sqrt" ? 2 : 3);
    case "root":
      return b !== undefined && q.isInteger(b) && b.numerator > 0n && b.numerator < 64n
        ? q.exactRoot(a, Number(b.numerator))
        : null;
    case "floor":
      return q.integer(q.floor(a));
    case "ceil":
      return q.integer(-q.floor(q.negate(a)));
    case "sgn":
      return q.integer(a.numerator < 0n ? -1 : a.numerator > 0n ? 1 : 0);
    case "mod":
      return modulo(a, b);
    case "conjugate":
    case "Re":
      return a;
    case "Im":
      return q.ZERO;
    case "factorial":
      return factorial(a, 1n);
    case "doubleFactorial":
      return factorial(a, 2n);
    case "binomial":
      return binomial(a, b);
    case "max":
      return values.reduce((best, value) => (q.compare(value, best) > 0 ? value : best));
    case "min":
      return values.reduce((best, value) => (q.compare(value, best) < 0 ? value : best));
    case "gcd":
      return values.every(q.isInteger) ? q.integer(values.reduce((x, { numerator }) => q.gcd(x, numerator), 0n)) : null;
    case "lcm":
      return values.every(q.isInteger) ? leastCommonMultiple(values) : null;
    case "log":
      return b === undefined ? exactLog(a, q.integer(10)) : exactLog(a, b);
    case "exp":
      return a.numerator === 0n ? q.ONE : null;
    case "ln":
      return q.equal(a, q.ONE) ? q.ZERO : null;
    default:
      return null;
  }
}

function modulo(a: Rational, b: Rational | undefined): Rational | null {
  const inverse = b === undefined ? null : q.invert(b);
  const quotient = inverse === null ? null : q.multiply(a, inverse);
  if (quotient === null || b === undefined) return null;
  const whole = q.multiply(b, q.integer(q.floor(quotient)));
  return whole === null ? null : q.add(a, q.negate(whole));
}

function factorial(a: Rational, step: bigint): Rational | null {
  if (!q.isInteger(a) || a.numerator < 0n || a.numerator > MAX_FACTORIAL) return null;
  let result = 1n;
  for (let factor = a.numerator; factor > 1n; factor -= step) result *= factor;
  return q.integer(result);
}

function binomial(a: Rational, b: Rational | undefined): Rational | null {
  if (b === undefined || !q.isInteger(a) || !q.isInteger(b)) return null;
  const [n, k] = [a.numerator, b.numerator];
  if (n < 0n || n > 10n * MAX_FACTORIAL) return null;
  if (k < 0n || k > n) return q.ZERO;
  const chosen = k * 2n > n ? n - k : k;
  if (chosen > MAX_FACTORIAL) return null;
  let result = 1n;
  for (let i = 1n; i <= chosen; i++) result = (result * (n - chosen + i)) / i;
  return q.integer(result);
}

function leastCommonMultiple(values: readonly Rational[]): Rational | null {
  let result = 1n;
  for (const { numerator } of values) {
    if (numerator === 0n) return q.ZERO;
    result = (result / q.gcd(result, numerator)) * numerator;
  }
  return q.integer(result < 0n ? -result : result);
}

/** log_b(a) when it is whole or the reciprocal of a whole number. */
function exactLog(a: Rational, base: Rational): Rational | null {
  if (a.numerator <= 0n || base.numerator <= 0n || q.equal(base, q.ONE)) return null;
  if (q.equal(a, q.ONE)) return q.ZERO;
  const guess = Math.log(q.toNumber(a)) / Math.log(q.toNumber(base));
  const rounded = Math.round(guess);
  if (!Number.isFinite(guess) || Math.abs(rounded) > 4096) return null;
  const power = q.power(base, BigInt(rounded));
  return power !== null && q.equal(power, a) ? q.integer(rounded) : null;
}

function series(
  expression: Expression & { kind: "call" },
  bindings: Bindings<Rational>,
  exact: Evaluate<Rational>,
): Rational | null {
  const [body, index, low, high] = expression.args;
  if (body === undefined || index?.kind !== "text" || low === undefined || high === undefined) return null;
  const [from, to] = [exact(low, bindings), exact(high, bindings)];
  if (from === null || to === null || !q.isInteger(from) || !q.isInteger(to)) return null;
  if (to.numerator - from.numerator > MAX_TERMS) return null;
  let result: Rational | null = expression.name === "sum" ? q.ZERO : q.ONE;
  for (let i = from.numerator; i <= to.numerator && result !== null; i++) {
    const term = exact(body, new Map(bindings).set(index.text, q.integer(i)));
    result = term === null ? null : expression.name === "sum" ? q.add(result, term) : q.multiply(result, term);
  }
  return result;
}
