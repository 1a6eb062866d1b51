/** geometric-region-odds: probabilities about two uniform numbers under linear conditions, as a ratio of exact areas. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { compare, minus, over, plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

/** a x + b y ≤ c. */
type HalfPlane = [a: number, b: number, c: number];
type Point = readonly [x: Rational, y: Rational];

interface Problem {
  x: [number, number];
  y: [number, number];
  asked: HalfPlane[];
  known: HalfPlane[];
}

/** By level: largest coordinate, largest factor, asked conditions, known conditions. */
const SIZES = [
  [4, 1, 1, 0],
  [8, 2, 2, 0],
  [12, 4, 1, 1],
  [20, 5, 2, 1],
  [30, 7, 2, 2],
] as const;

export const geometricRegionOdds = exactRow<Problem>({
  id: "geometric-region-odds",
  asks: "probabilities about two uniform numbers under linear conditions",
  kind: "fraction",
  draw(rng, level) {
    const [corner, factor, asked, known] = at(SIZES, level - 1);
    const interval = (): [number, number] => {
      const low = between(rng, 0, Math.floor(corner / 3));
      return [low, low + between(rng, 2, corner)];
    };
    const [x, y] = [interval(), interval()];
    const plane = (): HalfPlane => planeThrough(rng, { x, y }, factor);
    return { x, y, asked: range(asked).map(plane), known: range(known).map(plane) };
  },
  solve(problem) {
    const { x, y, asked, known } = problem;
    const whole = areaOf(clipped(box(problem), known));
    const part = areaOf(clipped(box(problem), [...known, ...asked]));
    if (part.n === 0n || compare(part, whole) === 0) return null;
    // Each condition must matter.
    const conditions = [...known, ...asked];
    const isIdle = conditions.some(
      (_, index) => compare(areaOf(clipped(box(problem), conditions.toSpliced(index, 1))), part) === 0,
    );
    const value = over(part, whole);
    if (isIdle || value.d <= 2n) return null;
    const width = x[1] - x[0] + y[1] - y[0];
    return { value: textOf(value), steps: width * (1 + asked.length + 2 * known.length) ** 2 };
  },
  prompts: [
    (one) =>
      `X and Y are independent, X uniform on ${intervalText(one.x)} and Y uniform on ${intervalText(one.y)}. Find the probability that ${list(one.asked)}${given(one, ", given that")}. Give an exact fraction.`,
    (one) =>
      `A dart hits the rectangle ${one.x[0]} ≤ x ≤ ${one.x[1]}, ${one.y[0]} ≤ y ≤ ${one.y[1]} at a uniformly random point (X, Y). ${knownText(one)}With which probability is ${list(one.asked)}? Answer with a fraction.`,
    (one) =>
      `A train arrives X minutes after noon and a bus Y minutes after noon; the times are independent, X uniform between ${one.x.join(" and ")}, Y uniform between ${one.y.join(" and ")}. Compute P(${list(one.asked)}${given(one, " |")}) exactly.`,
    (one) =>
      `Two real numbers are chosen at random without influence on each other: X from ${intervalText(one.x)} and Y from ${intervalText(one.y)}, with constant densities. What fraction of all outcomes${given(one, " with")} also has ${list(one.asked)}?`,
  ],
  slips(problem) {
    const { asked, known } = problem;
    const all = areaOf(box(problem));
    const joint = areaOf(clipped(box(problem), [...known, ...asked]));
    const first = areaOf(clipped(box(problem), asked));
    return [over(joint, all), over(first, all), minus(ratio(1), over(joint, areaOf(clipped(box(problem), known))))].map(
      textOf,
    );
  },
});

/** A line through an inner point of the box, with whole numbers. */
function planeThrough(rng: Rng, { x, y }: Pick<Problem, "x" | "y">, factor: number): HalfPlane {
  const [a, b] = [between(rng, 1, factor) * rng.pick([1, -1]), between(rng, 1, factor) * rng.pick([1, -1])];
  return [a, b, a * between(rng, x[0], x[1]) + b * between(rng, y[0], y[1])];
}

function box({ x, y }: Problem): Point[] {
  const corner = (u: number, v: number): Point => [ratio(u), ratio(v)];
  return [corner(x[0], y[0]), corner(x[1], y[0]), corner(x[1], y[1]), corner(x[0], y[1])];
}

/** Sutherland and Hodgman: the polygon is cut by one line after the other. */
function clipped(polygon: readonly Point[], planes: readonly HalfPlane[]): Point[] {
  let points = [...polygon];
  for (const [a, b, c] of planes) {
    const excess = ([x, y]: Point): Rational => minus(plus(times(ratio(a), x), times(ratio(b), y)), ratio(c));
    const sides = points.map(excess);
    points = points.flatMap((point, index) => {
      const next = (index + 1) % points.length;
      const [here, there] = [at(sides, index), at(sides, next)];
      const kept = compare(here, ZERO) <= 0 ? [point] : [];
      if (compare(here, ZERO) * compare(there, ZERO) >= 0) return kept;
      const share = over(here, minus(here, there));
      const [u, v] = at(points, next);
      const cut: Point = [
        plus(point[0], times(share, minus(u, point[0]))),
        plus(point[1], times(share, minus(v, point[1]))),
      ];
      return [...kept, cut];
    });
  }
  return points;
}

function areaOf(points: readonly Point[]): Rational {
  const twice = points.reduce((sum, [x, y], index) => {
    const [u, v] = at(points, (index + 1) % points.length);
    return plus(sum, minus(times(x, v), times(u, y)));
  }, ZERO);
  return over(twice, ratio(2));
}

function intervalText([low, high]: readonly [number, number]): string {
  return `[${low}, ${high}]`;
}

function list(planes: readonly HalfPlane[]): string {
  const term = (factor: number, name: string): string => `${Math.abs(factor) === 1 ? "" : Math.abs(factor)}${name}`;
  return planes
    .map(([a, b, c]) => `${a < 0 ? "-" : ""}${term(a, "X")} ${b < 0 ? "-" : "+"} ${term(b, "Y")} ≤ ${c}`)
    .join(" and ");
}

function given({ known }: Problem, head: string): string {
  return known.length === 0 ? "" : `${head} ${list(known)}`;
}

function knownText(one: Problem): string {
  return one.known.length === 0 ? "" : `It is seen that ${list(one.known)}. `;
}
