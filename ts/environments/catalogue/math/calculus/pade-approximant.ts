/** pade-approximant: the quotient of polynomials that agrees with a power series as far as it can. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { plus, type Rational, ratio, solveLinear, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  /** Coefficients of the series, the constant first. */
  series: number[];
  /** Degrees of numerator and denominator. */
  top: number;
  below: number;
}

/** By level: degrees of numerator and denominator, largest coefficient. */
const SIZES = [
  [1, 1, 6],
  [2, 1, 6],
  [2, 2, 6],
  [2, 3, 5],
  [3, 3, 4],
] as const;

export const padeApproximant = exactRow<Problem>({
  id: "pade-approximant",
  asks: "the quotient of polynomials of given degrees that agrees with a power series as far as it can",
  kind: "fractions",
  draw(rng, level) {
    const [top, below, most] = at(SIZES, level - 1);
    return { series: range(top + below + 1).map(() => between(rng, 1, most) * rng.pick([1, 1, -1])), top, below };
  },
  solve(problem) {
    const found = approximant(problem);
    if (found === null || [...found.top, ...found.below].some(({ n }) => n === 0n)) return null;
    const value = [...found.top, ...found.below.slice(1)].map(textOf).join(", ");
    return { value, steps: (problem.top + problem.below) ** 3 };
  },
  prompts: [
    (one) =>
      `A function begins with ${seriesText(one)} + ... at x = 0. Find its Padé approximant with numerator p_0 + ... + p_${one.top}·x^${one.top} and denominator 1 + q_1·x + ... + q_${one.below}·x^${one.below}, which agrees with these terms. ${listing(one)}`,
    (one) =>
      `Determine the rational function P(x)/Q(x) with deg P ≤ ${one.top}, deg Q ≤ ${one.below} and Q(0) = 1 whose Taylor expansion is ${seriesText(one)} up to the power x^${one.top + one.below}. ${listing(one)}`,
    (one) =>
      `Only the partial sum ${seriesText(one)} of a series is known. Re-sum it as a [${one.top}/${one.below}] Padé fraction, the constant of the denominator being 1. ${listing(one)}`,
    (one) =>
      `Choose P = p_0 + ... (degree ${one.top}) and Q = 1 + q_1·x + ... (degree ${one.below}) such that Q(x)·(${seriesText(one)}) - P(x) contains no power of x below x^${one.top + one.below + 1}. ${listing(one)}`,
  ],
  slips(problem, value) {
    const list = value.split(", ");
    const size = problem.top + 1;
    const negated = list.map((text, index) =>
      index < size ? text : text.startsWith("-") ? text.slice(1) : `-${text}`,
    );
    return [
      negated.join(", "),
      [...list.slice(size), ...list.slice(0, size)].join(", "),
      [...problem.series.slice(0, size).map(String), ...list.slice(size)].join(", "),
    ];
  },
});

function listing({ top, below }: Problem): string {
  const names = [...range(top + 1).map((index) => `p_${index}`), ...range(below).map((index) => `q_${index + 1}`)];
  return `Answer with ${names.join(", ")} as exact fractions.`;
}

function seriesText({ series }: Problem): string {
  const terms = series.map((value, power) => {
    const base = power === 0 ? "" : power === 1 ? "x" : `x^${power}`;
    const size = Math.abs(value) === 1 && power > 0 ? "" : String(Math.abs(value));
    return `${value < 0 ? "-" : "+"} ${size}${base}`;
  });
  return terms.join(" ").replace(/^\+ /u, "").replace(/^- /u, "-");
}

/** The denominator makes the powers above the numerator's degree vanish. */
function approximant({ series, top, below }: Problem): { top: Rational[]; below: Rational[] } | null {
  const value = (power: number): Rational => ratio(series[power] ?? 0);
  const solved = solveLinear(
    range(below).map((row) => range(below).map((column) => value(top + row - column))),
    range(below).map((row) => ratio(-(series[top + 1 + row] ?? 0))),
  );
  if (solved === null) return null;
  const q = [ratio(1), ...solved];
  const p = range(top + 1).map((power) =>
    q.reduce((sum, factor, index) => plus(sum, times(factor, value(power - index))), ZERO),
  );
  return { top: p, below: q };
}
