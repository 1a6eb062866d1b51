/** coprime-witness: multipliers that prove two polynomials without a common root; the combination is expanded. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { namedLines, rationalsIn } from "../certificate-text.ts";
import { minus, ONE, plus, type Rational, ratio, solveLinear, textOf, times, ZERO } from "../rational.ts";
import { polynomialText } from "./polynomial.ts";

interface Problem {
  a: number[];
  b: number[];
}

/** By level: degrees, largest coefficient. */
const SIZES = [
  [1, 2, 3],
  [2, 2, 3],
  [2, 3, 3],
  [3, 3, 3],
  [3, 4, 3],
] as const;

const MOST_TERMS = 20;
/** Longer answers are refused: products of their fractions would take seconds. */
const MOST_LENGTH = 2_000;

export const coprimeWitness = certificateRow<Problem>({
  id: "coprime-witness",
  asks: "polynomials u and v with u·a + v·b = 1, which prove that a and b have no common root",
  draw(rng, level) {
    const [first, second, most] = at(SIZES, level - 1);
    const drawn = (degree: number): number[] => [
      between(rng, 1, 2),
      ...range(degree).map(() => between(rng, -most, most)),
    ];
    const [a, b] = [drawn(first), drawn(second)];
    const solved = multipliers(a, b);
    if (solved === null || solved.every(({ n }) => n === 0n)) return null;
    const [u, v] = [solved.slice(0, second), solved.slice(second)];
    if (u.every(({ n }) => n === 0n) || v.every(({ n }) => n === 0n)) return null;
    const text = (list: readonly Rational[]): string => list.map(textOf).join(", ");
    return { problem: { a, b }, certificate: `u: ${text(u)}\nv: ${text(v)}`, steps: (first + second) ** 3 };
  },
  proves({ a, b }, answer) {
    if (answer.length > MOST_LENGTH) return false;
    const [u, v] = (namedLines(answer, ["u", "v"]) ?? []).map(rationalsIn);
    if (u === undefined || v === undefined || u === null || v === null) return false;
    if (u.length > MOST_TERMS || v.length > MOST_TERMS) return false;
    const [first, second] = [productOf(u, a), productOf(v, b)];
    return range(Math.max(first.length, second.length)).every((power) => {
      const sum = plus(first.at(-1 - power) ?? ZERO, second.at(-1 - power) ?? ZERO);
      return minus(sum, power === 0 ? ONE : ZERO).n === 0n;
    });
  },
  prompts: [
    (one) =>
      `Let a(x) = ${polynomialText(one.a)} and b(x) = ${polynomialText(one.b)}. Prove that they have no common root by polynomials u and v with rational coefficients and u(x)a(x) + v(x)b(x) = 1. ${FORMAT}`,
    (one) =>
      `Run the extended Euclidean algorithm in Q[x] on a = ${polynomialText(one.a)} and b = ${polynomialText(one.b)}: wanted are u and v such that ua + vb is the constant 1. ${FORMAT}`,
    (one) =>
      `Show with Bezout's identity that ${polynomialText(one.a)} (call it a) and ${polynomialText(one.b)} (call it b) are coprime over Q: state multipliers u of a and v of b that give 1. ${FORMAT}`,
    (one) =>
      `${FORMAT} They shall satisfy u·(${polynomialText(one.a)}) + v·(${polynomialText(one.b)}) = 1 for every x.`,
  ],
  slips({ a, b }, certificate) {
    const [u = "", v = ""] = certificate.split("\n").map((line) => line.slice(3));
    return [
      `u: ${v}\nv: ${u}`,
      `u: ${b.join(", ")}\nv: ${a.map((factor) => -factor).join(", ")}`,
      `u: ${u}\nv: ${v}, 0`,
      `u: ${u}`,
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n"), certificate.replaceAll(":", " =")],
});

const FORMAT =
  'Write two lines, "u: ..." and "v: ...", each with the coefficients from the highest power to the constant, separated by commas.';

/** u with deg u < deg b and v with deg v < deg a, one after the other; null where a and b have a common factor. */
function multipliers(a: readonly number[], b: readonly number[]): Rational[] | null {
  const [first, second] = [a.length - 1, b.length - 1];
  const size = first + second;
  const shifted = (list: readonly number[], count: number): Rational[][] =>
    range(count).map((place) => range(size).map((row) => ratio(list[row - place] ?? 0)));
  const columns = [...shifted(a, second), ...shifted(b, first)];
  return solveLinear(
    range(size).map((row) => columns.map((column) => at(column, row))),
    range(size).map((row) => ratio(row === size - 1 ? 1 : 0)),
  );
}

function productOf(a: readonly Rational[], b: readonly number[]): Rational[] {
  const product = Array.from({ length: a.length + b.length - 1 }, () => ZERO);
  for (const [i, x] of a.entries())
    for (const [j, y] of b.entries()) product[i + j] = plus(at(product, i + j), times(x, ratio(y)));
  return product;
}
