/** endless-concatenation: the digit at a far place of numbers that are written one after the other, and its number. */
import { between } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  /** The numbers are start, start + step, start + 2 step, ... */
  start: number;
  step: number;
  /** From 1. */
  place: number;
}

/** By level: largest start, largest step, least and largest place. */
const SIZES = [
  [9, 4, 30, 90],
  [30, 9, 100, 500],
  [90, 20, 1_000, 20_000],
  [500, 60, 1_000_000, 90_000_000],
  [5_000, 300, 10_000_000_000, 900_000_000_000],
] as const;

export const endlessConcatenation = exactRow<Problem>({
  id: "endless-concatenation",
  asks: "the digit at a far place of numbers written one after the other, and its number",
  kind: "tuple",
  draw(rng, level) {
    const [start, step, least, most] = at(SIZES, level - 1);
    return { start: between(rng, 1, start), step: between(rng, 2, step), place: placeBetween(rng.next(), least, most) };
  },
  solve(problem) {
    const { digit, number } = locate(problem);
    return { value: `${digit}, ${number}`, steps: String(number).length ** 2 + String(problem.place).length };
  },
  prompts: [
    (one) =>
      `The numbers ${listText(one)} (each ${one.step} more than the one before) are written one after the other without gaps, in base ten. Which digit stands at place ${one.place} of the endless row of digits (the first digit has place 1), and to which of the numbers does it belong? Answer: digit, number.`,
    (one) =>
      `A printer prints the arithmetic progression ${listText(one)} with the difference ${one.step} on one endless line, without spaces. Find the ${one.place}. printed digit and the member of the progression that it is part of, in the form "digit, member".`,
    (one) =>
      `Let w be the infinite word that arises by joining the decimal notations of a, a + d, a + 2d, ... for a = ${one.start}, d = ${one.step}. State letter number ${one.place} of w (counted from 1) and then, after a comma, the number a + kd in which it lies.`,
    (one) =>
      `Tickets carry ${listText(one)}, going up by ${one.step} each time. Their digits are read in order. What is the digit read as number ${one.place}, and what is the ticket on which it stands? Give both, digit first, with a comma.`,
  ],
  slips(problem, value) {
    const [digit = "0", number = "0"] = value.split(", ");
    const { step, place } = problem;
    const others = [locate({ ...problem, place: place - 1 }), locate({ ...problem, place: place + 1 })];
    return [
      ...others.map((one) => `${one.digit}, ${one.number}`),
      `${digit}, ${Number(number) + step}`,
      `${(Number(digit) + 1) % 10}, ${number}`,
      `${number}, ${digit}`,
    ];
  },
});

function placeBetween(share: number, least: number, most: number): number {
  return least + Math.floor(share * (most - least));
}

/** Numbers of equal length form a block whose digits are counted at once. */
function locate({ start, step, place }: Problem): { digit: number; number: number } {
  let [first, left] = [start, place - 1];
  for (;;) {
    const length = String(first).length;
    const count = Math.ceil((10 ** length - first) / step);
    if (left < count * length) {
      const number = first + step * Math.floor(left / length);
      return { digit: Number(String(number).charAt(left % length)), number };
    }
    left -= count * length;
    first += step * count;
  }
}

function listText({ start, step }: Problem): string {
  return `${start}, ${start + step}, ${start + 2 * step}, ...`;
}
