/** absolute-value-equation: all real solutions of an equation with sums of nested absolute values. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { ascending } from "../exact-answer.ts";
import { exactRow } from "../exact-row.ts";
import { compare, minus, over, plus, type Rational, ratio, textOf, times } from "../rational.ts";

interface Problem {
  /** factor · | |slope x + offset| - inner |; without `inner` there is one pair of bars. */
  terms: { factor: number; slope: number; offset: number; inner: number | null }[];
  /** Equal to slope x + offset. */
  right: [slope: number, offset: number];
}

/** By level: plain terms, nested terms. */
const SIZES = [
  [2, 0],
  [3, 0],
  [2, 1],
  [2, 2],
  [3, 3],
] as const;

export const absoluteValueEquation = exactRow<Problem>({
  id: "absolute-value-equation",
  asks: "all real solutions of an equation with nested absolute values",
  kind: "fractionSet",
  draw(rng, level) {
    const [plain, nested] = at(SIZES, level - 1);
    const factors = [-4, -3, -2, -1, 1, 2, 3, 4];
    const terms = range(plain + nested).map((index) => ({
      factor: rng.pick(factors),
      slope: between(rng, 1, 3),
      offset: between(rng, -8, 8),
      inner: index < plain ? null : between(rng, 1, 8),
    }));
    return { terms: sample(terms, terms.length, rng), right: [between(rng, -2, 2), between(rng, -9, 9)] };
  },
  solve(problem) {
    const found = solutionsOf(problem);
    const breaks = breakpoints(problem).length;
    const nested = problem.terms.filter(({ inner }) => inner !== null).length;
    const least = nested > 1 ? 3 : 2;
    if (found === null || found.length < least || problem.right[0] === 0) return null;
    return { value: ascending(found.map(textOf)), steps: breaks * problem.terms.length };
  },
  prompts: [
    (one) => `Find all real x with ${equation(one)}. Give the set of solutions, separated by commas.`,
    (one) =>
      `Solve the equation\n${equation(one)}\nover the real numbers. Every solution is rational; list all of them (fractions in lowest terms) with commas between.`,
    (one) =>
      `At which places do the graphs of y = ${leftText(one)} and y = ${rightText(one)} meet? Answer with the x-coordinates of all common points, comma-separated, as integers or fractions.`,
    (one) =>
      `A function is given by f(x) = ${leftText(one)}. Determine each real number x for which f(x) equals ${rightText(one)}, and write these numbers as a comma-separated list of exact values.`,
  ],
  slips(problem, value) {
    const list = value.split(", ");
    // One case of signs solved, and its solution taken without a check.
    const { slope, offset } = sideOf(problem);
    const blind = slope.n === 0n ? "101" : textOf(over(minus(ratio(0), offset), slope));
    return [list.slice(1).join(", "), blind, ascending([...new Set([...list, blind])])];
  },
});

function valueOf({ terms, right }: Problem, x: Rational): Rational {
  const sum = terms.reduce((all, { factor, slope, offset, inner }) => {
    const line = size(plus(times(ratio(slope), x), ratio(offset)));
    return plus(all, times(ratio(factor), inner === null ? line : size(minus(line, ratio(inner)))));
  }, ratio(-right[1]));
  return minus(sum, times(ratio(right[0]), x));
}

function size(value: Rational): Rational {
  return value.n < 0n ? { n: -value.n, d: value.d } : value;
}

function breakpoints({ terms }: Problem): Rational[] {
  const all = terms.flatMap(({ slope, offset, inner }) =>
    [0, ...(inner === null ? [] : [inner, -inner])].map((level) => ratio(level - offset, slope)),
  );
  const byText = new Map(all.map((one) => [textOf(one), one]));
  return [...byText.values()].toSorted(compare);
}

/** Between breakpoints the difference of both sides is linear. Null where it vanishes on an interval. */
function solutionsOf(problem: Problem): Rational[] | null {
  const breaks = breakpoints(problem);
  const [first, last] = [at(breaks, 0), at(breaks, breaks.length - 1)];
  const found = new Map<string, Rational>();
  const stops = [minus(first, ratio(1)), ...breaks, plus(last, ratio(1))];
  for (const index of range(stops.length - 1)) {
    const [a, b] = [at(stops, index), at(stops, index + 1)];
    const [low, high] = [valueOf(problem, a), valueOf(problem, b)];
    const rise = over(minus(high, low), minus(b, a));
    if (rise.n === 0n) {
      if (low.n === 0n) return null;
      continue;
    }
    const x = minus(a, over(low, rise));
    const isInside = (index === 0 || compare(x, a) >= 0) && (index === stops.length - 2 || compare(x, b) <= 0);
    if (isInside) found.set(textOf(x), x);
  }
  return [...found.values()];
}

/** Slope and offset of the difference when every bar is left out. */
function sideOf({ terms, right }: Problem): { slope: Rational; offset: Rational } {
  const slope = terms.reduce((sum, one) => sum + one.factor * one.slope, -right[0]);
  const offset = terms.reduce((sum, one) => sum + one.factor * (one.offset - (one.inner ?? 0)), -right[1]);
  return { slope: ratio(slope), offset: ratio(offset) };
}

function leftText({ terms }: Problem): string {
  return terms
    .map(({ factor, slope, offset, inner }, index) => {
      const line = `${slope === 1 ? "" : slope}x${offset === 0 ? "" : offset < 0 ? ` - ${-offset}` : ` + ${offset}`}`;
      const bars = inner === null ? `|${line}|` : `| |${line}| - ${inner} |`;
      const sign = factor < 0 ? (index === 0 ? "-" : " - ") : index === 0 ? "" : " + ";
      return `${sign}${Math.abs(factor) === 1 ? "" : Math.abs(factor)}${bars}`;
    })
    .join("");
}

function rightText({ right: [slope, offset] }: Problem): string {
  const line = Math.abs(slope) === 1 ? `${slope < 0 ? "-" : ""}x` : `${slope}x`;
  return offset === 0 ? line : `${line} ${offset < 0 ? "-" : "+"} ${Math.abs(offset)}`;
}

function equation(one: Problem): string {
  return `${leftText(one)} = ${rightText(one)}`;
}
