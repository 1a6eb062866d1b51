/**
 * Values of definite integrals and limits, where numbers settle them: with an error bound, or null. What does not clearly converge has no value
 * here, so that nothing is equal by chance.
 */
import * as c from "./complex.ts";
import type { Complex } from "./complex.ts";
import type { Bindings, Evaluate, Expression } from "./expression.ts";

type Call = Expression & { kind: "call" };
type RealFunction = (x: number) => Complex | null;

/** How often the step of the integration rule is halved. */
const LEVELS = 8;
const WIDEST = 4;
/** Required agreement of two estimates in a row. */
const AGREEMENT = 1e-11;
/** Factor on an estimated error. */
const CAUTION = 10;

export function approximateIntegral(
  { args: [body, variable, low, high] }: Call,
  bindings: Bindings<Complex>,
  approximate: Evaluate<Complex>,
): Complex | null {
  if (body === undefined || variable?.kind !== "text" || low === undefined || high === undefined) return null;
  const [a, b] = [boundOf(low, bindings, approximate), boundOf(high, bindings, approximate)];
  if (a === null || b === null) return null;
  if (a === b) return c.complex(0, 0, 0);
  const f: RealFunction = (x) => approximate(body, new Map(bindings).set(variable.text, c.complex(x)));
  const value = integrate(f, Math.min(a, b), Math.max(a, b));
  return value === null || a < b ? value : { ...value, re: -value.re, im: -value.im };
}

/** Double-exponential rule (Takahasi and Mori, 1974): x(t) runs from low to high so that the ends fade out. */
function integrate(f: RealFunction, low: number, high: number): Complex | null {
  const node = nodes(low, high);
  const term = (t: number): Complex | null => {
    const { x, weight } = node(t);
    // So near to an end that it is the end: what is there weighs nothing.
    if (!Number.isFinite(x) || !Number.isFinite(weight) || weight === 0 || x <= low || x >= high) return ZERO;
    const value = f(x);
    return value === null ? null : c.multiply(value, c.complex(weight));
  };
  let sum: Complex = ZERO;
  let estimate: Complex | null = null;
  let agreed = 0;
  for (let level = 0; level < LEVELS; level++) {
    const step = 2 ** -level;
    // Only the points between those of the level before are new.
    for (let k = Math.ceil(-WIDEST / step); k * step <= WIDEST; k++) {
      if (level > 0 && k % 2 === 0) continue;
      const value = term(k * step);
      if (value === null) return null;
      sum = c.add(sum, value);
    }
    const next: Complex = c.multiply(sum, c.complex(step, 0, 0));
    const change = estimate === null ? Infinity : Math.hypot(next.re - estimate.re, next.im - estimate.im);
    agreed = change <= AGREEMENT * Math.max(c.modulus(next), 1e-3) ? agreed + 1 : 0;
    if (agreed === 2) return { ...next, error: Math.max(next.error, CAUTION * change) };
    estimate = next;
  }
  return null;
}

const ZERO = c.complex(0, 0, 0);
const HALF_PI = Math.PI / 2;

function nodes(low: number, high: number): (t: number) => { x: number; weight: number } {
  if (Number.isFinite(low) && Number.isFinite(high)) {
    const length = high - low;
    return (t) => {
      const u = HALF_PI * Math.sinh(t);
      // From the nearer end, so that what is small stays exact.
      const share = 1 / (1 + Math.exp(2 * Math.abs(u)));
      const x = u < 0 ? low + length * share : high - length * share;
      return { x, weight: (length * HALF_PI * Math.cosh(t)) / (2 * Math.cosh(u) ** 2) };
    };
  }
  if (low === -Infinity && high === Infinity) {
    return (t) => {
      const u = HALF_PI * Math.sinh(t);
      return { x: Math.sinh(u), weight: HALF_PI * Math.cosh(t) * Math.cosh(u) };
    };
  }
  const [start, sign] = high === Infinity ? [low, 1] : [high, -1];
  return (t) => {
    const distance = Math.exp(HALF_PI * Math.sinh(t));
    return { x: start + sign * distance, weight: distance * HALF_PI * Math.cosh(t) };
  };
}

/** Points that halve their distance to the target; no whole multiples of anything, so that no oscillation is met at its zeros. */
const FIRST_DISTANCE = 0.137;
const POINTS = 14;

export function approximateLimit(
  { args: [body, variable, target, side] }: Call,
  bindings: Bindings<Complex>,
  approximate: Evaluate<Complex>,
): Complex | null {
  if (body === undefined || variable?.kind !== "text" || target === undefined || side?.kind !== "number") return null;
  const at = boundOf(target, bindings, approximate);
  if (at === null) return null;
  const f: RealFunction = (x) => approximate(body, new Map(bindings).set(variable.text, c.complex(x)));
  if (!Number.isFinite(at)) return extrapolate((h) => f(Math.sign(at) / h));
  const sides = side.value.numerator === 0n ? [1, -1] : [Number(side.value.numerator)];
  const values = sides.map((sign) => extrapolate((h) => f(at + sign * h)));
  const [first, second = first] = values;
  if (first === null || second === null || first === undefined || second === undefined) return null;
  const apart = Math.hypot(first.re - second.re, first.im - second.im);
  if (apart > 1e-7 * Math.max(c.modulus(first), 1e-3)) return null;
  return { ...first, error: first.error + second.error + apart };
}

/** The value at h = 0 of what is smooth there, from ever smaller h (Neville's scheme for halved steps). */
function extrapolate(f: (h: number) => Complex | null): Complex | null {
  let row: Complex[] = [];
  let best: Complex | null = null;
  let before = Infinity;
  for (let point = 0; point < POINTS; point++) {
    const value = f(FIRST_DISTANCE * 2 ** -point);
    if (value === null) return null;
    const next = [value];
    for (const [order, old] of row.entries()) {
      const finer = next[order] ?? value;
      const scale = 2 ** (order + 1) - 1;
      next.push({
        re: finer.re + (finer.re - old.re) / scale,
        im: finer.im + (finer.im - old.im) / scale,
        error: finer.error + (finer.error + old.error) / scale,
      });
    }
    const [last, former] = [next.at(-1), row.at(-1)];
    if (last !== undefined && former !== undefined) {
      const change = Math.hypot(last.re - former.re, last.im - former.im);
      const size = Math.max(c.modulus(last), 1e-3);
      if (Math.max(change, before) <= 1e-8 * size && last.error <= 1e-8 * size)
        best = { ...last, error: last.error + CAUTION * Math.max(change, before) };
      if (best !== null && change > before) break;
      before = change;
    }
    row = next;
  }
  return best;
}

/** A real number, or an infinity. */
function boundOf(expression: Expression, bindings: Bindings<Complex>, approximate: Evaluate<Complex>): number | null {
  if (expression.kind === "constant" && expression.name === "infinity") return Infinity;
  if (expression.kind === "product" && expression.factors.length === 2) {
    const [sign, rest] = expression.factors;
    const isInfinity = rest?.kind === "constant" && rest.name === "infinity";
    if (isInfinity && sign?.kind === "number") return sign.value.numerator < 0n ? -Infinity : Infinity;
  }
  const value = approximate(expression, bindings);
  return value === null || Math.abs(value.im) > value.error ? null : value.re;
}
