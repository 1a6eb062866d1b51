/** rational-conic-point: a rational point of an ellipse in a narrow strip; it is put into the equation. */
import { between } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { rationalOf, rationalsIn } from "../certificate-text.ts";
import { compare, minus, over, plus, type Rational, ratio, textOf, times } from "../rational.ts";

interface Problem {
  a: number;
  b: number;
  c: number;
  known: [number, number];
  low: string;
  high: string;
}

/** By level: largest coefficient, largest coordinate of the known point, parts into which a unit is divided. */
const SIZES = [
  [2, 3, 2],
  [3, 4, 6],
  [5, 6, 20],
  [7, 8, 80],
  [9, 9, 400],
] as const;
/** Numerators and denominators with more digits are refused. */
const MOST_DIGITS = 60;

export const rationalConicPoint = certificateRow<Problem>({
  id: "rational-conic-point",
  asks: "a rational point of an ellipse in a narrow strip",
  draw(rng, level) {
    const [most, largest, parts] = at(SIZES, level - 1);
    const [a, b] = [between(rng, 1, most), between(rng, 1, most)];
    const known: [number, number] = [between(rng, 1, largest), between(rng, 1, largest)];
    const c = a * known[0] ** 2 + b * known[1] ** 2;
    const slope = ratio(between(rng, -parts - 3, parts + 3), between(rng, 2, parts + 2));
    const [x, y] = secondPoint({ a, b, known }, slope);
    const low = ratio((x.n * BigInt(parts)) / x.d - (x.n < 0n ? 1n : 0n), parts);
    const high = plus(low, ratio(1, parts));
    const inside = compare(low, x) < 0 && compare(x, high) < 0;
    const isKnown = [low, high].some((end) => Math.abs(Number(end.n) / Number(end.d)) >= known[0]);
    if (!inside || isKnown || x.d === 1n || y.n === 0n) return null;
    const problem = { a, b, c, known, low: textOf(low), high: textOf(high) };
    return { problem, certificate: `${textOf(x)}, ${textOf(y)}`, steps: parts * (a + b) };
  },
  proves({ a, b, c, low, high }, answer) {
    if (answer.length > 4 * MOST_DIGITS) return false;
    const point = rationalsIn(answer);
    if (point?.length !== 2) return false;
    const [x, y] = [at(point, 0), at(point, 1)];
    if (compare(rationalOf(low), x) >= 0 || compare(x, rationalOf(high)) >= 0) return false;
    const value = plus(times(ratio(a), times(x, x)), times(ratio(b), times(y, y)));
    return compare(value, ratio(c)) === 0;
  },
  prompts: [
    (one) =>
      `The ellipse ${equation(one)} passes through (${one.known.join(", ")}). Find a point on it with rational coordinates and ${one.low} < x < ${one.high}. ${FORMAT}`,
    (one) =>
      `Find rational numbers x and y with ${equation(one)} where x lies strictly between ${one.low} and ${one.high}. (One rational solution is x = ${one.known[0]}, y = ${one.known[1]}.) ${FORMAT}`,
    (one) =>
      `Lines with rational slopes through (${one.known.join(", ")}) meet the curve ${equation(one)} in a second rational point. Produce one such point inside the open strip from x = ${one.low} to x = ${one.high}. ${FORMAT}`,
    (one) =>
      `${FORMAT} Both are exact fractions, they satisfy ${equation(one)}, and x is larger than ${one.low} but smaller than ${one.high}. As a start: (${one.known.join(", ")}) satisfies the equation.`,
  ],
  slips({ known, low, high }, certificate) {
    const [x = "", y = ""] = certificate.split(", ");
    return [known.join(", "), `${y}, ${x}`, `${low}, ${y}`, `${high}, ${y}`, x, `${x}, ${y}, 1`];
  },
  variants: (_, certificate) => {
    const [x = "", y = ""] = certificate.split(", ");
    return [`(${x}, ${y})`, `${x}, ${y.startsWith("-") ? y.slice(1) : `-${y}`}`];
  },
});

const FORMAT = "Answer with x and y as fractions, separated by a comma.";

function equation({ a, b, c }: Problem): string {
  return `${a === 1 ? "" : a}x^2 + ${b === 1 ? "" : b}y^2 = ${c}`;
}

/** Where the line of this slope through the known point meets the curve again. */
function secondPoint({ a, b, known }: Pick<Problem, "a" | "b" | "known">, slope: Rational): [Rational, Rational] {
  const [p, q] = [ratio(known[0]), ratio(known[1])];
  const top = plus(times(ratio(2 * a), p), times(times(ratio(2 * b), q), slope));
  const x = minus(p, over(top, plus(ratio(a), times(ratio(b), times(slope, slope)))));
  return [x, plus(q, times(slope, minus(x, p)))];
}
