/** degree-labelled-trees: labelled trees with given degrees of some vertices, number of leaves and largest degree. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { binomial } from "../number-theory.ts";

interface Problem {
  n: number;
  /** `[vertex, degree]`, vertices from 1. */
  degrees: [number, number][];
  leaves: number;
  /** Largest degree that is allowed. */
  most: number;
}

/** By level: least and most vertices, vertices with a given degree. */
const SIZES = [
  [5, 7, 1],
  [8, 12, 2],
  [13, 16, 3],
  [17, 21, 3],
  [22, 28, 4],
] as const;

export const degreeLabelledTrees = exactRow<Problem>({
  id: "degree-labelled-trees",
  asks: "labelled trees with given degrees, number of leaves and largest degree",
  kind: "integer",
  draw(rng, level) {
    const [least, largest, count] = at(SIZES, level - 1);
    const n = between(rng, least, largest);
    const most = between(rng, 3, Math.max(3, Math.min(7, n - 3)));
    return {
      n,
      degrees: sample(range(n), count, rng)
        .toSorted((a, b) => a - b)
        .map((vertex) => [vertex + 1, between(rng, 1, most)]),
      leaves: between(rng, 3, Math.max(3, n - 3)),
      most,
    };
  },
  solve(problem) {
    const value = countOf(problem);
    return value < 4n ? null : { value: String(value), steps: problem.n ** 2 * problem.most };
  },
  canonical: ({ n, degrees, leaves, most }) => [
    n,
    degrees.map(([, degree]) => degree).toSorted((a, b) => a - b),
    leaves,
    most,
  ],
  prompts: [
    (one) =>
      `How many trees on the labelled vertices 1, ..., ${one.n} have exactly ${one.leaves} leaves, no vertex of degree above ${one.most}, and ${degreesText(one)}?`,
    (one) =>
      `${one.n} towns, numbered from 1, are to be joined by ${one.n - 1} direct lines so that every town can be reached from every other. Exactly ${one.leaves} towns shall have a single line, no town more than ${one.most} lines; moreover ${degreesText(one).replaceAll("degree", "number of lines")}. Count the possible networks.`,
    (one) =>
      `Among the labelled trees with ${one.n} nodes, look at those with these properties: the number of nodes of degree 1 is ${one.leaves}; all degrees are at most ${one.most}; ${degreesText(one)}. What is their number?`,
    (one) =>
      `A molecule without rings has ${one.n} numbered atoms and ${one.n - 1} bonds, is connected, and an atom has at most ${one.most} bonds. It is known that exactly ${one.leaves} atoms have just one bond and that ${degreesText(one).replaceAll("degree", "bond count")}. How many structures (sets of bonds between numbered atoms) are possible?`,
  ],
  slips(problem) {
    const { n, degrees: given } = problem;
    return [
      BigInt(n) ** BigInt(n - 2),
      countOf({ ...problem, most: n }) + 1n,
      countOf({ ...problem, degrees: given.slice(1) }),
      countOf({ ...problem, leaves: problem.leaves + 1 }),
    ];
  },
});

/** Prüfer sequences: a vertex of degree d occurs d - 1 times among n - 2 entries. */
function countOf({ n, degrees: given, leaves, most }: Problem): bigint {
  /** `ways[places used][leaves]` */
  let ways = range(n - 1).map((used) => range(n + 1).map((count): bigint => (used === 0 && count === 0 ? 1n : 0n)));
  for (let vertex = 1; vertex <= n; vertex++) {
    const fixed = given.find(([one]) => one === vertex)?.[1];
    const choices = fixed === undefined ? range(most).map((index) => index + 1) : [fixed];
    const before = ways;
    ways = range(n - 1).map((used) =>
      range(n + 1).map((count) => {
        let sum = 0n;
        for (const degree of choices) {
          const from = before[used - degree + 1]?.[count - Number(degree === 1)] ?? 0n;
          if (from > 0n) sum += from * binomial(n - 2 - (used - degree + 1), degree - 1);
        }
        return sum;
      }),
    );
  }
  return at(at(ways, n - 2), leaves);
}

function degreesText({ degrees: given }: Problem): string {
  return given.map(([vertex, degree]) => `the degree of ${vertex} is ${degree}`).join(", ");
}
