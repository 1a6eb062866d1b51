/** merged-multiples: the n-th number that is divisible by some numbers and not by others. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { lcm } from "../number-theory.ts";

interface Problem {
  /** At least one of them divides. */
  divisors: number[];
  /** None of them divides. */
  excluded: number[];
  n: number;
}

/** By level: divisors, excluded numbers, largest of both, least and largest n. */
const SIZES = [
  [2, 0, 9, 12, 60],
  [2, 1, 12, 60, 300],
  [3, 1, 15, 500, 5_000],
  [3, 2, 20, 100_000, 1_000_000],
  [4, 2, 30, 100_000_000, 1_000_000_000],
] as const;

export const mergedMultiples = exactRow<Problem>({
  id: "merged-multiples",
  asks: "the n-th number that is divisible by some numbers and not by others",
  kind: "integer",
  draw(rng, level) {
    const [count, without, most, least, largest] = at(SIZES, level - 1);
    const drawn = sample(
      range(most - 1).map((index) => index + 2),
      count + without,
      rng,
    );
    const inOrder = (list: number[]): number[] => list.toSorted((a, b) => a - b);
    return {
      divisors: inOrder(drawn.slice(0, count)),
      excluded: inOrder(drawn.slice(count)),
      n: between(rng, least, largest),
    };
  },
  solve(problem) {
    const { divisors, excluded, n } = problem;
    const isIdle = [...divisors, ...excluded].some((one) =>
      [...divisors, ...excluded].some((other) => other !== one && one % other === 0),
    );
    if (isIdle) return null;
    const value = memberAt(problem);
    return { value: String(value), steps: 2 ** (divisors.length + excluded.length) * Math.ceil(Math.log2(n)) };
  },
  prompts: [
    (one) =>
      `Write down, in ascending order, all positive integers that are divisible by at least one of ${one.divisors.join(", ")}${withoutText(one, " and by none of")}. Which number stands at place ${one.n}?`,
    (one) =>
      `Let S be the set of positive multiples of ${one.divisors.join(" or ")}${withoutText(one, ", without the multiples of")}. Find the element number ${one.n} of S when S is sorted from small to large.`,
    (one) =>
      `Bells ring every ${one.divisors.join(", every ")} seconds (first after one full period)${withoutText(one, ", but all are muted at the multiples of")}. At each second with a ring a counter goes up by one, even if several bells ring. At which second does the counter reach ${one.n}?`,
    (one) =>
      `Find the integer m such that exactly ${one.n} of the numbers 1, 2, ..., m are multiples of some number of the list ${one.divisors.join(", ")}${withoutText(one, " while not being multiples of")}, and m is one of these numbers itself.`,
  ],
  slips(problem) {
    const { n, divisors } = problem;
    const density = divisors.reduce((sum, one) => sum + 1 / one, 0);
    return [
      memberAt({ ...problem, n: n - 1 }),
      memberAt({ ...problem, n: n + 1 }),
      Math.floor(n / density),
      memberAt({ ...problem, excluded: [] }) + (problem.excluded.length === 0 ? 1 : 0),
    ];
  },
});

/** The least m up to which there are n members, by inclusion and exclusion and by halving. */
function memberAt({ divisors, excluded, n }: Problem): number {
  const terms = signedSets(divisors).flatMap(([a, first]) =>
    signedSets(excluded).flatMap(([b, second]) => (a === 1 ? [] : [[lcm(a, b), -first * second] as const])),
  );
  const countTo = (m: number): number => terms.reduce((sum, [step, sign]) => sum + sign * Math.floor(m / step), 0);
  let [low, high] = [0, at(divisors, 0)];
  while (countTo(high) < n) high *= 2;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (countTo(middle) >= n) high = middle;
    else low = middle;
  }
  return high;
}

/** The least common multiple of each subset, with the sign of its size. */
function signedSets(numbers: readonly number[]): [multiple: number, sign: number][] {
  let sets: [number, number][] = [[1, 1]];
  for (const one of numbers)
    sets = [...sets, ...sets.map(([multiple, sign]): [number, number] => [lcm(multiple, one), -sign])];
  return sets;
}

function withoutText({ excluded }: Problem, head: string): string {
  return excluded.length === 0 ? "" : `${head} ${excluded.join(excluded.length > 2 ? ", " : " and ")}`;
}
