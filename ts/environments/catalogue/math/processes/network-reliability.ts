/** network-reliability: the chance that a network still connects two points when its links fail independently. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { minus, ONE, plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  nodes: number;
  /** `[a, b, tenths]`: the link works with this probability. */
  links: [number, number, number][];
  /** All nodes must be connected, or only the first and the last. */
  needsAll: boolean;
}

/** By level: nodes, least and most links. */
const SIZES = [
  [3, 3, 3],
  [4, 5, 5],
  [5, 6, 7],
  [6, 8, 9],
  [7, 10, 11],
] as const;

export const networkReliability = exactRow<Problem>({
  id: "network-reliability",
  asks: "the chance that a network with failing links stays connected",
  kind: "fraction",
  draw(rng, level) {
    const [nodes, least, most] = at(SIZES, level - 1);
    const pairs = range(nodes).flatMap((a) => range(a).map((b): [number, number] => [b, a]));
    const links = sample(pairs, between(rng, least, most), rng)
      .toSorted(([a, b], [c, d]) => a - c || b - d)
      .map(([a, b]): [number, number, number] => [a, b, between(rng, 2, 9)]);
    return { nodes, links, needsAll: rng.integer(3) === 0 };
  },
  solve(problem) {
    const { links, nodes } = problem;
    const value = chanceOf(problem);
    if (value.n === 0n) return null;
    // Every link must matter, so that no dead end makes the network smaller.
    const isIdle = links.some((_, index) => {
      const without = chanceOf({ ...problem, links: links.toSpliced(index, 1) });
      return minus(without, value).n === 0n;
    });
    return isIdle ? null : { value: textOf(value), steps: 2 ** links.length + nodes };
  },
  prompts: [
    (one) =>
      `Computers 1 to ${one.nodes} are joined by cables that work, independently of each other, with these probabilities:\n${linksText(one)}\nWhat is the probability that ${goal(one, "computer", "communicate over working cables")}? Give an exact fraction.`,
    (one) =>
      `After a storm each road is open with the stated probability, independently of the others.\n${linksText(one)}\nTowns are numbered 1 to ${one.nodes}. Find the probability that ${goal(one, "town", "are linked by open roads")}, as a fraction.`,
    (one) =>
      `Random graph on the vertices 1, ..., ${one.nodes}: edges appear independently, with P(edge) as listed; all other pairs are never joined.\n${linksText(one)}\nCompute exactly the probability that ${goal(one, "vertex", "lie in one component")}.`,
    (one) =>
      `A water system has the nodes 1 to ${one.nodes} and pipes that are intact with given chances (independent):\n${linksText(one)}\nFind the exact reliability of the system, that is, the probability that ${goal(one, "node", "are connected through intact pipes")}.`,
  ],
  slips(problem) {
    const { links: list } = problem;
    const product = list.reduce((chance, [, , tenths]) => times(chance, ratio(tenths, 10)), ONE);
    return [
      product,
      chanceOf({ ...problem, needsAll: !problem.needsAll }),
      chanceOf({ ...problem, links: list.slice(1) }),
      minus(ONE, chanceOf(problem)),
    ].map(textOf);
  },
});

/** Link by link; the state is which nodes are connected so far. */
function chanceOf({ nodes, links: list, needsAll }: Problem): Rational {
  let states = new Map([[range(nodes).join(), { labels: range(nodes), chance: ONE }]]);
  for (const [a, b, tenths] of list) {
    const after: typeof states = new Map();
    const add = (labels: number[], chance: Rational): void => {
      const key = labels.join();
      after.set(key, { labels, chance: plus(after.get(key)?.chance ?? ZERO, chance) });
    };
    for (const { labels, chance } of states.values()) {
      const [one, other] = [at(labels, a), at(labels, b)];
      const [low, high] = [Math.min(one, other), Math.max(one, other)];
      add(
        labels.map((label) => (label === high ? low : label)),
        times(chance, ratio(tenths, 10)),
      );
      add(labels, times(chance, ratio(10 - tenths, 10)));
    }
    states = after;
  }
  let sum = ZERO;
  for (const { labels, chance } of states.values()) {
    const isJoined = needsAll ? labels.every((label) => label === 0) : labels.at(-1) === 0;
    if (isJoined) sum = plus(sum, chance);
  }
  return sum;
}

function linksText({ links: list }: Problem): string {
  return list.map(([a, b, tenths]) => `- ${a + 1} and ${b + 1}: ${tenths}/10`).join("\n");
}

function goal({ nodes, needsAll }: Problem, what: string, how: string): string {
  const plural = what === "vertex" ? "vertices" : `${what}s`;
  return needsAll ? `all ${nodes} ${plural} ${how}` : `the ${plural} 1 and ${nodes} ${how}`;
}
