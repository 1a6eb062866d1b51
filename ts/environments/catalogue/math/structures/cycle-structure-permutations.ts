/** cycle-structure-permutations: permutations with given cycle lengths and number of cycles, and two elements together or apart. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { factorial } from "../number-theory.ts";

interface Problem {
  n: number;
  /** Allowed lengths, ascending. */
  lengths: number[];
  cycles: number;
  /** Whether 1 and 2 lie on one cycle; null: nothing is said. */
  joined: boolean | null;
}

/** By level: least and most elements, number of allowed lengths. */
const SIZES = [
  [5, 7, 3],
  [8, 11, 4],
  [12, 16, 5],
  [17, 24, 6],
  [25, 36, 8],
] as const;

export const cycleStructurePermutations = exactRow<Problem>({
  id: "cycle-structure-permutations",
  asks: "permutations with given cycle lengths and number of cycles",
  kind: "integer",
  draw(rng, level) {
    const [least, most, count] = at(SIZES, level - 1);
    const n = between(rng, least, most);
    const lengths = sample(range(Math.min(n - 1, 2 * count)), count, rng)
      .map((length) => length + 1)
      .toSorted((a, b) => a - b);
    return {
      n,
      lengths,
      cycles: between(rng, 2, 2 + Math.ceil(n / 3)),
      joined: level === 1 ? null : rng.pick([true, false, null]),
    };
  },
  solve(problem) {
    const value = countOf(problem);
    return value < 4n ? null : { value: String(value), steps: problem.n * problem.lengths.length };
  },
  prompts: [
    (one) =>
      `How many permutations of {1, ..., ${one.n}} have exactly ${one.cycles} cycles (fixed points count as cycles of length 1), all of lengths in {${one.lengths.join(", ")}}${joinedText(one, ", and have 1 and 2 $ cycle")}?`,
    (one) =>
      `${one.n} people each write their name on a slip; the slips are mixed and everybody draws one. Following from a person to the name drawn, and so on, one gets closed chains. In how many outcomes are there exactly ${one.cycles} chains, each with a number of people from the list ${one.lengths.join(", ")}${joinedText(one, ", while the persons number 1 and 2 are $ chain")}?`,
    (one) =>
      `Let S be the set {${one.lengths.join(", ")}}. Count the bijections f of a set of ${one.n} numbered points to itself that split into ${one.cycles} orbits under iteration, where every orbit has a size in S${joinedText(one, " and the points 1 and 2 lie $ orbit")}.`,
    (one) =>
      `In the symmetric group on ${one.n} letters look at elements that are products of ${one.cycles} disjoint cycles, with fixed points counted among them, of lengths taken from ${one.lengths.join(", ")} only${joinedText(one, "; also the letters 1 and 2 must be $ cycle")}. Give their exact number.`,
  ],
  slips(problem) {
    return [
      factorial(problem.n),
      countOf({ ...problem, joined: null }),
      countOf({ ...problem, cycles: problem.cycles + 1 }),
      factorial(problem.n) / factorial(problem.cycles),
    ];
  },
});

function countOf({ n, lengths, cycles, joined }: Problem): bigint {
  const all = plain(n, lengths, cycles);
  if (joined === null) return all;
  // The cycle of 1 has length l and holds 2: the other l - 2 elements and the order of the l - 1 after 1 are free.
  let together = 0n;
  for (const length of lengths) {
    if (length < 2 || length > n) continue;
    const others = (factorial(n - 2) / factorial(n - length)) * BigInt(length - 1);
    together += others * plain(n - length, lengths, cycles - 1);
  }
  return joined ? together : all - together;
}

/** The cycle of the largest element is chosen first. */
function plain(n: number, lengths: readonly number[], cycles: number): bigint {
  let ways = range(n + 1).map((size): bigint => (size === 0 ? 1n : 0n));
  for (let cycle = 0; cycle < cycles; cycle++) {
    const before = ways;
    ways = before.map((_, size) => {
      let sum = 0n;
      for (const length of lengths)
        if (length <= size) sum += (factorial(size - 1) / factorial(size - length)) * at(before, size - length);
      return sum;
    });
  }
  return at(ways, n);
}

function joinedText(one: Problem, text: string): string {
  return one.joined === null ? "" : text.replace("$", one.joined ? "on one and the same" : "not on the same");
}
