/** density-transform: the mean of a function of a random number whose density is piecewise linear. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { compare, minus, over, plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

type Shape = "deviation" | "excess" | "larger" | "square-of-smaller";

interface Problem {
  /** The density is proportional to the polygon through (0, heights[0]), (width, heights[1]), ... */
  heights: number[];
  width: number;
  shape: Shape;
  /** The function's bend. */
  bend: number;
}

/** By level: pieces of the density, widest piece, highest point, shapes of the function. */
const SIZES = [
  [1, 4, 4, ["excess", "larger"]],
  [2, 4, 5, ["deviation", "excess", "larger"]],
  [3, 5, 7, ["deviation", "excess", "larger"]],
  [5, 6, 9, ["deviation", "square-of-smaller"]],
  [7, 7, 15, ["deviation", "square-of-smaller"]],
] as const;

export const densityTransform = exactRow<Problem>({
  id: "density-transform",
  asks: "the mean of a bent function of a random number with a piecewise linear density",
  kind: "fraction",
  draw(rng, level) {
    const [pieces, wide, high, shapes] = at(SIZES, level - 1);
    const width = between(rng, 2, wide);
    const heights = range(pieces + 1).map(() => between(rng, 0, high));
    const bend = between(rng, 1, pieces * width - 1);
    return { heights, width, shape: rng.pick<Shape>(shapes), bend };
  },
  solve(problem) {
    const { heights, width } = problem;
    if (heights.every((height) => height === heights[0])) return null;
    const mass = integral(problem, () => ONES);
    if (mass.n === 0n) return null;
    const value = over(
      integral(problem, (isAbove) => formula(problem, isAbove)),
      mass,
    );
    if (value.d <= 2n) return null;
    return { value: textOf(value), steps: heights.length ** 2 * (width + 4) };
  },
  prompts: [
    (one) =>
      `A random variable X has a density on [0, ${end(one)}] that is proportional to the polygonal line through ${points(one)} (straight between neighbouring points). Find E[${text(one)}] as an exact fraction.`,
    (one) =>
      `The graph of a function h consists of straight segments that join, in order, ${points(one)}. X takes values between 0 and ${end(one)} with density h divided by its integral. What is the expected value of ${text(one)}? Answer with a fraction.`,
    (one) =>
      `Demand X for a good is random on the interval from 0 to ${end(one)}. Its density, up to a constant factor, is piecewise linear with the corners ${points(one)}. Compute the mean of ${text(one)} exactly.`,
    (one) =>
      `Normalise the broken line with the vertices ${points(one)} to a probability density on [0, ${end(one)}], and calculate E[g(X)] for g(X) = ${text(one)}. The result is rational; no decimals.`,
  ],
  slips(problem) {
    const mass = integral(problem, () => ONES);
    const mean = over(
      integral(problem, () => [ratio(0), ratio(1), ratio(0)]),
      mass,
    );
    const [c0, c1, c2] = formula(problem, compare(mean, ratio(problem.bend)) >= 0);
    const atMean = plus(c0, plus(times(c1, mean), times(c2, times(mean, mean))));
    const flat = { ...problem, heights: problem.heights.map(() => 1) };
    return [
      mean,
      atMean,
      over(
        integral(flat, (isAbove) => formula(problem, isAbove)),
        ratio(end(problem)),
      ),
      integral(problem, (isAbove) => formula(problem, isAbove)),
    ].map(textOf);
  },
});

/** c0 + c1 x + c2 x². */
type Quadratic = readonly [Rational, Rational, Rational];
const ONES: Quadratic = [ratio(1), ratio(0), ratio(0)];

/** The function below its bend or above it. */
function formula({ shape, bend }: Problem, isAbove: boolean): Quadratic {
  const linear = (c0: number, c1: number): Quadratic => [ratio(c0), ratio(c1), ratio(0)];
  switch (shape) {
    case "deviation":
      return isAbove ? linear(-bend, 1) : linear(bend, -1);
    case "excess":
      return isAbove ? linear(-bend, 1) : linear(0, 0);
    case "larger":
      return isAbove ? linear(0, 1) : linear(bend, 0);
    case "square-of-smaller":
      return isAbove ? linear(bend * bend, 0) : [ratio(0), ratio(0), ratio(1)];
  }
}

/** Integral of the polygon times a function that changes at the bend. */
function integral({ heights, width, bend }: Problem, on: (isAbove: boolean) => Quadratic): Rational {
  let sum = ZERO;
  for (const piece of range(heights.length - 1)) {
    const [left, right] = [piece * width, (piece + 1) * width];
    const slope = ratio(at(heights, piece + 1) - at(heights, piece), width);
    const start = minus(ratio(at(heights, piece)), times(slope, ratio(left)));
    const cuts = left < bend && bend < right ? [left, bend, right] : [left, right];
    for (const index of range(cuts.length - 1)) {
      const [low, high] = [at(cuts, index), at(cuts, index + 1)];
      const [c0, c1, c2] = on(low >= bend);
      const product = [
        times(start, c0),
        plus(times(start, c1), times(slope, c0)),
        plus(times(start, c2), times(slope, c1)),
        times(slope, c2),
      ];
      for (const [power, factor] of product.entries()) {
        const difference = BigInt(high) ** BigInt(power + 1) - BigInt(low) ** BigInt(power + 1);
        sum = plus(sum, times(factor, ratio(difference, power + 1)));
      }
    }
  }
  return sum;
}

function end({ heights, width }: Problem): number {
  return (heights.length - 1) * width;
}

function points({ heights, width }: Problem): string {
  return heights.map((height, index) => `(${index * width}, ${height})`).join(", ");
}

function text({ shape, bend }: Problem): string {
  return {
    deviation: `|X - ${bend}|`,
    excess: `max(X - ${bend}, 0)`,
    larger: `max(X, ${bend})`,
    "square-of-smaller": `min(X, ${bend})^2`,
  }[shape];
}
