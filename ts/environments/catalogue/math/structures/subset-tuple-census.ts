/** subset-tuple-census: tuples of subsets that include, avoid or cover each other, with given sizes of some of them. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  n: number;
  /** Number of subsets. */
  sets: number;
  relations: Relation[];
  /** Sizes of subsets, of intersections and of unions of two (equal numbers: of one subset). */
  sizes: { kind: "union" | "intersection"; pair: [number, number]; size: number }[];
}

interface Relation {
  kind: "inside" | "disjoint" | "cover";
  pair: [number, number];
}

const NAMES = "ABCDE";
/** By level: least and most elements, subsets, relations, sizes. */
const SIZES = [
  [3, 6, 2, 1, 1],
  [5, 8, 3, 2, 1],
  [7, 11, 3, 2, 2],
  [10, 15, 4, 3, 2],
  [13, 20, 5, 4, 3],
] as const;

export const subsetTupleCensus = exactRow<Problem>({
  id: "subset-tuple-census",
  asks: "tuples of subsets that include, avoid or cover each other, with given sizes",
  kind: "integer",
  draw(rng, level) {
    const [least, most, sets, relations, sizes] = at(SIZES, level - 1);
    const n = between(rng, least, most);
    const pairs = range(sets).flatMap((a) => range(a).map((b): [number, number] => [b, a]));
    const kinds = ["inside", "disjoint", "cover"] as const;
    return {
      n,
      sets,
      relations: sample(pairs, relations, rng).map(([a, b]) => {
        const isTurned = rng.integer(2) === 0;
        return { kind: rng.pick(kinds), pair: isTurned ? [b, a] : [a, b] };
      }),
      sizes: sample([...pairs, ...range(sets).map((one): [number, number] => [one, one])], sizes, rng).map((pair) => ({
        // The union of a set with itself is its intersection: the same condition, and so the same problem.
        kind: pair[0] === pair[1] ? "intersection" : rng.pick(["union", "intersection"] as const),
        pair,
        size: between(rng, 1, Math.ceil(n / 2)),
      })),
    };
  },
  solve(problem) {
    const value = countOf(problem);
    return value < 4n ? null : { value: String(value), steps: problem.n * 2 ** (problem.sets + problem.sizes.length) };
  },
  canonical: ({ n, sets, relations, sizes }) => [
    n,
    sets,
    relations
      .map(({ kind, pair: [a, b] }) => JSON.stringify([kind, ...(kind === "inside" || a < b ? [a, b] : [b, a])]))
      .toSorted(),
    sizes.map(({ kind, pair, size }) => JSON.stringify([kind, pair, size])).toSorted(),
  ],
  prompts: [
    (one) =>
      `How many ordered tuples (${names(one)}) of subsets of U = {1, ..., ${one.n}} satisfy all of this: ${conditions(one)}? (|X| is the number of elements of X; subsets may be empty or equal.)`,
    (one) =>
      `Let U have ${one.n} elements. Choose subsets ${names(one)} of U, which may coincide or be empty, such that ${conditions(one)}. In how many ways can this be done?`,
    (one) =>
      `Each of ${one.n} distinguishable members may join any of the clubs ${names(one)}. Clubs are seen as sets of members, U is the set of all members, and it is required that ${conditions(one)}. Count the possible assignments of members to clubs.`,
    (one) =>
      `Determine the number of solutions (${names(one)}) of the system of set conditions\n${conditions(one).replaceAll(", ", "\n")}\nover the power set of a universe U with |U| = ${one.n}.`,
  ],
  slips({ n, sets, relations, sizes }) {
    return [
      2n ** BigInt(sets * n),
      countOf({ n, sets, relations, sizes: [] }),
      countOf({ n, sets, relations: relations.slice(1), sizes }),
      BigInt(2 ** sets - relations.length) ** BigInt(n),
    ];
  },
});

/** Elements choose one by one in which subsets they lie; the sizes that are left are the state. */
function countOf({ n, sets, relations, sizes }: Problem): bigint {
  const allowed = range(2 ** sets).filter((mask) => relations.every((relation) => isKept(relation, mask)));
  const types = new Map<string, { shares: boolean[]; number: bigint }>();
  for (const mask of allowed) {
    const shares = sizes.map(({ kind, pair: [a, b] }) => {
      const [inA, inB] = [has(mask, a), has(mask, b)];
      return kind === "union" ? inA || inB : inA && inB;
    });
    const key = shares.join();
    types.set(key, { shares, number: (types.get(key)?.number ?? 0n) + 1n });
  }
  const start = sizes.map(({ size }) => size);
  let ways = new Map([[start.join(), { left: start, count: 1n }]]);
  for (let element = 0; element < n; element++) {
    const after: typeof ways = new Map();
    for (const { left, count } of ways.values()) {
      for (const { shares, number } of types.values()) {
        const rest = left.map((size, index) => size - Number(at(shares, index)));
        if (rest.some((size) => size < 0)) continue;
        const key = rest.join();
        after.set(key, { left: rest, count: (after.get(key)?.count ?? 0n) + count * number });
      }
    }
    ways = after;
  }
  return ways.get(sizes.map(() => 0).join())?.count ?? 0n;
}

function has(mask: number, set: number): boolean {
  return ((mask >> set) & 1) === 1;
}

/** Whether an element with these memberships keeps the relation. */
function isKept({ kind, pair: [a, b] }: Relation, mask: number): boolean {
  const [inA, inB] = [has(mask, a), has(mask, b)];
  if (kind === "inside") return !inA || inB;
  return kind === "disjoint" ? !(inA && inB) : inA || inB;
}

function names({ sets }: Problem): string {
  return NAMES.slice(0, sets).split("").join(", ");
}

function conditions({ relations, sizes }: Problem): string {
  const name = (set: number): string => NAMES[set] ?? "";
  return [
    ...relations.map(({ kind, pair: [a, b] }) => {
      if (kind === "inside") return `${name(a)} ⊆ ${name(b)}`;
      return kind === "disjoint" ? `${name(a)} ∩ ${name(b)} = ∅` : `${name(a)} ∪ ${name(b)} = U`;
    }),
    ...sizes.map(({ kind, pair: [a, b], size }) => {
      const joint = kind === "union" ? "∪" : "∩";
      return `|${a === b ? name(a) : `${name(a)} ${joint} ${name(b)}`}| = ${size}`;
    }),
  ].join(", ");
}
