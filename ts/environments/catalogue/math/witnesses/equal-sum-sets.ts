/** equal-sum-sets: two disjoint sets of given numbers with equal sums. */
import { sample } from "../../../../random/draws.ts";
import { at, linesOf, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";

interface Problem {
  numbers: number[];
}

/** By level: how many numbers, the greatest one. */
const SIZES = [
  [5, 24],
  [7, 90],
  [8, 190],
  [10, 700],
  [12, 2_600],
] as const;

export const equalSumSets = certificateRow<Problem>({
  id: "equal-sum-sets",
  asks: "two disjoint sets of given numbers with equal sums",
  draw(rng, level) {
    const [count, most] = at(SIZES, level - 1);
    const numbers = sample(
      range(most - Math.floor(most / 3)).map((index) => index + Math.floor(most / 3)),
      count,
      rng,
    );
    const found = equalSets(numbers);
    // Many solutions, or one with two numbers on a side, would be found at once.
    if (
      found === null ||
      found.ways > 2 ** Math.max(2, count - 5) ||
      Math.min(...found.sets.map(({ length }) => length)) < 2
    )
      return null;
    return {
      problem: { numbers },
      certificate: found.sets.map((set) => set.join(", ")).join("\n"),
      steps: 3 ** count,
    };
  },
  proves({ numbers }, answer) {
    const sets = linesOf(answer).map(integersIn);
    if (sets.length !== 2) return false;
    const [a, b] = sets;
    if (a === undefined || b === undefined || a === null || b === null) return false;
    const all = [...a, ...b];
    if (new Set(all).size < all.length || all.some((value) => !numbers.includes(value))) return false;
    return sumOf(a) === sumOf(b);
  },
  canonical: ({ numbers }) => numbers.toSorted((a, b) => a - b),
  prompts: [
    (one) =>
      `Among the numbers ${one.numbers.join(", ")} there are two disjoint nonempty groups with the same sum (some numbers may be in neither). Write one group on the first line and the other on the second, with commas between the numbers.`,
    (one) =>
      `Weights of ${one.numbers.join(", ")} grams lie on a table. Balance a pair of scales with some of them, at least one on each side. Two lines: the weights on the left, the weights on the right, each comma-separated.`,
    (one) =>
      `Let S = {${one.numbers.join(", ")}}. Find A and B, subsets of S without a common element and not empty, whose elements add up to equal totals. Put the elements of A on one line and those of B on the next (commas between).`,
    (one) =>
      `Two people share some of the amounts ${one.numbers.join(", ")} so that both get the same total; leftovers are allowed, but each gets something. Who gets what? A line for each person, amounts divided by commas.`,
  ],
  slips({ numbers }, certificate) {
    const [a = "", b = ""] = certificate.split("\n");
    const half = Math.floor(numbers.length / 2);
    return [
      `${a}\n${a}`,
      `${numbers.slice(0, half).join(", ")}\n${numbers.slice(half).join(", ")}`,
      a,
      `${a}, ${b}\n0`,
    ];
  },
  variants: (_, certificate) => [certificate.split("\n").toReversed().join("\n"), certificate.replaceAll(", ", " ")],
});

function sumOf(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** The sums of all subsets meet; the pair with the fewest numbers, without those in both, and how many pairs of equal sum there are. */
function equalSets(numbers: readonly number[]): { sets: number[][]; ways: number } | null {
  const bySum = new Map<number, number[]>();
  for (let mask = 1; mask < 2 ** numbers.length; mask++) {
    const sum = numbers.reduce((all, value, index) => ((mask >> index) % 2 === 1 ? all + value : all), 0);
    bySum.set(sum, [...(bySum.get(sum) ?? []), mask]);
  }
  const pairs = [...bySum.values()].flatMap((masks) =>
    masks.flatMap((a, index) => masks.slice(index + 1).map((b): [number, number] => [a & ~b, b & ~a])),
  );
  const distinct = new Map(pairs.map((pair) => [pair.toSorted((a, b) => a - b).join(" "), pair]));
  const sets = [...distinct.values()]
    .map((pair) => pair.map((mask) => numbers.filter((_, index) => (mask >> index) % 2 === 1)))
    .toSorted((a, b) => a.flat().length - b.flat().length)[0];
  return sets === undefined ? null : { sets, ways: distinct.size };
}
