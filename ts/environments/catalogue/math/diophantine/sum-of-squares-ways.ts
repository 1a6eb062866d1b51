/** sum-of-squares-ways: all ways to write a number as x² + m·y². */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { listed } from "../exact-answer.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  n: number;
  m: number;
}

/** By level: norms that are multiplied, largest x and y of each, least and largest number. */
const SIZES = [
  [2, 4, 40, 400],
  [2, 10, 401, 4000],
  [3, 6, 4001, 40_000],
  [3, 12, 40_001, 400_000],
  [4, 9, 400_001, 4_000_000],
] as const;

export const sumOfSquaresWays = exactRow<Problem>({
  id: "sum-of-squares-ways",
  asks: "all ways to write a number as the sum of a square and a multiple of a square",
  kind: "set",
  draw(rng, level) {
    const [count, most, least, largest] = at(SIZES, level - 1);
    const m = rng.pick([1, 2, 3, 5, 6, 7, 10, 11, 13, 14]);
    // A product of numbers of this form has the form, in several ways.
    const norms = range(count).map(() => between(rng, 1, most) ** 2 + m * between(rng, 1, most) ** 2);
    const n = norms.reduce((product, norm) => product * norm, 1);
    return n < least || n > largest ? null : { n, m };
  },
  solve(problem) {
    const found = waysOf(problem);
    return found.length < 2 ? null : { value: listed(found.map(BigInt)), steps: Math.floor(Math.sqrt(problem.n)) };
  },
  prompts: [
    (one) => `Find all non-negative integers x such that ${one.n} - x^2 is ${timesSquare(one)}.${half(one)}`,
    (one) =>
      `In how many ways is ${one.n} = ${form(one)} with integers x, y ≥ 0? Answer with the values of x in all these ways, in any order.${half(one)}`,
    (one) =>
      `The number ${one.n} is represented by the form ${form(one)} more than once. Give every x ≥ 0 that occurs (together with an integer y ≥ 0).${half(one)}`,
    (one) =>
      `Which points of the curve ${form(one)} = ${one.n} in the closed first quadrant have integer coordinates? State their x-coordinates.${half(one)}`,
  ],
  slips(problem) {
    const found = waysOf(problem).map(BigInt);
    const partners = found.map((x) => BigInt(Math.round(Math.sqrt((problem.n - Number(x) ** 2) / problem.m))));
    return [listed(found.slice(1)), listed(found.slice(0, -1)), listed(partners)];
  },
});

function form({ m }: Problem): string {
  return `x^2 + ${m === 1 ? "" : m}y^2`;
}

function timesSquare({ m }: Problem): string {
  return m === 1 ? "a perfect square" : `${m} times a perfect square`;
}

function half({ m }: Problem): string {
  return m === 1 ? " Of the two numbers that are squared, take the larger one as x, so that x ≥ y." : "";
}

function waysOf({ n, m }: Problem): number[] {
  return range(Math.floor(Math.sqrt(n / m)) + 1).flatMap((y) => {
    const x = Math.round(Math.sqrt(n - m * y * y));
    return x * x + m * y * y === n && (m > 1 || x >= y) ? [x] : [];
  });
}
