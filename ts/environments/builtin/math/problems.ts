/**
 * Generates problems with exact answers: each has its answer in LaTeX, the same answer in another form, a near wrong one, and
 * the right one without any computation, which must not count.
 *
 * The answers are computed here with whole numbers, not by the verifier that grades replies.
 */
import type { Rng } from "../../../random/rng.ts";

export interface MathProblem {
  kind: string;
  problem: string;
  answer: string;
  /** The answer in another form. */
  other: string;
  wrong: string;
  /** The right answer in the problem's own form, without any computation, where that is possible. */
  unevaluated?: string;
}

export const KINDS = [
  "linear",
  "fractions",
  "quadratic",
  "system",
  "remainder",
  "divisor",
  "counting",
  "percent",
  "triangle",
  "derivative",
  "inequality",
  "complex",
] as const;
export type Kind = (typeof KINDS)[number];

/** Endless, of these kinds in random order. */
export function* problems(rng: Rng, kinds: readonly Kind[]): Generator<MathProblem> {
  for (;;) {
    const kind = rng.pick(kinds);
    yield { kind, ...MAKERS[kind](rng) };
  }
}

type Maker = (rng: Rng) => Omit<MathProblem, "kind">;

const between = (rng: Rng, low: number, high: number): number => low + rng.integer(high - low + 1);
/** From -high to high without 0. */
const nonZero = (rng: Rng, high: number): number => (rng.integer(2) === 0 ? -1 : 1) * between(rng, 1, high);

const MAKERS: Readonly<Record<Kind, Maker>> = {
  linear(rng) {
    const [a, b, x] = [between(rng, 2, 12), nonZero(rng, 30), nonZero(rng, 20)];
    const c = a * x + b;
    return {
      problem: `Solve ${a}x ${signed(b)} = ${c} for x.`,
      answer: String(x),
      other: `x = ${x}.0`,
      wrong: String(x + 1),
    };
  },
  fractions(rng) {
    const [a, b, c, d] = [between(rng, 1, 9), between(rng, 2, 12), between(rng, 1, 9), between(rng, 2, 12)];
    const isSum = rng.integer(2) === 0;
    const [top, bottom] = isSum ? [a * d + b * c, b * d] : [a * c, b * d];
    return {
      problem: `Compute \\frac{${a}}{${b}} ${isSum ? "+" : "\\cdot"} \\frac{${c}}{${d}} as a fraction in lowest terms.`,
      answer: fraction(top, bottom),
      other: fraction(top, bottom).replace(/\\frac\{(\d+)\}\{(\d+)\}/u, "$1/$2"),
      wrong: fraction(top + 1, bottom),
      unevaluated: `\\frac{${a}}{${b}} ${isSum ? "+" : "\\cdot"} \\frac{${c}}{${d}}`,
    };
  },
  quadratic(rng) {
    const p = nonZero(rng, 9);
    const q = p + between(rng, 1, 9);
    return {
      problem: `Find all real x with x^2 ${term(-(p + q), "x")} ${signed(p * q)} = 0. Give them as a set.`,
      answer: `\\{${p}, ${q}\\}`,
      other: `\\{${q}, ${p}\\}`,
      wrong: `\\{${p}, ${q + 1}\\}`,
    };
  },
  system(rng) {
    const [x, y] = [nonZero(rng, 9), nonZero(rng, 9)];
    const [a, b, c] = [between(rng, 1, 6), between(rng, 1, 6), between(rng, 1, 6)];
    // The determinant a·(-c) - b·1 is negative, so there is exactly one solution.
    return {
      problem: `Solve the system ${term(a, "x", true)} ${term(b, "y")} = ${a * x + b * y}, x ${term(-c, "y")} = ${x - c * y}. Give (x, y).`,
      answer: `(${x}, ${y})`,
      other: `\\left(\\frac{${2 * x}}{2}, ${y}\\right)`,
      wrong: `(${y === x ? y + 1 : y}, ${x})`,
    };
  },
  remainder(rng) {
    const [base, exponent, modulus] = [between(rng, 2, 30), between(rng, 10, 200), between(rng, 5, 50)];
    let rest = 1;
    for (let i = 0; i < exponent; i++) rest = (rest * base) % modulus;
    return {
      problem: `What is the remainder when ${base}^{${exponent}} is divided by ${modulus}?`,
      answer: String(rest),
      other: `${rest}.00`,
      wrong: String(rest + 1),
      unevaluated: `${base}^{${exponent}} \\bmod ${modulus}`,
    };
  },
  divisor(rng) {
    const common = between(rng, 2, 40);
    const [a, b] = [common * between(rng, 2, 30), common * between(rng, 2, 30)];
    const divisor = gcd(a, b);
    const isLeast = rng.integer(2) === 0;
    const result = isLeast ? (a / divisor) * b : divisor;
    return {
      problem: `Find the ${isLeast ? "least common multiple" : "greatest common divisor"} of ${a} and ${b}.`,
      answer: String(result),
      other: result.toLocaleString("en-US"),
      wrong: String(result + 1),
    };
  },
  counting(rng) {
    const [n, m] = [between(rng, 5, 15), between(rng, 4, 12)];
    const [k, j] = [between(rng, 2, n - 2), between(rng, 1, m - 1)];
    const count = choose(n, k) * choose(m, j);
    return {
      problem: `In how many ways can a committee of ${k} women and ${j} ${j === 1 ? "man" : "men"} be chosen from ${n} women and ${m} men?`,
      answer: String(count),
      other: count.toLocaleString("en-US"),
      wrong: String(count - 1),
      unevaluated: `\\binom{${n}}{${k}} \\binom{${m}}{${j}}`,
    };
  },
  percent(rng) {
    const [price, percent] = [between(rng, 4, 90) * 10, between(rng, 2, 15) * 5];
    const cents = price * (100 - percent);
    return {
      problem: `A coat costs $${price}. How many dollars does it cost after a discount of ${percent}%?`,
      answer: fraction(cents, 100, true),
      other: `\\$${(cents / 100).toFixed(2)}`,
      wrong: fraction(cents + 100, 100, true),
      unevaluated: `${price} \\cdot \\frac{${100 - percent}}{100}`,
    };
  },
  triangle(rng) {
    const [a, b] = [between(rng, 1, 15), between(rng, 1, 15)];
    const square = a * a + b * b;
    return {
      problem: `The legs of a right triangle are ${a} and ${b}. How long is the hypotenuse? Give an exact value.`,
      answer: root(square),
      other: `\\sqrt{${square}}`,
      wrong: `\\sqrt{${square + 1}}`,
      unevaluated: `\\sqrt{${a}^2 + ${b}^2}`,
    };
  },
  derivative(rng) {
    const [a, b, c, at] = [between(rng, 1, 6), nonZero(rng, 9), nonZero(rng, 9), nonZero(rng, 5)];
    return {
      problem: `Let f(x) = ${term(a, "x^3", true)} ${term(b, "x^2")} ${term(c, "x")} ${signed(at)}. Find f'(x).`,
      answer: `${3 * a}x^2 ${term(2 * b, "x")} ${signed(c)}`,
      other: `${c} ${signed(2 * b)} \\cdot x ${signed(3 * a)} \\cdot x \\cdot x`,
      wrong: `${3 * a}x^2 ${term(2 * b, "x")} ${signed(c + 1)}`,
      unevaluated: `\\frac{d}{dx}(${term(a, "x^3", true)} ${term(b, "x^2")} ${term(c, "x")} ${signed(at)})`,
    };
  },
  inequality(rng) {
    const [a, bound, isStrict] = [between(rng, 2, 9), nonZero(rng, 12), rng.integer(2) === 0];
    const b = nonZero(rng, 20);
    const open = isStrict ? "(" : "[";
    return {
      problem: `Solve ${a}x ${signed(b)} ${isStrict ? ">" : "\\ge"} ${a * bound + b}. Give the solution set as an interval.`,
      answer: `${open}${bound}, \\infty)`,
      other: `x ${isStrict ? ">" : "\\geq"} ${bound}`,
      wrong: `(-\\infty, ${bound}${isStrict ? ")" : "]"}`,
    };
  },
  complex(rng) {
    const [a, b, c, d] = [nonZero(rng, 9), nonZero(rng, 9), nonZero(rng, 9), nonZero(rng, 9)];
    const [real, imaginary] = [a * c - b * d, a * d + b * c];
    return {
      problem: `Compute (${a} ${term(b, "i")})(${c} ${term(d, "i")}) in the form a + bi.`,
      unevaluated: `(${a} ${term(b, "i")})(${c} ${term(d, "i")})`,
      answer: `${real} ${term(imaginary, "i")}`,
      other: `${imaginary}i ${signed(real)}`,
      wrong: `${real + 1} ${term(imaginary, "i")}`,
    };
  },
};

/** `+ 3`, `- 3`. */
function signed(value: number): string {
  return value < 0 ? `- ${-value}` : `+ ${value}`;
}

/** `+ 3x`, `- x`; the first of a sum without its plus. */
function term(factor: number, of: string, isFirst = false): string {
  const size = Math.abs(factor) === 1 ? of : `${Math.abs(factor)}${of}`;
  if (isFirst) return factor < 0 ? `-${size}` : size;
  return factor < 0 ? `- ${size}` : `+ ${size}`;
}

function choose(n: number, k: number): number {
  let count = 1;
  for (let i = 1; i <= k; i++) count = (count * (n - k + i)) / i;
  return count;
}

function gcd(a: number, b: number): number {
  return b === 0 ? Math.abs(a) : gcd(b, a % b);
}

/** In lowest terms; as a decimal where `isMoney`. */
function fraction(top: number, bottom: number, isMoney = false): string {
  const common = gcd(top, bottom);
  if (bottom === common) return String(top / bottom);
  return isMoney ? String(top / bottom) : `\\frac{${top / common}}{${bottom / common}}`;
}

/** With the largest square taken out. */
function root(square: number): string {
  let outside = 1;
  for (let factor = 2; factor * factor <= square; factor++) if (square % (factor * factor) === 0) outside = factor;
  const inside = square / (outside * outside);
  if (inside === 1) return String(outside);
  return `${outside === 1 ? "" : outside}\\sqrt{${inside}}`;
}
