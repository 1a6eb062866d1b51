/** egyptian-fraction-bound: different unit fractions with bounded denominators and a given sum, which is added up. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { compare, minus, type Rational, ratio, textOf, total, ZERO } from "../rational.ts";

interface Problem {
  target: string;
  count: number;
  most: number;
}

/** By level: unit fractions, largest denominator. */
const SIZES = [
  [2, 40],
  [3, 110],
  [4, 120],
  [5, 150],
  [7, 180],
] as const;

export const egyptianFractionBound = certificateRow<Problem>({
  id: "egyptian-fraction-bound",
  asks: "a given number of different unit fractions with bounded denominators and a given sum",
  draw(rng, level) {
    const [count, most] = at(SIZES, level - 1);
    // Divisors of one number, so that the sum has a small denominator.
    const multiple = 2 * between(rng, most, 3 * most);
    const choices = range(most - 1)
      .map((index) => index + 2)
      .filter((value) => multiple % value === 0);
    if (choices.length < count + 3) return null;
    const chosen = sample(choices, count, rng).toSorted((a, b) => a - b);
    const sum = total(chosen.map((value) => ratio(1, value)));
    const problem = { target: textOf(sum), count, most };
    if (sum.n < 2n || isSolvedByGreed(sum, problem)) return null;
    return { problem, certificate: chosen.join(", "), steps: count * most };
  },
  proves({ target, count, most }, answer) {
    const list = integersIn(answer);
    if (list === null || list.length !== count || new Set(list).size < count) return false;
    if (list.some((value) => value < 1 || value > most)) return false;
    return textOf(total(list.map((value) => ratio(1, value)))) === target;
  },
  prompts: [
    (one) =>
      `Write ${one.target} as a sum of exactly ${one.count} different unit fractions 1/n with n ≤ ${one.most}. ${FORMAT}`,
    (one) =>
      `An Egyptian scribe needs ${one.count} distinct fractions with numerator 1 that add up to ${one.target}. His table ends at 1/${one.most}. Which denominators can he take? ${FORMAT}`,
    (one) =>
      `Find ${one.count} different positive integers, none above ${one.most}, whose reciprocals have the sum ${one.target}. ${FORMAT}`,
    (one) =>
      `${FORMAT} The fractions all have the numerator 1, there are ${one.count} of them, no two are equal, the largest denominator is at most ${one.most}, and together they make ${one.target}.`,
  ],
  slips({ target, count }, certificate) {
    const list = certificate.split(", ").map(Number);
    return [
      list.slice(1).join(", "),
      [...list.slice(0, -1), at(list, list.length - 1) + 1].join(", "),
      range(count)
        .map((index) => index + 2)
        .join(", "),
      `${target}, ${certificate}`,
      [at(list, 0), ...list.slice(0, -1)].join(", "),
    ];
  },
  variants: (_, certificate) => [certificate.split(", ").toReversed().join(" ")],
});

const FORMAT = "Answer with the denominators, separated by commas, in any order.";

/** The largest unit fraction first, which usually leaves the bound. */
function isSolvedByGreed(target: Rational, { count, most }: Problem): boolean {
  let [rest, used, last] = [target, 0, 1];
  while (rest.n > 0n) {
    const next = Math.max(last + 1, Number((rest.d + rest.n - 1n) / rest.n));
    if (next > most || used === count) return false;
    rest = minus(rest, ratio(1, next));
    [used, last] = [used + 1, next];
  }
  return compare(rest, ZERO) === 0 && used === count;
}
