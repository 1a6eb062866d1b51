/** descent-pattern-permutations: permutations with a given pattern of rises and falls and a given last value. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { factorial } from "../number-theory.ts";

interface Problem {
  /** `<` rise, `>` fall, `?` either, between neighbours. */
  pattern: string;
  /** The last value; null: any. */
  last: number | null;
}

/** By level: least and most values, one in how many signs is open. */
const SIZES = [
  [5, 6, 9],
  [7, 8, 7],
  [9, 11, 6],
  [12, 15, 6],
  [16, 22, 5],
] as const;

export const descentPatternPermutations = exactRow<Problem>({
  id: "descent-pattern-permutations",
  asks: "orders of 1 to n with a given pattern of rises and falls and a given last value",
  kind: "integer",
  draw(rng, level) {
    const [least, most, open] = at(SIZES, level - 1);
    const n = between(rng, least, most);
    const pattern = range(n - 1)
      .map(() => (rng.integer(open) === 0 ? "?" : rng.pick("<>")))
      .join("");
    if (!pattern.includes("<") || !pattern.includes(">")) return null;
    return { pattern, last: rng.integer(3) === 0 ? null : between(rng, 2, n - 1) };
  },
  solve(problem) {
    const value = countOf(problem);
    return value < 4n ? null : { value: String(value), steps: (problem.pattern.length + 1) ** 2 };
  },
  prompts: [
    (one) =>
      `The numbers 1 to ${size(one)} are written in a row, each once, so that the signs between neighbours are, from left to right, ${signs(one)} (a question mark allows both < and >)${last(one, ", and the last number is $")}. How many such rows are there?`,
    (one) =>
      `Fill the boxes of □ ${one.pattern.split("").join(" □ ")} □ with 1, ..., ${size(one)} (each number used exactly once) such that all the inequalities hold; "?" puts no condition on its two boxes. Count the fillings${last(one, " with $ in the last box")}.`,
    (one) =>
      `Day by day, ${size(one)} different prices 1, ..., ${size(one)} are observed, each exactly once. Written with < for a rise, > for a fall and ? where no note was made, the movements were ${signs(one)}${last(one, ". The final price was $")}. How many courses of prices fit?`,
    (one) =>
      `Compute the number of permutations p of {1, ..., ${size(one)}} for which the sequence of comparisons p(1) ? p(2), p(2) ? p(3), ... reads ${signs(one)}${last(one, ` and p(${size(one)}) = $`)}. A question mark allows both < and >.`,
  ],
  slips(problem) {
    const { pattern, last: end } = problem;
    const n = size(problem);
    const swapped = pattern.replaceAll(/[<>]/gu, (sign) => (sign === "<" ? ">" : "<"));
    return [
      factorial(n) / 2n ** BigInt(n - 1),
      countOf({ pattern, last: end === null ? 1 : null }),
      countOf({ pattern: swapped, last: end }),
      countOf({ pattern: pattern.split("").toReversed().join(""), last: end }),
    ];
  },
});

/** `ways[rank]`: rows of the values so far whose last one has this rank among them. */
function countOf({ pattern, last: end }: Problem): bigint {
  let ways = [1n];
  for (const [index, sign] of pattern.split("").entries()) {
    const before = ways;
    ways = range(index + 2).map((rank) =>
      before.reduce((sum, count, previous) => {
        const isRise = previous < rank;
        return sign === "?" || (sign === "<") === isRise ? sum + count : sum;
      }, 0n),
    );
  }
  return end === null ? ways.reduce((sum, count) => sum + count, 0n) : at(ways, end - 1);
}

function size({ pattern }: Problem): number {
  return pattern.length + 1;
}

function signs({ pattern }: Problem): string {
  return pattern.split("").join(" ");
}

function last(one: Problem, text: string): string {
  return one.last === null ? "" : text.replace("$", String(one.last));
}
