/** progression-sums: all ways to write a number as a sum of two or more terms with a constant difference. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { listed } from "../exact-answer.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  total: number;
  step: number;
}

/** By level: largest difference, least and largest total. */
const SIZES = [
  [3, 20, 100],
  [5, 101, 600],
  [7, 601, 4000],
  [9, 4001, 30_000],
  [12, 30_001, 300_000],
] as const;

export const progressionSums = exactRow<Problem>({
  id: "progression-sums",
  asks: "all ways to write a number as a sum of terms with a constant difference",
  kind: "set",
  draw(rng, level) {
    const [most, least, largest] = at(SIZES, level - 1);
    return { total: between(rng, least, largest), step: between(rng, 1, most) };
  },
  solve(problem) {
    const found = firstTerms(problem);
    if (found.length < 2) return null;
    return { value: listed(found.map(BigInt)), steps: Math.floor(Math.sqrt((2 * problem.total) / problem.step)) };
  },
  prompts: [
    (one) =>
      `In which ways is ${one.total} the sum of two or more positive integers, each of which is ${one.step} more than the one before? Give the first (smallest) term of every way.`,
    (one) =>
      `An arithmetic progression of at least two positive integers with common difference ${one.step} has the sum ${one.total}. Find all possible values of its smallest member.`,
    (one) =>
      `A wall of ${one.total} bricks has rows that grow by ${one.step} brick(s) from one row to the next, starting at the top. It has two rows or more, and at least one brick at the top. How many bricks can the top row have? List all possibilities.`,
    (one) =>
      `Determine all integers a ≥ 1 for which some k ≥ 2 satisfies a + (a + ${one.step}) + ... + (a + ${one.step}(k - 1)) = ${one.total}. Any order.`,
  ],
  slips(problem) {
    const found = firstTerms(problem).map(BigInt);
    const alone = [...found, BigInt(problem.total)];
    const other = firstTerms({ ...problem, step: problem.step + 1 }).map(BigInt);
    return [listed(alone), listed(found.slice(1)), ...(other.length > 0 ? [listed(other)] : [])];
  },
});

function firstTerms({ total, step }: Problem): number[] {
  return range(Math.ceil(Math.sqrt((2 * total) / step)) + 2).flatMap((count) => {
    const rest = total - (step * count * (count - 1)) / 2;
    return count >= 2 && rest > 0 && rest % count === 0 ? [rest / count] : [];
  });
}
