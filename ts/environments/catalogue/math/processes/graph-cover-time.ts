/** graph-cover-time: the mean time until a random walk on a graph has seen all of its points. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { minus, ONE, over, plus, type Rational, ratio, solveLinear, textOf, times, ZERO } from "../rational.ts";

interface Problem {
  nodes: number;
  /** Undirected, connected. */
  edges: [number, number][];
  start: number;
  /** Chance in tenths to stay where one is for a step. */
  lazy: number;
}

/** By level: nodes, least and most edges beyond those of a tree. */
const SIZES = [
  [3, 0, 1],
  [4, 0, 2],
  [5, 1, 2],
  [6, 2, 3],
  [7, 2, 4],
] as const;

export const graphCoverTime = exactRow<Problem>({
  id: "graph-cover-time",
  asks: "the mean time until a random walk on a graph has visited all points",
  kind: "fraction",
  draw(rng, level) {
    const [nodes, least, most] = at(SIZES, level - 1);
    const tree = range(nodes - 1).map((index): [number, number] => [rng.integer(index + 1), index + 1]);
    const others = range(nodes)
      .flatMap((a) => range(a).map((b): [number, number] => [b, a]))
      .filter(([a, b]) => !tree.some(([x, y]) => x === a && y === b));
    const edges = [...tree, ...sample(others, between(rng, least, most), rng)].toSorted(
      ([a, b], [c, d]) => a - c || b - d,
    );
    return { nodes, edges, start: rng.integer(nodes), lazy: rng.integer(10) };
  },
  solve(problem) {
    const value = coverTime(problem);
    return value.d === 1n && problem.nodes > 4
      ? null
      : { value: textOf(value), steps: 2 ** problem.nodes * problem.nodes };
  },
  prompts: [
    (one) =>
      `The rooms 1 to ${one.nodes} of a museum are connected by the doors ${edgesText(one)}. A visitor starts in room ${one.start + 1}. ${step(one, "door of the room")} What is the expected number of steps until every room has been seen (the first room counts as seen)? Give an exact fraction.`,
    (one) =>
      `Find the expected cover time of a random walk on the graph with vertices 1, ..., ${one.nodes} and edges ${edgesText(one)}, started at ${one.start + 1}. ${step(one, "edge at the vertex")} Answer with a fraction in lowest terms.`,
    (one) =>
      `A robot without a map sweeps places 1 to ${one.nodes}; paths exist for ${edgesText(one)}. From place ${one.start + 1} on it moves at random. ${step(one, "path that begins there")} How many steps does it need on average to have swept every place at least once? Exact value.`,
    (one) =>
      `Let T be the first time at which a walk has visited each of the ${one.nodes} nodes of this network: links ${edgesText(one)}; the walk begins at node ${one.start + 1} at time 0. ${step(one, "link of the present node")} Compute E[T] as a fraction.`,
  ],
  slips(problem) {
    const { nodes, edges: list, start } = problem;
    const harmonic = range(nodes - 1).reduce((sum, index) => plus(sum, ratio(nodes - 1, index + 1)), ZERO);
    return [
      harmonic,
      ratio(2 * list.length * (nodes - 1)),
      coverTime({ ...problem, lazy: problem.lazy === 0 ? 5 : 0 }),
      coverTime({ ...problem, start: (start + 1) % nodes }),
    ].map(textOf);
  },
});

/** One linear system for each set of visited nodes, from the full set down. */
function coverTime({ nodes, edges: list, start, lazy }: Problem): Rational {
  const near = range(nodes).map((node) => list.flatMap(([a, b]) => (a === node ? [b] : b === node ? [a] : [])));
  const full = 2 ** nodes - 1;
  const known = new Map<number, Rational[]>();
  /** Mean further time from each visited node. */
  const from = (mask: number): Rational[] => {
    const before = known.get(mask);
    if (before !== undefined) return before;
    const inside = range(nodes).filter((node) => ((mask >> node) & 1) === 1);
    const right = inside.map((node) => {
      const degree = at(near, node).length;
      return at(near, node).reduce(
        (sum, next) =>
          ((mask >> next) & 1) === 1 ? sum : plus(sum, over(at(from(mask | (1 << next)), next), ratio(degree))),
        ONE,
      );
    });
    const matrix = inside.map((node) =>
      inside.map((other) => {
        const share = at(near, node).includes(other) ? ratio(1, at(near, node).length) : ZERO;
        return minus(node === other ? ONE : ZERO, share);
      }),
    );
    const solved = mask === full ? inside.map(() => ZERO) : solveLinear(matrix, right);
    if (solved === null) throw new RangeError("the graph is not connected");
    const result = range(nodes).map((node) => solved[inside.indexOf(node)] ?? ZERO);
    known.set(mask, result);
    return result;
  };
  // Staying takes the same share of every step.
  return times(at(from(1 << start), start), ratio(10, 10 - lazy));
}

function edgesText({ edges: list }: Problem): string {
  return list.map(([a, b]) => `${a + 1}-${b + 1}`).join(", ");
}

function step({ lazy }: Problem, what: string): string {
  const move = `every ${what} is equally likely`;
  return lazy === 0
    ? `In each step ${move}.`
    : `In each step it stays with probability ${lazy}/10 (this is a step, too); otherwise it moves, and ${move}.`;
}
