/** regression-diagnosis: a fitted line, the point that decides it most, the line without that point, and a prediction. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal, rounded } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Given {
  points: { x: number; y: number }[];
  /** Where a new observation is predicted. */
  place: number;
}

/** By level: points. */
const POINTS = [5, 6, 8, 10, 13] as const;

export const regressionDiagnosis = quantityRow<Given>({
  id: "regression-diagnosis",
  asks: "the most influential point of a regression, the line with and without it, and a standard error of prediction",
  draw,
  solve,
  asides: [
    "The data were read off a paper of 1978.",
    "A point took 15 minutes to measure.",
    "The line is drawn in blue and 2 mm wide.",
    "There were 3 observers.",
  ],
  wordings: [
    (one, aside) =>
      `Fit y = a + b x by least squares to\n${list(one)}\n${aside} Cook's distance of a point is (sum of squared changes of all fitted values when it is left out) / (2 s^2), with s^2 the residual sum of squares over n - 2. Name the point with the largest one (influential), and give b, b2, the slope without that point, and e, the standard error of a new single observation at x = ${one.place} from the fit to all points.`,
    (one, aside) =>
      `Which point pulls the regression line most? ${aside} Measure it by Cook's distance, residual^2 h / (2 s^2 (1 - h)^2), h being the leverage and s^2 = RSS/(n - 2). Report that point as influential, the slope b of the line through all points, the slope b2 of the line through the others, and e = s sqrt(1 + 1/n + (x0 - mean)^2/Sxx) at x0 = ${one.place} (all points). Points:\n${list(one)}`,
    (one, aside) =>
      `Points:\n${list(one)}\nAsked: b (slope of the least-squares line with intercept), influential (point of the largest Cook's distance, with two parameters), b2 (slope after this point is dropped), e (standard deviation of the difference between a new observation at x = ${one.place} and its prediction, from all points and with n - 2 degrees of freedom). ${aside}`,
    (one, aside) =>
      `Diagnose a straight-line fit. ${aside} Data:\n${list(one)}\nCompute the slope b; find the point whose omission moves the fitted values most in the sum of squares (this is Cook's criterion; write its name for influential); compute the slope b2 without it; and for all points together the standard error e of predicting one new value at x = ${one.place}.`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const count = at(POINTS, level - 1);
  const [start, slope] = [decimal(rng, -20, 20, 1), (rng.integer(2) === 0 ? -1 : 1) * decimal(rng, 0.5, 4, 2)];
  const noise = decimal(rng, 0.5, 2, 1);
  const points = range(count).map((index) => {
    const x = index === 0 ? decimal(rng, 18, 26, 1) : decimal(rng, 0, 12, 1);
    return { x, y: rounded(start + slope * x + noise * (rng.next() + rng.next() + rng.next() - 1.5) * 2, 1) };
  });
  const lifted = points[0];
  if (lifted !== undefined)
    lifted.y = rounded(lifted.y + (rng.integer(2) === 0 ? -1 : 1) * noise * (2 + 2 * rng.next()), 1);
  const outlier = points[1];
  if (outlier !== undefined) outlier.y = rounded(outlier.y + (rng.integer(2) === 0 ? -1 : 1) * noise * 3, 1);
  return { points: points.toSorted((a, b) => a.x - b.x || a.y - b.y), place: between(rng, 13, 30) };
}

function solve({ points, place }: Given): Solution | null {
  const { length: n } = points;
  const all = fit(points);
  const residuals = points.map(({ x, y }) => y - all.start - all.slope * x);
  const variance = residuals.reduce((sum, rest) => sum + rest ** 2, 0) / (n - 2);
  const leverage = points.map(({ x }) => 1 / n + (x - all.mean) ** 2 / all.spread);
  const cook = residuals.map(
    (rest, index) => (rest ** 2 * at(leverage, index)) / (2 * variance * (1 - at(leverage, index)) ** 2),
  );
  const order = range(n).toSorted((a, b) => at(cook, b) - at(cook, a));
  const [worst, next] = [at(order, 0), at(order, 1)];
  const farthest = range(n).reduce((a, b) => (Math.abs(at(residuals, b)) > Math.abs(at(residuals, a)) ? b : a));
  // The largest residual must not be the influential point.
  if (farthest === worst || at(cook, worst) < 1.3 * at(cook, next)) return null;
  const without = (left: number): number => fit(points.filter((_, index) => index !== left)).slope;
  const e = Math.sqrt(variance * (1 + 1 / n + (place - all.mean) ** 2 / all.spread));
  const mean = Math.sqrt(variance * (1 / n + (place - all.mean) ** 2 / all.spread));
  const [b, b2] = [all.slope, without(worst)];
  if (Math.abs(b - b2) < 0.03 * Math.abs(b) || Math.abs(b2) < 0.05) return null;
  return {
    parts: [
      { name: "b", value: b, unit: "" },
      { name: "b2", value: b2, unit: "" },
      { name: "e", value: e, unit: "" },
    ],
    words: [{ name: "influential", value: `P${worst + 1}`, options: points.map((_, index) => `P${index + 1}`) }],
    slips: [
      [b, without(farthest), e],
      [b, b2, mean],
      [b, b2, Math.sqrt(variance)],
      [b, b, e],
    ],
    steps: 4 * n,
  };
}

function fit(points: Given["points"]): { slope: number; start: number; mean: number; spread: number } {
  const mean = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const height = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const spread = points.reduce((sum, { x }) => sum + (x - mean) ** 2, 0);
  const slope = points.reduce((sum, { x, y }) => sum + (x - mean) * (y - height), 0) / spread;
  return { slope, start: height - slope * mean, mean, spread };
}

function list({ points }: Given): string {
  return points.map(({ x, y }, index) => `- P${index + 1}: x = ${x}, y = ${y}`).join("\n");
}
