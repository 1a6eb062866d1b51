/** The value of an expression, exactly as a fraction where it is one, else as a complex double with an error bound. */
import * as c from "./complex.ts";
import type { Complex } from "./complex.ts";
import type { Bindings, Expression } from "./expression.ts";
import { approximateCall } from "./functions.ts";
import { exactCall } from "./functions-exact.ts";
import * as q from "./rational.ts";
import type { Rational } from "./rational.ts";

/** Null when it is not rational, not known to be, undefined, or too long. */
export function exact(expression: Expression, bindings: Bindings<Rational>): Rational | null {
  switch (expression.kind) {
    case "number":
    case "based":
      return expression.value;
    case "symbol":
      return bindings.get(expression.name) ?? null;
    case "sum":
      return fold(expression.terms, bindings, q.ZERO, q.add);
    case "product":
      return fold(expression.factors, bindings, q.ONE, q.multiply);
    case "power":
      return exactPower(expression, bindings);
    case "percent": {
      const value = exact(expression.value, bindings);
      return value === null ? null : q.rational(value.numerator, value.denominator * 100n);
    }
    case "quantity":
      return exact(expression.value, bindings);
    case "ratio":
      return expression.parts.length === 2 ? exactRatio(expression.parts, bindings) : null;
    case "call":
      return exactCall(expression, bindings, exact);
    default:
      return null;
  }
}

function fold(
  parts: readonly Expression[],
  bindings: Bindings<Rational>,
  start: Rational,
  join: (a: Rational, b: Rational) => Rational | null,
): Rational | null {
  let result = start;
  for (const part of parts) {
    const value = exact(part, bindings);
    const joined = value === null ? null : join(result, value);
    if (joined === null) return null;
    result = joined;
  }
  return result;
}

function exactRatio([first, second]: readonly Expression[], bindings: Bindings<Rational>): Rational | null {
  const [a, b] = [first, second].map((part) => (part === undefined ? null : exact(part, bindings)));
  const inverse = b === null || b === undefined ? null : q.invert(b);
  return a === null || a === undefined || inverse === null ? null : q.multiply(a, inverse);
}

function exactPower(expression: Expression & { kind: "power" }, bindings: Bindings<Rational>): Rational | null {
  const base = exact(expression.base, bindings);
  const exponent = base === null ? null : exact(expression.exponent, bindings);
  if (base === null || exponent === null) return null;
  if (q.isInteger(exponent)) return q.power(base, exponent.numerator);
  if (exponent.denominator > 64n || base.numerator < 0n) return null;
  const root = q.exactRoot(base, Number(exponent.denominator));
  return root === null ? null : q.power(root, exponent.numerator);
}

/** Null when it is undefined there or has no number (a set, words). */
export function approximate(expression: Expression, bindings: Bindings<Complex>): Complex | null {
  const value = approximateUnchecked(expression, bindings);
  return value !== null && c.isFinite(value) ? value : null;
}

function approximateUnchecked(expression: Expression, bindings: Bindings<Complex>): Complex | null {
  switch (expression.kind) {
    case "number":
    case "based":
      return c.complex(q.toNumber(expression.value));
    case "symbol":
      return bindings.get(expression.name) ?? null;
    case "constant":
      if (expression.name === "i") return c.complex(0, 1, 0);
      return expression.name === "infinity" ? null : c.complex(expression.name === "pi" ? Math.PI : Math.E);
    case "sum":
      return foldComplex(expression.terms, bindings, c.complex(0, 0, 0), c.add);
    case "product":
      return foldComplex(expression.factors, bindings, c.complex(1, 0, 0), c.multiply);
    case "power":
      return approximatePower(expression, bindings);
    case "percent":
    case "degrees": {
      const value = approximate(expression.value, bindings);
      const factor = expression.kind === "percent" ? 0.01 : Math.PI / 180;
      return value === null ? null : c.multiply(value, c.complex(factor));
    }
    case "quantity":
      return approximate(expression.value, bindings);
    case "ratio": {
      const [first, second, third] = expression.parts;
      if (first === undefined || second === undefined || third !== undefined) return null;
      const [a, b] = [approximate(first, bindings), approximate(second, bindings)];
      const inverse = b === null ? null : c.invert(b);
      return a === null || inverse === null ? null : c.multiply(a, inverse);
    }
    case "call":
      return approximateCall(expression, bindings, { exact, approximate });
    default:
      return null;
  }
}

/** Whole powers of exact bases keep their precision; (-8)^{1/3} is the real root, as answers mean it. */
function approximatePower(expression: Expression & { kind: "power" }, bindings: Bindings<Complex>): Complex | null {
  const exponent = exact(expression.exponent, new Map());
  const base = approximate(expression.base, bindings);
  if (base === null) return null;
  if (exponent !== null && q.isInteger(exponent)) return c.power(base, c.complex(q.toNumber(exponent), 0, 0));
  const isOddRoot = exponent !== null && exponent.denominator % 2n === 1n && exponent.denominator < 1000n;
  if (isOddRoot && base.im === 0 && base.re < 0) {
    const size = c.power({ ...base, re: -base.re }, c.complex(q.toNumber(exponent)));
    const sign = exponent.numerator % 2n === 0n ? 1 : -1;
    return size === null ? null : { ...size, re: sign * size.re };
  }
  const power = approximate(expression.exponent, bindings);
  return power === null ? null : c.power(base, power);
}

function foldComplex(
  parts: readonly Expression[],
  bindings: Bindings<Complex>,
  start: Complex,
  join: (a: Complex, b: Complex) => Complex,
): Complex | null {
  let result = start;
  for (const part of parts) {
    const value = approximate(part, bindings);
    if (value === null) return null;
    result = join(result, value);
  }
  return result;
}
