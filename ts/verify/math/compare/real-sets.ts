/**
 * Sets of real numbers in whatever form: intervals, unions, inequalities in one variable.
 *
 * Two are equal when they agree at every point that either could turn on: its endpoints and the zeros of its inequalities, each
 * with a little to both sides, and a spread of points between and beyond.
 */
import * as c from "../values/complex.ts";
import { approximate } from "../values/evaluate.ts";
import { children, type Expression, symbolsOf } from "../values/expression.ts";

/** Whether the form is one that describes a set of reals and nothing else. */
export function isRealSet(expression: Expression): boolean {
  switch (expression.kind) {
    case "interval":
    case "numberSet":
    case "setOperation":
      return true;
    case "relation":
      return expression.operators.some((operator) => operator !== "=" && operator !== "~");
    case "tuple":
      return expression.brackets === "" && expression.items.length > 0 && expression.items.every(isRealSet);
    default:
      return false;
  }
}

/** Null when one of them cannot be read as a set of reals. */
export function sameRealSet(gold: Expression, answer: Expression): boolean | null {
  const symbols = new Set([...symbolsOf(gold), ...symbolsOf(answer)]);
  const [symbol = "x", ...others] = symbols;
  if (others.length > 0) return null;
  const points = new Set<number>();
  for (const expression of [gold, answer]) for (const point of turningPoints(expression, symbol)) points.add(point);
  const around = [...points].flatMap((point) => {
    const step = 1e-5 * Math.max(1, Math.abs(point));
    return [point - step, point, point + step];
  });
  let known = 0;
  for (const point of [...around, ...SPREAD]) {
    const [a, b] = [contains(gold, point, symbol), contains(answer, point, symbol)];
    if (a === null || b === null) continue;
    if (a !== b) return false;
    known++;
  }
  return known >= SPREAD.length / 2 ? true : null;
}

const SPREAD = Array.from({ length: 81 }, (_, index) => Math.sinh((index - 40) / 5.0371));

function turningPoints(expression: Expression, symbol: string): number[] {
  const own: number[] = [];
  if (expression.kind === "interval") own.push(...[expression.low, expression.high].flatMap(realValue));
  if (expression.kind === "tuple" || expression.kind === "set") own.push(...expression.items.flatMap(realValue));
  if (expression.kind === "relation") {
    expression.sides.slice(1).forEach((side, index) => {
      const before = expression.sides[index];
      if (before !== undefined) own.push(...zeros(before, side, symbol));
    });
  }
  return [...own, ...children(expression).flatMap((child) => turningPoints(child, symbol))];
}

function realValue(expression: Expression): number[] {
  const value = approximate(expression, new Map());
  return value === null || Math.abs(value.im) > value.error + 1e-12 ? [] : [value.re];
}

/** Where two sides cross, by bisection between the points of a grid. */
function zeros(left: Expression, right: Expression, symbol: string): number[] {
  const difference = (x: number): number | null => {
    const bindings = new Map([[symbol, c.complex(x)]]);
    const [a, b] = [approximate(left, bindings), approximate(right, bindings)];
    return a === null || b === null ? null : a.re - b.re;
  };
  const found: number[] = [];
  let before: { x: number; value: number } | null = null;
  for (const x of GRID) {
    const value = difference(x);
    if (value === null) {
      before = null;
      continue;
    }
    if (Math.abs(value) < 1e-12) found.push(x);
    else if (before !== null && Math.sign(before.value) !== Math.sign(value))
      found.push(bisect(difference, before.x, x));
    before = { x, value };
  }
  return found.sort((a, b) => Math.abs(a) - Math.abs(b)).slice(0, 64);
}

/** Dense near 0, then in steps of a fifth, then of the double: a border that is beyond all points is none. */
const GRID = [
  ...Array.from({ length: 161 }, (_, index) => (index - 80) * 0.25),
  ...Array.from({ length: 60 }, (_, index) => 20 * 1.2 ** index).flatMap((x) => [x, -x]),
  ...Array.from({ length: 60 }, (_, index) => 20 * 1.2 ** 59 * 2 ** (index + 1)).flatMap((x) => [x, -x]),
].sort((a, b) => a - b);

function bisect(difference: (x: number) => number | null, from: number, to: number): number {
  let [low, high] = [from, to];
  const sign = Math.sign(difference(low) ?? 0);
  for (let step = 0; step < 80; step++) {
    const middle = (low + high) / 2;
    if (Math.sign(difference(middle) ?? 0) === sign) low = middle;
    else high = middle;
  }
  // A zero that a person would write: then the point itself can be tested.
  const rounded = Math.round(high * 1e9) / 1e9;
  return Math.abs(rounded - high) < 1e-12 * Math.max(1, Math.abs(high)) ? rounded : high;
}

/** Null when it cannot be said there. */
function contains(expression: Expression, x: number, symbol: string): boolean | null {
  switch (expression.kind) {
    case "numberSet":
      return expression.name === "R";
    case "interval":
      return inInterval(expression, x);
    case "setOperation": {
      const [a, b] = expression.of.map((one) => contains(one, x, symbol));
      if (a === null || b === null || a === undefined || b === undefined) return null;
      return expression.name === "union" ? a || b : expression.name === "intersection" ? a && b : a && !b;
    }
    case "relation":
      return holds(expression, x, symbol);
    case "set":
      if (expression.items.some(isRealSet)) return null;
      return expression.items.some((item) => realValue(item).some((value) => near(value, x)));
    case "tuple":
      return inTuple(expression, x, symbol);
    default:
      return null;
  }
}

function inTuple(expression: Expression & { kind: "tuple" }, x: number, symbol: string): boolean | null {
  const [low, high] = expression.items;
  if (expression.brackets === "") {
    const parts = expression.items.map((item) => contains(item, x, symbol));
    if (parts.includes(null)) return null;
    return expression.joined === "or" ? parts.includes(true) : !parts.includes(false);
  }
  if (expression.items.length !== 2 || low === undefined || high === undefined || expression.brackets === "<>")
    return null;
  const open = expression.brackets === "()";
  return inInterval({ kind: "interval", low, high, lowOpen: open, highOpen: open }, x);
}

function inInterval(interval: Expression & { kind: "interval" }, x: number): boolean | null {
  const [low, high] = [endpoint(interval.low), endpoint(interval.high)];
  if (low === null || high === null) return null;
  const aboveLow = near(x, low) ? !interval.lowOpen : x > low;
  const belowHigh = near(x, high) ? !interval.highOpen : x < high;
  return aboveLow && belowHigh;
}

/** The end of an interval, infinite ones included. */
export function endpoint(expression: Expression): number | null {
  return infinity(expression) ?? realValue(expression)[0] ?? null;
}

/** The infinity that it is, by the signs of its factors; null for anything else. */
function infinity(expression: Expression): number | null {
  if (expression.kind === "constant") return expression.name === "infinity" ? Infinity : null;
  if (expression.kind !== "product") return null;
  const factors = expression.factors.map((factor) => infinity(factor) ?? realValue(factor)[0] ?? Number.NaN);
  const value = factors.reduce((product, factor) => product * factor, 1);
  return factors.some((factor) => Math.abs(factor) === Infinity) && !Number.isNaN(value) ? value : null;
}

function holds(relation: Expression & { kind: "relation" }, x: number, symbol: string): boolean | null {
  const bindings = new Map([[symbol, c.complex(x)]]);
  for (let index = 0; index < relation.operators.length; index++) {
    const [left, right] = [relation.sides[index], relation.sides[index + 1]];
    const operator = relation.operators[index];
    if (left === undefined || right === undefined || operator === undefined) return null;
    if (operator === "in") {
      const inside = contains(right, x, symbol);
      if (inside !== true) return inside;
      continue;
    }
    const [l, r] = [sideValue(left, bindings), sideValue(right, bindings)];
    if (l === null || r === null) return null;
    const same = near(l, r);
    const truth =
      operator === "=" || operator === "~"
        ? same
        : operator === "!="
          ? !same
          : operator === "<"
            ? l < r && !same
            : operator === ">"
              ? l > r && !same
              : operator === "<="
                ? l < r || same
                : l > r || same;
    if (!truth) return false;
  }
  return true;
}

function sideValue(side: Expression, bindings: ReadonlyMap<string, c.Complex>): number | null {
  const value = approximate(side, bindings);
  if (value !== null) return Math.abs(value.im) <= value.error + 1e-12 ? value.re : null;
  const end = endpoint(side);
  return end === Infinity || end === -Infinity ? end : null;
}

function near(a: number, b: number): boolean {
  if (!Number.isFinite(a) || !Number.isFinite(b)) return a === b;
  return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
}
