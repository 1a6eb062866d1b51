/** joint-table-moments: variances and covariances, also conditional ones, from a table of joint frequencies. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { minus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  xs: number[];
  ys: number[];
  /** `weights[x][y]`: number of cases. */
  weights: number[][];
  /** Variance of a X + b Y, or covariance of X with it. */
  asks: "variance" | "covariance";
  a: number;
  b: number;
  /** Only cases with X + Y of at least this; null: all. */
  least: number | null;
}

/** By level: values of X, values of Y, largest weight, whether a condition is given. */
const SIZES = [
  [2, 2, 4, false],
  [3, 2, 5, false],
  [3, 3, 6, true],
  [4, 4, 8, true],
  [5, 5, 12, true],
] as const;

export const jointTableMoments = exactRow<Problem>({
  id: "joint-table-moments",
  asks: "a variance or covariance, conditional or not, from a table of joint frequencies",
  kind: "fraction",
  draw(rng, level) {
    const [width, height, most, isConditional] = at(SIZES, level - 1);
    const values = (count: number): number[] => {
      let value = between(rng, -3, 2);
      return range(count).map(() => (value += between(rng, 1, 3)));
    };
    const [xs, ys] = [values(width), values(height)];
    const [low, high] = [at(xs, 0) + at(ys, 0), at(xs, width - 1) + at(ys, height - 1)];
    return {
      xs,
      ys,
      weights: xs.map(() => ys.map(() => between(rng, 0, most))),
      asks: rng.pick(["variance", "covariance"] as const),
      a: between(rng, 1, level + 1),
      b: between(rng, 1, level + 1) * rng.pick([1, -1]),
      least: isConditional ? between(rng, low + 1, Math.floor((low + high) / 2)) : null,
    };
  },
  solve(problem) {
    const value = valueOf(problem);
    if (value === null || value.n === 0n || value.d === 1n) return null;
    const cells = problem.xs.length * problem.ys.length;
    return { value: textOf(value), steps: cells * (problem.least === null ? 1 : 2) };
  },
  prompts: [
    (one) =>
      `Joint frequencies of X (rows) and Y (columns):\n${table(one)}\n\nA case is chosen at random, each with the same probability. Find ${asked(one)}${given(one)} as an exact fraction.`,
    (one) =>
      `In a survey X and Y were recorded. The number of answers for each pair is\n${table(one)}\n\nwhere lines belong to values of X. Treat the table as the distribution of (X, Y) and compute ${asked(one)}${given(one)}. Fraction, not rounded.`,
    (one) =>
      `${asked(one)[0]?.toUpperCase() ?? ""}${asked(one).slice(1)}${given(one)} is wanted, exactly. The law of (X, Y) is proportional to these weights (first column: X, head: Y).\n${table(one)}\n\nDivide by the number of cases, not by one less.`,
    (one) =>
      `A machine shows two numbers, X and Y, and its log counts how often each pair came up:\n${table(one)}\n\n(X down the side, Y along the top.) With probabilities equal to the relative frequencies of the log, what is ${asked(one)}${given(one)}? Give a fraction in lowest terms.`,
  ],
  slips(problem) {
    const others = [
      { ...problem, least: problem.least === null ? problem.ys.length : null },
      { ...problem, b: -problem.b },
      { ...problem, asks: problem.asks === "variance" ? ("covariance" as const) : ("variance" as const) },
      { ...problem, a: 1, b: 1 },
    ];
    return others.map((one) => textOf(valueOf(one) ?? ZERO));
  },
});

/** E[UV] - E[U] E[V]; null without cases. */
function valueOf({ xs, ys, weights, asks, a, b, least }: Problem): Rational | null {
  let [mass, sumU, sumV, sumUV] = [0, 0, 0, 0];
  for (const [i, x] of xs.entries()) {
    for (const [j, y] of ys.entries()) {
      if (least !== null && x + y < least) continue;
      const weight = at(at(weights, i), j);
      const v = a * x + b * y;
      const u = asks === "variance" ? v : x;
      mass += weight;
      sumU += weight * u;
      sumV += weight * v;
      sumUV += weight * u * v;
    }
  }
  if (mass === 0) return null;
  return minus(ratio(sumUV, mass), times(ratio(sumU, mass), ratio(sumV, mass)));
}

function table({ xs, ys, weights }: Problem): string {
  const lines = [["X\\Y", ...ys], ...xs.map((x, index) => [x, ...at(weights, index)])];
  return lines.map((line) => line.map((cell) => String(cell).padStart(4)).join(" ")).join("\n");
}

function asked({ asks, a, b }: Problem): string {
  const term = (factor: number, name: string): string => `${Math.abs(factor) === 1 ? "" : Math.abs(factor)}${name}`;
  const sum = `${term(a, "X")} ${b < 0 ? "-" : "+"} ${term(b, "Y")}`;
  return asks === "variance" ? `the variance of ${sum}` : `the covariance of X and ${sum}`;
}

function given({ least }: Problem): string {
  return least === null ? "" : ` given that X + Y ≥ ${least}`;
}
