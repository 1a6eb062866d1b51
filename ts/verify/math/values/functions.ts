/** Functions of complex doubles. */
import * as c from "./complex.ts";
import type { Complex } from "./complex.ts";
import type { Bindings, Evaluate, Expression } from "./expression.ts";
import { exactCall, MAX_TERMS } from "./functions-exact.ts";
import { approximateIntegral, approximateLimit } from "./numeric-calculus.ts";
import * as q from "./rational.ts";
import type { Rational } from "./rational.ts";

const I = c.complex(0, 1, 0);
const HALF = c.complex(0.5, 0, 0);
/** The error of a number that was written out. */
const EXACT = 2 ** -52;
const minus = (a: Complex): Complex => ({ re: -a.re, im: -a.im, error: a.error });

type Real = readonly [(x: number) => number, (x: number) => number];

/** Functions on the reals with their derivatives. */
const REAL: Readonly<Record<string, Real>> = {
  arcsin: [Math.asin, (x) => 1 / Math.sqrt(1 - x * x)],
  arccos: [Math.acos, (x) => 1 / Math.sqrt(1 - x * x)],
  arctan: [Math.atan, (x) => 1 / (1 + x * x)],
  arccot: [(x) => Math.PI / 2 - Math.atan(x), (x) => 1 / (1 + x * x)],
  arcsinh: [Math.asinh, (x) => 1 / Math.sqrt(1 + x * x)],
  arccosh: [Math.acosh, (x) => 1 / Math.sqrt(x * x - 1)],
  arctanh: [Math.atanh, (x) => 1 / (1 - x * x)],
  tanh: [Math.tanh, () => 1],
  sgn: [Math.sign, () => 0],
};

/** Both ways to a value. */
export interface Evaluators {
  readonly exact: Evaluate<Rational>;
  readonly approximate: Evaluate<Complex>;
}

export function approximateCall(
  expression: Expression & { kind: "call" },
  bindings: Bindings<Complex>,
  evaluators: Evaluators,
): Complex | null {
  const { name, args } = expression;
  if (name === "sum" || name === "prod") return series(expression, bindings, evaluators);
  if (name === "integral") return approximateIntegral(expression, bindings, evaluators.approximate);
  if (name === "limit") return approximateLimit(expression, bindings, evaluators.approximate);
  // Whole-number functions have no meaning for rounded arguments unless those are exact.
  if (STEPS.has(name)) {
    const value = exactCall(expression, new Map(), evaluators.exact);
    return value === null
      ? step(
          name,
          args.map((argument) => evaluators.approximate(argument, bindings)),
        )
      : c.complex(q.toNumber(value));
  }
  const values: Complex[] = [];
  for (const argument of args) {
    const value = evaluators.approximate(argument, bindings);
    if (value === null) return null;
    values.push(value);
  }
  const [a, b] = values;
  return a === undefined ? null : apply(name, a, b, values);
}

const STEPS = new Set(["floor", "ceil", "mod", "factorial", "doubleFactorial", "binomial", "gcd", "lcm"]);

function step(name: string, [a, b]: readonly (Complex | null)[]): Complex | null {
  if (a === null || a === undefined || Math.abs(a.im) > a.error) return null;
  if (name === "floor" || name === "ceil") {
    const value = Math[name](a.re);
    // Too close to a step to know the side.
    return Math.abs(a.re - Math.round(a.re)) <= a.error * 4 ? null : c.complex(value, 0, 0);
  }
  if (name === "mod" && b !== null && b !== undefined && b.re !== 0) {
    return c.complex(a.re - b.re * Math.floor(a.re / b.re));
  }
  if (name === "binomial" && b !== null && b !== undefined && Number.isInteger(a.re) && Number.isInteger(b.re)) {
    return binomial(a.re, b.re);
  }
  if (name === "factorial" && a.re >= 0 && a.re <= 30) return c.complex(gamma(a.re + 1), 0, 1e-12 * gamma(a.re + 1));
  return null;
}

function binomial(n: number, k: number): Complex | null {
  if (n < 0 || n > 60) return null;
  let value = k < 0 || k > n ? 0 : 1;
  for (let i = 1; i <= Math.min(k, n - k); i++) value = (value * (n - i + 1)) / i;
  return c.complex(value);
}

/** Lanczos approximation, g = 7, n = 9 (Numerical Recipes, third edition, section 6.1): relative error below 1e-13. */
function gamma(x: number): number {
  const coefficients = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];
  const t = x + 6.5;
  const total = coefficients.reduce(
    (partial, value, index) => partial + (index === 0 ? value : value / (x - 1 + index)),
    0,
  );
  return Math.sqrt(2 * Math.PI) * t ** (x - 0.5) * Math.exp(-t) * total;
}

function apply(name: string, a: Complex, b: Complex | undefined, all: readonly Complex[]): Complex | null {
  switch (name) {
    case "sqrt":
      return a.re === 0 && a.im === 0 ? a : c.power(a, HALF);
    case "cbrt":
      return root(a, c.complex(3, 0, 0));
    case "root":
      return b === undefined ? null : root(a, b);
    case "exp":
      return c.exp(a);
    case "ln":
      return c.log(a);
    case "log":
      return quotient(c.log(a), b === undefined ? c.complex(Math.LN10) : c.log(b));
    case "abs":
      return { re: c.modulus(a), im: 0, error: a.error };
    case "arg": {
      const logarithm = c.log(a);
      return logarithm === null ? null : { re: logarithm.im, im: 0, error: logarithm.error };
    }
    case "conjugate":
      return { ...a, im: -a.im };
    case "Re":
      return { ...a, im: 0 };
    case "Im":
      return { re: a.im, im: 0, error: a.error };
    case "cis":
      return c.exp(c.multiply(I, a));
    case "max":
    case "min":
      return all.reduce((best, value) => ((name === "max" ? value.re > best.re : value.re < best.re) ? value : best));
    case "sin":
      return half(a, -1, true);
    case "cos":
      return half(a, 1, true);
    case "sinh":
      return half(a, -1, false);
    case "cosh":
      return half(a, 1, false);
    case "tan":
      return quotient(half(a, -1, true), half(a, 1, true));
    case "cot":
      return quotient(half(a, 1, true), half(a, -1, true));
    case "sec":
      return quotient(c.complex(1, 0, 0), half(a, 1, true));
    case "csc":
      return quotient(c.complex(1, 0, 0), half(a, -1, true));
    case "coth":
      return quotient(half(a, 1, false), half(a, -1, false));
    default: {
      const entry = Object.hasOwn(REAL, name) ? REAL[name] : undefined;
      // The ends of arcsin and arccos are known to the last digit.
      if (a.im === 0 && Math.abs(a.re) === 1 && a.error <= EXACT && entry !== undefined)
        return c.complex(entry[0](a.re));
      return entry === undefined ? null : c.real(a, ...entry);
    }
  }
}

/** sin, cos (`circular`) and sinh, cosh as (e^z ± e^-z) / 2, real arguments by the library's own. */
function half(a: Complex, sign: 1 | -1, circular: boolean): Complex {
  if (a.im === 0) {
    const table: Real = circular
      ? sign === 1
        ? [Math.cos, Math.sin]
        : [Math.sin, Math.cos]
      : sign === 1
        ? [Math.cosh, Math.sinh]
        : [Math.sinh, Math.cosh];
    const value = c.real(a, ...table);
    if (value !== null) return value;
  }
  const z = circular ? c.multiply(I, a) : a;
  const second = c.exp(minus(z));
  const total = c.multiply(c.add(c.exp(z), sign === 1 ? second : minus(second)), HALF);
  return circular && sign === -1 ? c.multiply(total, c.complex(0, -1, 0)) : total;
}

function root(a: Complex, order: Complex): Complex | null {
  if (order.im !== 0 || order.re === 0) return null;
  if (a.re === 0 && a.im === 0) return a;
  const isOdd = Number.isInteger(order.re) && order.re % 2 !== 0;
  const exponent = c.complex(1 / order.re);
  if (isOdd && a.im === 0 && a.re < 0) {
    const size = c.power({ ...a, re: -a.re }, exponent);
    return size === null ? null : minus(size);
  }
  return c.power(a, exponent);
}

function quotient(a: Complex | null, b: Complex | null): Complex | null {
  const inverse = b === null ? null : c.invert(b);
  return a === null || inverse === null ? null : c.multiply(a, inverse);
}

function series(
  expression: Expression & { kind: "call" },
  bindings: Bindings<Complex>,
  { exact, approximate }: Evaluators,
): Complex | null {
  const [body, index, low, high] = expression.args;
  if (body === undefined || index?.kind !== "text" || low === undefined || high === undefined) return null;
  const [from, to] = [low, high].map((bound) => exact(bound, new Map()) ?? wholeNumber(approximate(bound, bindings)));
  if (!from || !to || !q.isInteger(from) || !q.isInteger(to)) return null;
  if (to.numerator - from.numerator > MAX_TERMS) return null;
  const isSum = expression.name === "sum";
  let result: Complex = c.complex(isSum ? 0 : 1, 0, 0);
  for (let i = from.numerator; i <= to.numerator; i++) {
    const term = approximate(body, new Map(bindings).set(index.text, c.complex(Number(i), 0, 0)));
    if (term === null) return null;
    result = isSum ? c.add(result, term) : c.multiply(result, term);
  }
  return result;
}

/** A bound whose symbols have whole values. */
function wholeNumber(value: Complex | null): Rational | null {
  return value !== null && value.im === 0 && Number.isSafeInteger(value.re) ? q.integer(value.re) : null;
}
