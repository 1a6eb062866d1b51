/** implicit-derivatives: slopes and curvatures of a curve that an equation defines, at a given point. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { binomial, factorial } from "../number-theory.ts";
import { minus, over, plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  /** Terms factor · x^i · y^j. */
  terms: { factor: number; i: number; j: number }[];
  right: number;
  point: [number, number];
  order: number;
}

/** By level: terms, largest power, order of the derivative. */
const SIZES = [
  [3, 2, 1],
  [3, 2, 2],
  [4, 3, 2],
  [4, 3, 3],
  [5, 4, 4],
] as const;

export const implicitDerivatives = exactRow<Problem>({
  id: "implicit-derivatives",
  asks: "a derivative of a function that an equation defines, at a given point",
  kind: "fraction",
  draw(rng, level) {
    const [count, most, order] = at(SIZES, level - 1);
    const all = range(most + 1).flatMap((i) => range(most + 1 - i).map((j) => ({ i, j })));
    const powers = all.filter(({ i, j }) => i + j > 0);
    const terms = range(count).map(() => ({ factor: between(rng, 1, 4) * rng.pick([1, -1]), ...rng.pick(powers) }));
    const isRepeated = new Set(terms.map(({ i, j }) => `${i},${j}`)).size < count;
    const isMixed = terms.some(({ j }) => j > 1) && terms.some(({ i, j }) => i > 0 && j > 0);
    if (isRepeated || !isMixed) return null;
    const point: [number, number] = [between(rng, -3, 3), between(rng, -3, 3)];
    const right = terms.reduce((sum, { factor, i, j }) => sum + factor * point[0] ** i * point[1] ** j, 0);
    return { terms, right, point, order };
  },
  solve(problem) {
    const found = derivativeAt(problem, problem.order);
    if (found === null || found.n === 0n) return null;
    return { value: textOf(found), steps: problem.terms.length * (problem.order + 1) ** 3 };
  },
  prompts: [
    (one) =>
      `The curve ${equation(one)} passes through (${one.point.join(", ")}), and near this point it is the graph of a function y(x). Find ${orderText(one)} at x = ${one.point[0]}.`,
    (one) =>
      `Differentiate implicitly: y is the function of x with ${equation(one)} and y(${one.point[0]}) = ${one.point[1]}. What is the exact value of ${orderText(one)} at that place?`,
    (one) =>
      `Let F(x, y) = ${leftText(one)}. On the level set F = ${one.right}, close to the point (${one.point.join(", ")}), y depends on x. Compute ${orderText(one)} at this point as a fraction.`,
    (one) =>
      `A bead slides along ${equation(one)}. When it is at (${one.point.join(", ")}), y can be regarded as a function of x. Evaluate ${orderText(one)} there.`,
  ],
  slips(problem) {
    const { order, terms } = problem;
    const [other, swapped] = [
      order > 1 ? derivativeAt(problem, order - 1) : null,
      derivativeAt(
        {
          ...problem,
          terms: terms.map(({ factor, i, j }) => ({ factor, i: j, j: i })),
          point: [problem.point[1], problem.point[0]],
        },
        order,
      ),
    ];
    const found = derivativeAt(problem, order) ?? ZERO;
    return [other, swapped, times(found, ratio(-1)), over(found, ratio(2))].flatMap((one) =>
      one === null ? [] : [textOf(one)],
    );
  },
});

function leftText({ terms }: Problem): string {
  const power = (name: string, exponent: number): string =>
    exponent === 0 ? "" : exponent === 1 ? name : `${name}^${exponent}`;
  const parts = terms.map(({ factor, i, j }) => {
    const size = Math.abs(factor) === 1 ? "" : String(Math.abs(factor));
    return `${factor < 0 ? "-" : "+"} ${size}${power("x", i)}${power("y", j)}`;
  });
  return parts.join(" ").replace(/^\+ /u, "").replace(/^- /u, "-");
}

function equation(one: Problem): string {
  return `${leftText(one)} = ${one.right}`;
}

function orderText({ order }: Problem): string {
  return order === 1 ? "the derivative dy/dx" : `the derivative d^${order}y/dx^${order} (of order ${order})`;
}

/** The series of y around the point, one coefficient after the other; null at a vertical tangent. */
function derivativeAt({ terms, point: [x, y] }: Problem, order: number): Rational | null {
  const slope = terms.reduce((sum, { factor, i, j }) => sum + (j === 0 ? 0 : factor * j * x ** i * y ** (j - 1)), 0);
  if (slope === 0) return null;
  const series = range(order + 1).map((index) => (index === 0 ? ratio(y) : ZERO));
  for (const n of range(order).map((index) => index + 1)) {
    const rest = terms.reduce(
      (sum, { factor, i, j }) => plus(sum, times(ratio(factor), termAt(series, [x, i, j], n))),
      ZERO,
    );
    series[n] = minus(ZERO, over(rest, ratio(slope)));
  }
  return times(at(series, order), ratio(factorial(order)));
}

/** The coefficient of h^n in (x + h)^i · y(h)^j. */
function termAt(series: readonly Rational[], [x, i, j]: readonly [number, number, number], n: number): Rational {
  let power = series.map((_, index) => ratio(index === 0 ? 1 : 0));
  for (const _ of range(j))
    power = power.map((__, index) =>
      range(index + 1).reduce((sum, place) => plus(sum, times(at(power, place), at(series, index - place))), ZERO),
    );
  return range(n + 1).reduce((sum, place) => {
    const shift = place > i ? ZERO : ratio(binomial(i, place) * BigInt(x) ** BigInt(i - place));
    return plus(sum, times(shift, at(power, n - place)));
  }, ZERO);
}
