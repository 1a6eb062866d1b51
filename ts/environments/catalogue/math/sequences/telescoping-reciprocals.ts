/** telescoping-reciprocals: the exact sum of many fractions whose parts cancel. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { minus, plus, type Rational, ratio, textOf, ZERO } from "../rational.ts";

interface Problem {
  /** The k-th term is top / ((a k + b)(a (k + shift) + b)). */
  a: number;
  b: number;
  shift: number;
  top: number;
  first: number;
  last: number;
  /** Signs alternate, beginning with plus at the first index. */
  alternates: boolean;
}

/** By level: largest a, largest shift, least and most terms. */
const SIZES = [
  [1, 1, 4, 12],
  [3, 2, 12, 40],
  [4, 3, 40, 100],
  [6, 4, 100, 400],
  [9, 6, 400, 2_000],
] as const;

export const telescopingReciprocals = exactRow<Problem>({
  id: "telescoping-reciprocals",
  asks: "the exact sum of many fractions whose parts cancel",
  kind: "fraction",
  draw(rng, level) {
    const [most, shift, least, largest] = at(SIZES, level - 1);
    const first = between(rng, 1, 3 + level);
    const step = between(rng, Math.ceil(shift / 2), shift);
    return {
      a: between(rng, 1, most),
      b: between(rng, 0, most + 2),
      shift: step,
      top: between(rng, 1, 9),
      first,
      last: first + between(rng, least, largest) - 1,
      // Only with an even shift the signs keep the cancellation.
      alternates: step % 2 === 0 && rng.integer(2) === 0,
    };
  },
  solve(problem) {
    const { last, first, shift } = problem;
    const value = sumOf(problem);
    return value.d === 1n ? null : { value: textOf(value), steps: (last - first) * shift };
  },
  prompts: [
    (one) =>
      `Compute the sum over k from ${one.first} to ${one.last} of ${termText(one)} exactly, as a fraction in lowest terms.`,
    (one) =>
      `A list holds the numbers ${termText(one)} for k = ${one.first}, ${one.first + 1}, ..., ${one.last}. Most parts cancel when they are added. What is the total? Give one fraction.`,
    (one) =>
      `For k = ${one.first}, ..., ${one.last} (both ends included) put t_k = ${termText(one)}. Find the rational number t_${one.first} + ... + t_${one.last}.`,
    (one) =>
      `Step number k of a walk has the (signed) length ${termText(one)}; the first step has number ${one.first}, the last one number ${one.last}. How far from its beginning does the walk end? Answer with an exact fraction.`,
  ],
  slips(problem) {
    const { last, shift } = problem;
    return [
      sumOf({ ...problem, last: last - 1 }),
      sumOf({ ...problem, top: problem.top * shift * problem.a + (shift * problem.a === 1 ? 1 : 0) }),
      sumOf({ ...problem, last: last + shift }),
      sumOf({ ...problem, alternates: !problem.alternates }),
    ].map(textOf);
  },
});

/** top / (a · shift) times the difference of the reciprocals; with an even shift the signs agree, so that only the ends are left. */
function sumOf({ a, b, shift, top, first, last, alternates }: Problem): Rational {
  const reciprocals = (from: number): Rational =>
    range(shift)
      .map((index) => ratio(alternates && (from + index - first) % 2 === 1 ? -1 : 1, a * (from + index) + b))
      .reduce(plus, ZERO);
  if (alternates && shift % 2 === 1) return plus(ratio(top, a * first + b), ratio(1, last));
  const ends = minus(reciprocals(first), reciprocals(last + 1));
  return ratio(ends.n * BigInt(top), ends.d * BigInt(a * shift));
}

function termText({ a, b, shift, top, first, alternates }: Problem): string {
  const linear = (constant: number): string => `${a === 1 ? "" : a}k${constant === 0 ? "" : ` + ${constant}`}`;
  const sign = alternates ? `(-1)^(k - ${first}) · ` : "";
  const left = b === 0 ? linear(0) : `(${linear(b)})`;
  return `${sign}${top} / [${left} · (${linear(a * shift + b)})]`;
}
