/** numbers-from-power-sums: whole numbers from the sums of their powers. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { valueAt } from "./polynomial.ts";
import { ratio } from "../rational.ts";

interface Problem {
  /** Sums of the first powers, as many as there are numbers. */
  sums: number[];
}

/** By level: numbers, least and greatest of them. */
const SIZES = [
  [2, 2, 15],
  [3, -6, 12],
  [4, -7, 11],
  [5, -9, 11],
  [6, -9, 12],
] as const;

export const numbersFromPowerSums = exactRow<Problem>({
  id: "numbers-from-power-sums",
  asks: "whole numbers from the sums of their first powers",
  kind: "tuple",
  draw(rng, level) {
    const [count, least, most] = at(SIZES, level - 1);
    const numbers = range(count).map(() => between(rng, least, most));
    return { sums: range(count).map((index) => numbers.reduce((sum, one) => sum + one ** (index + 1), 0)) };
  },
  solve({ sums }) {
    const elementary = elementaryOf(sums);
    const monic = elementary.map((value, index) => (index % 2 === 0 ? value : -value));
    const found = wholeRoots(monic);
    const size = found.reduce((sum, one) => sum + Math.abs(one), 0);
    if (new Set(found).size < 2 || found.length < sums.length) return null;
    return { value: found.join(", "), steps: sums.length ** 3 * 10 + size };
  },
  prompts: [
    (one) =>
      `${one.sums.length} integers, not necessarily different, satisfy: ${sumsText(one)}. Find them and list them in ascending order, separated by commas.`,
    (one) =>
      `Solve in integers the system of symmetric equations for ${variables(one)}: ${equations(one)}. Give the values sorted from small to large with commas between.`,
    (one) =>
      `Of a list of ${one.sums.length} whole numbers only this is known: ${sumsText(one)}. Reconstruct the list; write it with commas, the smallest number first, repeated numbers as often as they occur.`,
    (one) =>
      `Newton's identities turn power sums into coefficients. The power sums p_1 to p_${one.sums.length} of ${one.sums.length} integers are ${one.sums.join(", ")}. Which integers are they? Write them comma-separated in non-decreasing order.`,
  ],
  slips(_, value) {
    const list = value.split(", ").map(Number);
    const sorted = (numbers: number[]): string => numbers.toSorted((a, b) => a - b).join(", ");
    return [
      sorted(list.map((one) => -one)),
      sorted([at(list, 0) - 1, ...list.slice(1, -1), at(list, list.length - 1) + 1]),
      sorted([at(list, 0) + 1, ...list.slice(1, -1), at(list, list.length - 1) - 1]),
    ];
  },
});

/** Newton's identities: elementary symmetric functions from power sums. */
function elementaryOf(sums: readonly number[]): number[] {
  const elementary = [1];
  for (const degree of range(sums.length)) {
    const total = range(degree + 1).reduce(
      (sum, index) => sum + (index % 2 === 0 ? 1 : -1) * at(elementary, degree - index) * at(sums, index),
      0,
    );
    elementary.push(total / (degree + 1));
  }
  return elementary;
}

/** In ascending order, with multiplicity; by trial of all numbers below Cauchy's bound, or those that powers allow. */
function wholeRoots(monic: readonly number[]): number[] {
  const bound = Math.min(60, 1 + Math.max(...monic.map(Math.abs)));
  const roots: number[] = [];
  let rest = [...monic];
  for (let one = -bound; one <= bound; one++) {
    while (rest.length > 1 && valueAt(rest, ratio(one)).n === 0n) {
      roots.push(one);
      let carried = 0;
      rest = rest.slice(0, -1).map((factor) => (carried = carried * one + factor));
    }
  }
  return roots;
}

const LETTERS = ["u", "v", "w", "x", "y", "z"];
const ORDINALS = [
  "the numbers",
  "their squares",
  "their cubes",
  "their fourth powers",
  "their fifth powers",
  "their sixth powers",
];

function sumsText({ sums }: Problem): string {
  return sums.map((sum, index) => `${at(ORDINALS, index)} add up to ${sum}`).join("; ");
}

function variables({ sums }: Problem): string {
  return LETTERS.slice(0, sums.length).join(", ");
}

function equations({ sums }: Problem): string {
  return sums
    .map((sum, index) => {
      const power = index === 0 ? "" : `^${index + 1}`;
      return `${LETTERS.slice(0, sums.length)
        .map((letter) => `${letter}${power}`)
        .join(" + ")} = ${sum}`;
    })
    .join("; ");
}
