/** egyptian-fraction-bound: different unit fractions with bounded denominators and a given sum, which is added up. */
import { sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { compare, minus, type Rational, ratio, textOf, total, ZERO } from "../rational.ts";

interface Problem {
  target: string;
  count: number;
  most: number;
}

/** By level: unit fractions, largest denominator, numbers whose divisors the denominators are. */
const SIZES = [
  [2, 40, [24, 36, 40, 30, 60]],
  [3, 110, [48, 60, 70, 72, 80, 84, 90, 96, 100, 108, 112, 120, 126, 132, 140, 144, 168, 180]],
  [4, 120, [72, 84, 90, 108, 120, 126, 132, 140, 144]],
  [5, 150, [120, 108, 90]],
  [7, 180, [180, 168, 144, 120]],
] as const;

export const egyptianFractionBound = certificateRow<Problem>({
  id: "egyptian-fraction-bound",
  asks: "a given number of different unit fractions with bounded denominators and a given sum",
  draw(rng, level) {
    const [count, most, multiples] = at(SIZES, level - 1);
    const multiple = rng.pick(multiples);
    const choices = range(most - 1)
      .map((index) => index + 2)
      .filter((value) => multiple % value === 0 || (2 * multiple) % value === 0);
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
