/** polynomial-geometric-series: the exact sum of an endless series of a polynomial times powers of a ratio. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { minus, ONE, over, plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  /** Coefficients from the constant on. */
  polynomial: number[];
  ratio: [number, number];
  /** First index. */
  first: number;
  /** Factors by the index modulo their number. */
  pattern: number[];
}

/** By level: degree, largest coefficient, largest denominator, largest first index, length of the pattern. */
const SIZES = [
  [1, 5, 4, 1, 1],
  [1, 9, 6, 2, 2],
  [2, 9, 7, 3, 2],
  [3, 9, 8, 4, 3],
  [4, 9, 9, 6, 4],
] as const;

export const polynomialGeometricSeries = exactRow<Problem>({
  id: "polynomial-geometric-series",
  asks: "the exact sum of an endless series of a polynomial times powers of a ratio",
  kind: "fraction",
  draw(rng, level) {
    const [degree, most, bottom, first, length] = at(SIZES, level - 1);
    const denominator = between(rng, 2, bottom);
    const factor = (): number => between(rng, 1, most) * rng.pick([1, 1, -1]);
    return {
      polynomial: range(degree + 1).map(factor),
      ratio: [between(rng, 1, denominator - 1) * rng.pick([1, -1]), denominator],
      first: between(rng, 0, first),
      pattern: length === 1 ? [1] : range(length).map(() => between(rng, -3, 4)),
    };
  },
  solve(problem) {
    const { pattern, polynomial, first } = problem;
    const isPlain = pattern.length > 1 && pattern.every((one) => one === pattern[0]);
    if (isPlain || pattern.filter((one) => one !== 0).length === 0) return null;
    const value = sumOf(problem);
    if (value.n === 0n || value.d === 1n) return null;
    return { value: textOf(value), steps: polynomial.length ** 2 * pattern.length * 5 + first };
  },
  prompts: [
    (one) =>
      `Find the exact value, as a fraction, of the infinite sum over k = ${one.first}, ${one.first + 1}, ... of ${termText(one)}${patternText(one)}.`,
    (one) =>
      `A series begins with k = ${one.first}, and its k-th term is ${termText(one)}${patternText(one)}. It converges; to which rational number?`,
    (one) =>
      `Let a_k = ${termText(one)}${patternText(one)}. Compute a_${one.first} + a_${one.first + 1} + a_${one.first + 2} + ... (all further terms included) exactly.`,
    (one) =>
      `A payment of ${termText(one)}${patternText(one)} is due in year k, for every k ≥ ${one.first}, without end. Add them all up and give the total as a fraction in lowest terms.`,
  ],
  slips(problem) {
    const { first, ratio: r } = problem;
    const part = range(6).reduce((sum, index) => plus(sum, termAt(problem, first + index)), ZERO);
    return [
      sumOf({ ...problem, first: first + 1 }),
      sumOf({ ...problem, ratio: [-r[0], r[1]] }),
      sumOf({ ...problem, polynomial: problem.polynomial.slice(0, 1) }),
      part,
    ].map(textOf);
  },
});

/** For k = first + period · m + offset the polynomial is expanded in binomials of m, whose series are r^j / (1 - r)^(j + 1). */
function sumOf(problem: Problem): Rational {
  const {
    polynomial,
    ratio: [top, bottom],
    first,
    pattern,
  } = problem;
  const period = pattern.length;
  const r = power(ratio(top, bottom), period);
  let sum = ZERO;
  for (const offset of range(period)) {
    const start = first + offset;
    // Forward differences of the polynomial along the step of a period.
    let row = range(polynomial.length).map((m) => valueAt(polynomial, start + period * m));
    let part = ZERO;
    for (const j of range(polynomial.length)) {
      part = plus(part, over(times(ratio(at(row, 0)), power(r, j)), power(minus(ONE, r), j + 1)));
      row = row.slice(1).map((value, index) => value - at(row, index));
      if (row.length === 0) break;
    }
    const scale = times(ratio(at(pattern, start % period)), power(ratio(top, bottom), start));
    sum = plus(sum, times(scale, part));
  }
  return sum;
}

function termAt({ polynomial, ratio: [top, bottom], pattern }: Problem, k: number): Rational {
  const factor = valueAt(polynomial, k) * BigInt(at(pattern, k % pattern.length));
  return times(ratio(factor), power(ratio(top, bottom), k));
}

function valueAt(polynomial: readonly number[], k: number): bigint {
  return polynomial.reduce((sum, factor, exponent) => sum + BigInt(factor) * BigInt(k) ** BigInt(exponent), 0n);
}

function power({ n, d }: Rational, exponent: number): Rational {
  return ratio(n ** BigInt(exponent), d ** BigInt(exponent));
}

function termText({ polynomial, ratio: [top, bottom] }: Problem): string {
  const terms = polynomial.map((factor, exponent) => {
    const sign = factor < 0 ? "- " : exponent === 0 ? "" : "+ ";
    const name = exponent === 0 ? "" : exponent === 1 ? "k" : `k^${exponent}`;
    return `${sign}${Math.abs(factor)}${name}`;
  });
  return `(${terms.join(" ")}) · (${top}/${bottom})^k`;
}

function patternText({ pattern }: Problem): string {
  if (pattern.length === 1) return "";
  const list = pattern.map((factor, rest) => `${factor} if it is ${rest}`).join(", ");
  return ` · c(k), where c(k) depends on the remainder of k on division by ${pattern.length}: ${list}`;
}
