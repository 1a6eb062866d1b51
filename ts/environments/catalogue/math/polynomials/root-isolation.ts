/** root-isolation: narrow intervals that hold one real root each and together all; signs at the ends are checked. */
import { between } from "../../../../random/draws.ts";
import { at, linesOf, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { rationalsIn } from "../certificate-text.ts";
import { compare, minus, type Rational, ratio, textOf } from "../rational.ts";
import { polynomialText, realRoots, valueAt } from "./polynomial.ts";

interface Problem {
  polynomial: number[];
  /** Intervals are at most 1 / width long. */
  width: number;
  /** Different real roots, all of them simple. */
  count: number;
}

/** By level: degree, largest coefficient, 1 / width, least number of roots. */
const SIZES = [
  [2, 9, 2, 2],
  [3, 9, 2, 2],
  [3, 12, 10, 3],
  [4, 15, 10, 3],
  [5, 20, 50, 3],
] as const;

export const rootIsolation = certificateRow<Problem>({
  id: "root-isolation",
  asks: "narrow intervals that isolate all real roots of a polynomial",
  draw(rng, level) {
    const [degree, most, width, least] = at(SIZES, level - 1);
    const polynomial = [between(rng, 1, 3), ...range(degree).map(() => between(rng, -most, most))];
    const intervals = isolated(polynomial, width);
    const count = realRoots(polynomial);
    // Ends that are roots, or roots that are too close for a scan, are left to other draws.
    if (intervals === null || intervals.length !== count || count < least) return null;
    return {
      problem: { polynomial, width, count },
      certificate: intervals.map((ends) => ends.map(textOf).join(", ")).join("\n"),
      steps: degree ** 2 * count * Math.ceil(Math.log2(width * 40)),
    };
  },
  proves({ polynomial, width, count }, answer) {
    const lines = linesOf(answer);
    if (lines.length !== count) return false;
    const pairs = lines.map(rationalsIn);
    if (!pairs.every((pair) => pair !== null && pair.length === 2)) return false;
    const intervals = pairs
      .map((pair) => [at(pair ?? [], 0), at(pair ?? [], 1)] as const)
      .toSorted(([a], [b]) => compare(a, b));
    // Disjoint intervals with a change of sign in each hold a root each, and there are no more.
    return intervals.every(([low, high], index) => {
      const length = minus(high, low);
      if (length.n <= 0n || compare(length, ratio(1, width)) > 0) return false;
      if (index > 0 && compare(at(intervals, index - 1)[1], low) > 0) return false;
      return valueAt(polynomial, low).n < 0n !== valueAt(polynomial, high).n < 0n && isNoRoot(polynomial, [low, high]);
    });
  },
  prompts: [
    (one) =>
      `Isolate the real roots of ${polynomialText(one.polynomial)}: give one interval for each root, with rational ends that are no roots themselves, at most 1/${one.width} long, none overlapping another, exactly one root in each. ${FORMAT}`,
    (one) =>
      `How can the real zeros of f(x) = ${polynomialText(one.polynomial)} be separated? State disjoint intervals [a, b] with b - a <= 1/${one.width} such that each contains exactly one zero inside, none at its ends, and every real zero is in one of them. ${FORMAT}`,
    (one) =>
      `Show by changes of sign where all real solutions of ${polynomialText(one.polynomial)} = 0 are. Every solution needs an interval with ends a < b that differ by no more than 1/${one.width}, with opposite signs at both ends; intervals may not overlap. ${FORMAT}`,
    (one) =>
      `${FORMAT} The lines are brackets for a root finder: all real roots of ${polynomialText(one.polynomial)}, one root strictly inside each bracket, brackets without overlap and of length 1/${one.width} or less.`,
  ],
  slips(_, certificate) {
    const lines = certificate.split("\n");
    const [first = "", ...rest] = lines;
    const [low = "0", high = "1"] = first.split(", ");
    return [
      lines.slice(1).join("\n"),
      [`${low}, ${low}`, ...rest].join("\n"),
      [`${high}, ${low}`, ...rest].join("\n"),
      [...lines, "1000, 1001"].join("\n"),
      lines.map(() => first).join("\n"),
    ];
  },
  variants: (_, certificate) => [
    certificate.split("\n").toReversed().join("\n"),
    certificate.replaceAll(/^(.*)$/gmu, "[$1]"),
  ],
});

const FORMAT = 'Write each interval on a line as "a, b", with integers or fractions.';

function isNoRoot(polynomial: readonly number[], ends: readonly Rational[]): boolean {
  return ends.every((end) => valueAt(polynomial, end).n !== 0n);
}

/** Cells of a grid in which the sign changes; null where a root is on the grid. */
function isolated(polynomial: readonly number[], width: number): [Rational, Rational][] | null {
  const bound = 1 + Math.ceil(Math.max(...polynomial.slice(1).map(Math.abs)) / at(polynomial, 0));
  const found: [Rational, Rational][] = [];
  // The value at place / width, times a power of the width.
  const scaled = polynomial.map((factor, index) => BigInt(factor) * BigInt(width) ** BigInt(index));
  const signAt = (place: number): bigint => scaled.reduce((sum, factor) => sum * BigInt(place) + factor, 0n);
  let isNegative = signAt(-bound * width) < 0n;
  for (let place = -bound * width; place < bound * width; place++) {
    const next = signAt(place + 1);
    if (next === 0n) return null;
    if (next < 0n !== isNegative) found.push([ratio(place, width), ratio(place + 1, width)]);
    isNegative = next < 0n;
  }
  return found;
}
