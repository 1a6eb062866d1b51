/** all-real-roots: the whole values of a constant term for which a polynomial has only real roots. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { derivative, multiplyAll, polynomialText, realRoots } from "./polynomial.ts";

interface Problem {
  /** Without the constant term. */
  upper: number[];
}

/** By level: degree, range of the roots that the draw starts from, disturbance of the coefficients. */
const SIZES = [
  [3, 5, 0],
  [3, 12, 5],
  [4, 8, 0],
  [4, 14, 6],
  [5, 12, 5],
] as const;

/** The largest constant that is looked at. */
const MOST = 2 ** 40;

/** Extremes are searched up to this far from 0, in cells of this part of 1, with so many halvings. */
const REACH = 40;
const CELLS = 16;
const HALVINGS = 45;

export const allRealRoots = exactRow<Problem>({
  id: "all-real-roots",
  asks: "the least and greatest whole constant term for which a polynomial has different real roots only",
  kind: "tuple",
  draw(rng, level) {
    const [degree, most, noise] = at(SIZES, level - 1);
    const roots = sample(
      range(2 * most + 1).map((index) => index - most),
      degree,
      rng,
    );
    const [lead = 1, ...middle] = multiplyAll(roots.map((root) => [1, -root])).slice(0, -1);
    return { upper: [lead, ...middle.map((factor) => factor + between(rng, -noise, noise))] };
  },
  solve({ upper }) {
    const degree = upper.length;
    if (realRoots(derivative([...upper, 0])) < degree - 1) return null;
    const ends = endsOf(upper);
    if (ends === null) return null;
    const [least, greatest] = ends;
    // The extremes are doubles; Sturm's chain decides at both sides of both ends.
    const isReal = (constant: number): boolean => realRoots([...upper, constant]) === degree;
    if (!isReal(least) || !isReal(greatest) || isReal(least - 1) || isReal(greatest + 1)) return null;
    if (greatest - least < 3 || Math.max(-least, greatest) >= MOST) return null;
    const bits = Math.ceil(Math.log2(greatest - least + 1));
    return { value: `${least}, ${greatest}`, steps: degree ** 3 * 10 + bits * degree };
  },
  prompts: [
    (one) =>
      `For which integers t does ${equation(one)} have ${one.upper.length} different real solutions? They form a block of consecutive integers; give the least and the greatest of them, separated by a comma.`,
    (one) =>
      `Consider the family of polynomials f_t(x) = ${polynomialText([...one.upper, 0])} + t. Find the smallest and the largest integer t such that f_t has ${one.upper.length} distinct real zeros. Write them as "smallest, largest".`,
    (one) =>
      `The graph of y = ${polynomialText([...one.upper, 0])} is shifted up by an integer t (down if t is negative) so that it crosses the x-axis ${one.upper.length} times. What are the minimum and the maximum of t? Two integers with a comma between.`,
    (one) =>
      `All ${one.upper.length} roots of ${polynomialText([...one.upper, 0])} + t shall be real and simple, with t an integer. State the range of t by its two ends, the lower one first, comma-separated.`,
  ],
  slips(_, value) {
    const [least = 0, greatest = 0] = value.split(", ").map(Number);
    return [
      `${least - 1}, ${greatest + 1}`,
      `${-greatest}, ${-least}`,
      `${least + 1}, ${greatest}`,
      `${least}, ${greatest - 1}`,
    ];
  },
});

/** The constants between which all local maxima are above and all local minima below the axis. */
function endsOf(upper: readonly number[]): [number, number] | null {
  const slope = derivative([...upper, 0]);
  const f = (x: number): number => [...upper, 0].reduce((sum, factor) => sum * x + factor, 0);
  const g = (x: number): number => slope.reduce((sum, factor) => sum * x + factor, 0);
  const extremes: number[] = [];
  for (const index of range(CELLS * 2 * REACH)) {
    let [a, b] = [index / CELLS - REACH, (index + 1) / CELLS - REACH];
    if (g(a) < 0 === g(b) < 0) continue;
    for (const _ of range(HALVINGS)) {
      const middle = (a + b) / 2;
      if (g(a) < 0 === g(middle) < 0) a = middle;
      else b = middle;
    }
    extremes.push(f((a + b) / 2));
  }
  if (extremes.length < upper.length - 1) return null;
  const highs = extremes.filter((_, index) => (extremes.length - index) % 2 === 0);
  const lows = extremes.filter((_, index) => (extremes.length - index) % 2 === 1);
  return [Math.floor(-Math.min(...highs)) + 1, Math.ceil(-Math.max(...lows)) - 1];
}

function equation({ upper }: Problem): string {
  return `${polynomialText([...upper, 0])} + t = 0`;
}
