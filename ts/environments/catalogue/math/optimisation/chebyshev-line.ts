/** chebyshev-line: the line with the least largest distance from points, measured along y. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { compare, minus, over, plus, type Rational, ratio, textOf, times } from "../rational.ts";

interface Problem {
  points: [number, number][];
}

/** By level: points, largest coordinate. */
const SIZES = [
  [3, 8],
  [4, 12],
  [5, 16],
  [7, 24],
  [10, 40],
] as const;

export const chebyshevLine = exactRow<Problem>({
  id: "chebyshev-line",
  asks: "the line whose largest vertical distance from given points is least",
  kind: "fractions",
  draw(rng, level) {
    const [count, most] = at(SIZES, level - 1);
    const places = sample(range(most + 1), count, rng).toSorted((a, b) => a - b);
    return { points: places.map((x): [number, number] => [x, between(rng, -most, most)]) };
  },
  solve(problem) {
    const { slope, height, distance } = bestLine(problem);
    if (distance.n === 0n) return null;
    return { value: [slope, height, distance].map(textOf).join(", "), steps: problem.points.length ** 3 };
  },
  prompts: [
    (one) =>
      `Find the line y = mx + c that minimises the largest of the vertical distances |y_i - (m·x_i + c)| to the points ${pointsText(one)}. Give m, c and that least largest distance, in this order.`,
    (one) =>
      `Fit a straight line to the data ${pointsText(one)} (x, y) such that the maximal error in y is as small as it can be (minimax, not least squares). State slope, intercept, maximal error as exact fractions with commas.`,
    (one) =>
      `Between two parallel lines, neither of them vertical, all of ${pointsText(one)} must fit. Take the pair whose distance along the y-axis is smallest. The line halfway between them is y = mx + c, and each of the two is e above or below it. Write m, c, e.`,
    (one) =>
      `The best uniform approximation by a linear function m·x + c on the set of abscissas of ${pointsText(one)}, with the ordinates as values, has the error e. Determine the three numbers m, c, e exactly.`,
  ],
  slips({ points }, value) {
    const [m = "", c = "", e = ""] = value.split(", ");
    const [first, last] = [at(points, 0), at(points, points.length - 1)];
    const chord = ratio(last[1] - first[1], last[0] - first[0]);
    return [
      [textOf(chord), textOf(minus(ratio(first[1]), times(chord, ratio(first[0])))), e].join(", "),
      [
        m,
        c,
        textOf(times(ratio(2), over(ratio(BigInt(e.split("/")[0] ?? 0)), ratio(BigInt(e.split("/")[1] ?? 1))))),
      ].join(", "),
      [c, m, e].join(", "),
    ];
  },
});

function pointsText({ points }: Problem): string {
  return points.map((point) => `(${point.join(", ")})`).join(", ");
}

/** The largest of the least errors of all triples of points: the line balances these three. */
function bestLine({ points }: Problem): { slope: Rational; height: Rational; distance: Rational } {
  let best: { slope: Rational; height: Rational; distance: Rational } | null = null;
  for (const [i, [x0, y0]] of points.entries()) {
    for (const [j, [x1, y1]] of points.entries()) {
      for (const [x2, y2] of points.slice(j + 1)) {
        if (j <= i) continue;
        const slope = ratio(y2 - y0, x2 - x0);
        // Half of how far the middle point is above the chord, with its sign.
        const rise = minus(ratio(y1 - y0), times(slope, ratio(x1 - x0)));
        const half = times(rise, ratio(1, 2));
        const height = plus(minus(ratio(y0), times(slope, ratio(x0))), half);
        const distance = half.n < 0n ? times(half, ratio(-1)) : half;
        if (best === null || compare(distance, best.distance) > 0) best = { slope, height, distance };
      }
    }
  }
  if (best === null) throw new RangeError("a line needs three points");
  return best;
}
