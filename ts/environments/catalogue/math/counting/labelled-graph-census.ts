/** labelled-graph-census: spanning trees of a given graph, and its proper colourings. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  vertices: number;
  /** Pairs in ascending order. */
  edges: [number, number][];
  /** Proper colourings with so many colours; null: spanning trees. */
  colours: number | null;
}

/** By level: least and largest number of vertices, edges beyond a tree. */
const SIZES = [
  [4, 5, 2],
  [5, 6, 3],
  [6, 8, 5],
  [8, 9, 7],
  [10, 11, 10],
] as const;
const NAMES = "ABCDEFGHIJK";

export const labelledGraphCensus = exactRow<Problem>({
  id: "labelled-graph-census",
  asks: "spanning trees, or proper colourings, of a given graph",
  kind: "integer",
  draw(rng, level) {
    const [least, most, extra] = at(SIZES, level - 1);
    const vertices = between(rng, least, most);
    const order = shuffled(range(vertices), rng);
    const tree = range(vertices - 1).map((index): [number, number] => [
      at(order, index + 1),
      at(order, rng.integer(index + 1)),
    ]);
    const sorted = tree.map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b)]);
    const others = range(vertices)
      .flatMap((b) => range(b).map((a): [number, number] => [a, b]))
      .filter(([a, b]) => !sorted.some(([x, y]) => x === a && y === b));
    const edges = [...sorted, ...sample(others, extra, rng)].toSorted(([a, b], [c, d]) => a - c || b - d);
    return { vertices, edges, colours: rng.integer(2) === 0 ? null : between(rng, 3, 5) };
  },
  solve({ vertices, edges, colours }) {
    const value = colours === null ? spanningTrees(vertices, edges) : colourings(vertices, edges, colours);
    const steps = vertices ** 3 + edges.length ** 2;
    return value < 3n ? null : { value: String(value), steps };
  },
  prompts: [
    (one) => `A graph has the vertices ${names(one)} and the edges ${edgeList(one)}. ${question(one)}`,
    (one) =>
      `${question(one)} The graph in question is simple and has no directions: vertices ${names(one)}; edges ${edgeList(one)}.`,
    (one) =>
      one.colours === null
        ? `Towns ${names(one)} are joined by the roads ${edgeList(one)}. In how many ways can roads be chosen for snow clearing so that every town can be reached from every other on cleared roads, with no road more than necessary?`
        : `Radio stations ${names(one)} choose from ${one.colours} frequencies. The pairs ${edgeList(one)} disturb each other and need different frequencies. How many choices are possible in all?`,
    (one) => `Neighbours in a network of ${one.vertices} labelled nodes:\n${neighbours(one)}\n\n${question(one)}`,
  ],
  slips({ vertices, edges, colours }) {
    const cayley = BigInt(vertices) ** BigInt(vertices - 2);
    const k = BigInt(colours ?? 2);
    const asTree = k * (k - 1n) ** BigInt(vertices - 1);
    return [cayley, k ** BigInt(vertices), asTree, BigInt(edges.length)];
  },
});

/** Kirchhoff's theorem, with Bareiss's elimination without fractions. */
function spanningTrees(vertices: number, edges: Problem["edges"]): bigint {
  const matrix = range(vertices - 1).map(() => range(vertices - 1).map(() => 0n));
  const add = (row: number, column: number, by: bigint): void => {
    const line = matrix[row];
    if (line !== undefined && column < vertices - 1) line[column] = at(line, column) + by;
  };
  for (const [a, b] of edges) {
    add(a, a, 1n);
    add(b, b, 1n);
    add(a, b, -1n);
    add(b, a, -1n);
  }
  let before = 1n;
  for (let step = 0; step < vertices - 2; step++) {
    const pivot = at(at(matrix, step), step);
    // The minors of a connected graph's Laplacian are positive, so the pivot is not 0.
    for (let row = step + 1; row < vertices - 1; row++) {
      for (let column = step + 1; column < vertices - 1; column++) {
        const value = at(at(matrix, row), column) * pivot - at(at(matrix, row), step) * at(at(matrix, step), column);
        at(matrix, row)[column] = value / before;
      }
    }
    before = pivot;
  }
  return at(at(matrix, vertices - 2), vertices - 2);
}

/** Divides the vertices into independent sets: `k·(k-1)·...` ways for each division into so many sets. */
function colourings(vertices: number, edges: Problem["edges"], colours: number): bigint {
  let total = 0n;
  const groups: number[][] = [];
  const place = (vertex: number): void => {
    if (vertex === vertices) {
      total += range(groups.length).reduce((product, used) => product * BigInt(colours - used), 1n);
      return;
    }
    for (const group of groups) {
      if (group.some((other) => edges.some(([a, b]) => a === other && b === vertex))) continue;
      group.push(vertex);
      place(vertex + 1);
      group.pop();
    }
    if (groups.length >= colours) return;
    groups.push([vertex]);
    place(vertex + 1);
    groups.pop();
  };
  place(0);
  return total;
}

function names({ vertices }: Problem): string {
  return NAMES.slice(0, vertices).split("").join(", ");
}

function edgeList({ edges }: Problem): string {
  return edges.map(([a, b]) => `${NAMES[a] ?? ""}${NAMES[b] ?? ""}`).join(", ");
}

function neighbours({ vertices, edges }: Problem): string {
  return range(vertices)
    .map((vertex) => {
      const near = edges.flatMap(([a, b]) => (a === vertex ? [b] : b === vertex ? [a] : []));
      return `${NAMES[vertex] ?? ""}: ${near.map((other) => NAMES[other]).join(", ")}`;
    })
    .join("\n");
}

function question({ colours }: Problem): string {
  return colours === null
    ? "How many spanning trees does it have (vertices are labelled)?"
    : `In how many ways can its vertices be coloured with ${colours} colours, not all of which have to be used, so that the ends of every edge differ?`;
}
