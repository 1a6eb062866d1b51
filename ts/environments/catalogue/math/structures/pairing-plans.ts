/** pairing-plans: ways to divide people into pairs when some pairs are not possible. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { factorial } from "../number-theory.ts";

type Pair = [number, number];

interface Problem {
  people: number;
  forbidden: Pair[];
  /** Pairs from this list are made at most so many times. */
  marked: Pair[];
  most: number;
}

/** By level: least and most pairs, forbidden pairs, marked pairs. */
const SIZES = [
  [3, 3, 3, 2],
  [4, 4, 6, 3],
  [5, 5, 10, 4],
  [6, 6, 16, 5],
  [7, 8, 26, 6],
] as const;

export const pairingPlans = exactRow<Problem>({
  id: "pairing-plans",
  asks: "ways to divide people into pairs when some pairs are impossible and others rare",
  kind: "integer",
  draw(rng, level) {
    const [least, largest, bans, marks] = at(SIZES, level - 1);
    const people = 2 * between(rng, least, largest);
    const pairs = range(people).flatMap((a) => range(a).map((b): Pair => [b, a]));
    const drawn = sample(pairs, bans + marks, rng);
    const inOrder = (list: Pair[]): Pair[] => list.toSorted(([a, b], [c, d]) => a - c || b - d);
    return {
      people,
      forbidden: inOrder(drawn.slice(0, bans)),
      marked: inOrder(drawn.slice(bans)),
      most: between(rng, 0, level > 2 ? 2 : 1),
    };
  },
  solve(problem) {
    const value = countOf(problem);
    const unmarked = countOf({ ...problem, marked: [] });
    if (value < 4 || value === unmarked) return null;
    return { value: String(value), steps: problem.people * 10 + problem.forbidden.length };
  },
  prompts: [
    (one) =>
      `${one.people} players, numbered from 1, are divided into ${one.people / 2} pairs for the first round. These pairs are impossible: ${pairTexts(one.forbidden)}. Of the pairs ${pairTexts(one.marked)} ${limit(one)} may occur. In how many ways can the round be arranged? (Only who plays whom matters.)`,
    (one) =>
      `A graph has the vertices 1, ..., ${one.people}; all pairs are edges except ${pairTexts(one.forbidden)}. The edges ${pairTexts(one.marked)} are red. How many perfect matchings use ${one.most === 0 ? "no" : limit(one)} red ${one.most === 1 ? "edge" : "edges"}?`,
    (one) =>
      `Count the involutions without fixed point on {1, ..., ${one.people}} that swap none of the pairs ${pairTexts(one.forbidden)}, and that swap ${limit(one)} of the pairs ${pairTexts(one.marked)}.`,
    (one) =>
      `Rooms for two: ${one.people} travellers (1 to ${one.people}) share ${one.people / 2} identical rooms. They cannot share: ${pairTexts(one.forbidden)}. The guide accepts ${limit(one)} of these combinations: ${pairTexts(one.marked)}. Find the number of ways to form room-mates.`,
  ],
  slips(problem) {
    const { people, forbidden } = problem;
    const free = factorial(people) / (factorial(people / 2) * 2n ** BigInt(people / 2));
    return [
      free,
      countOf({ ...problem, marked: [] }),
      countOf({ ...problem, forbidden: forbidden.slice(1) }) + 1,
      free - BigInt(forbidden.length),
    ];
  },
});

/** The first person who is left gets a partner. */
function countOf({ people, forbidden, marked, most }: Problem): number {
  const known = new Map<number, number>();
  const isAmong = (pairs: readonly Pair[], a: number, b: number): boolean => pairs.some(([x, y]) => x === a && y === b);
  const kinds = range(people).map((a) =>
    range(people).map((b) => (b <= a || isAmong(forbidden, a, b) ? null : Number(isAmong(marked, a, b)))),
  );
  const count = (left: number, used: number): number => {
    if (used > most) return 0;
    if (left === 0) return 1;
    const key = left * (most + 1) + used;
    const before = known.get(key);
    if (before !== undefined) return before;
    const first = 31 - Math.clz32(left & -left);
    let sum = 0;
    for (let other = first + 1; other < people; other++) {
      const kind = at(at(kinds, first), other);
      if (kind !== null && ((left >> other) & 1) === 1) sum += count(left & ~(1 << first) & ~(1 << other), used + kind);
    }
    known.set(key, sum);
    return sum;
  };
  return count(2 ** people - 1, 0);
}

function pairTexts(pairs: readonly Pair[]): string {
  return pairs.map(([a, b]) => `${a + 1}-${b + 1}`).join(", ");
}

function limit({ most }: Problem): string {
  return most === 0 ? "none" : `at most ${most}`;
}
