/** Equations in several symbols that hold at the same points though no factor makes one the other: xy = 1 and y = 1/x. */
import * as c from "../values/complex.ts";
import { approximate } from "../values/evaluate.ts";
import type { Expression } from "../values/expression.ts";
import * as q from "../values/rational.ts";
import { sampleOf } from "./samples.ts";

type RealFunction = (x: number) => number | null;

const LINES = 3;
const LEAST_ZEROS = 4;
/** Points between which a line is searched; no zeros of anything. */
const GRID = Array.from({ length: 47 }, (_, index) => Math.sinh((index - 23) / 7.137) * 0.9713);
const STEPS = 60;

/** Whether f and g vanish together, on lines along every symbol. */
export function sameZeros(f: Expression, g: Expression, symbols: readonly string[]): boolean {
  if (symbols.length < 2 || symbols.length > 4) return false;
  return vanishesWith(f, g, symbols) && vanishesWith(g, f, symbols);
}

/** Whether the second is zero where the first is. */
function vanishesWith(f: Expression, g: Expression, symbols: readonly string[]): boolean {
  let known = 0;
  for (let sample = 0; sample < LINES; sample++) {
    for (const symbol of symbols) {
      const [along, other] = [onLine(f, symbols, symbol, sample), onLine(g, symbols, symbol, sample)];
      for (const zero of zerosOf(along)) {
        if (!isZero(other, zero)) return false;
        known++;
      }
    }
  }
  return known >= LEAST_ZEROS;
}

/** A function of one symbol; the others have the values of a sample. */
function onLine(f: Expression, symbols: readonly string[], free: string, sample: number): RealFunction {
  const bindings = new Map(
    symbols.map((name, index) => [name, c.complex(q.toNumber(sampleOf(sample, index)))] as const),
  );
  return (x) => {
    const value = approximate(f, bindings.set(free, c.complex(x)));
    return value === null || Math.abs(value.im) > value.error + 1e-12 ? null : value.re;
  };
}

function zerosOf(f: RealFunction): number[] {
  const zeros: number[] = [];
  let before: { x: number; value: number } | null = null;
  for (const x of GRID) {
    const value = f(x);
    if (value !== null && before !== null && Math.sign(before.value) !== Math.sign(value)) {
      const zero = bisect(f, before.x, x);
      if (isZero(f, zero)) zeros.push(zero);
    }
    before = value === null ? null : { x, value };
  }
  return zeros;
}

function bisect(f: RealFunction, from: number, to: number): number {
  let [low, high] = [from, to];
  const sign = Math.sign(f(low) ?? 0);
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (Math.sign(f(middle) ?? 0) === sign) low = middle;
    else high = middle;
  }
  return high;
}

/** Nearly nothing there, measured by what the function is a little beside; a pole changes its sign too. */
function isZero(f: RealFunction, x: number): boolean {
  const step = 1e-3 * Math.max(1, Math.abs(x));
  const [at, left, right] = [f(x), f(x - step), f(x + step)];
  if (at === null || left === null || right === null) return false;
  return Math.abs(at) <= 1e-6 * Math.max(Math.abs(left), Math.abs(right));
}
