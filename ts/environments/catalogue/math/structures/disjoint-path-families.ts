/** disjoint-path-families: families of lattice paths that share no point (Lindström, Gessel and Viennot). */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { binomial } from "../number-theory.ts";

type Point = [x: number, y: number];

interface Problem {
  /** On a falling diagonal, from the upper left to the lower right. */
  starts: Point[];
  /** Likewise. */
  ends: Point[];
}

/** By level: paths, least and most steps of a path, spread of the starts. */
const SIZES = [
  [2, 4, 6, 3],
  [2, 7, 10, 5],
  [3, 8, 11, 5],
  [4, 10, 14, 6],
  [5, 13, 20, 7],
] as const;

export const disjointPathFamilies = exactRow<Problem>({
  id: "disjoint-path-families",
  asks: "families of lattice paths between given points that share no point",
  kind: "integer",
  draw(rng, level) {
    const [paths, least, most, spread] = at(SIZES, level - 1);
    const steps = between(rng, least, most);
    const points = (shift: number, sum: number): Point[] =>
      sample(range(spread), paths, rng)
        .toSorted((a, b) => a - b)
        .map((x) => [x + shift, sum - x - shift]);
    const starts = points(0, spread);
    const ends = points(between(rng, Math.floor(steps / 3), Math.ceil((2 * steps) / 3)), spread + steps);
    return { starts, ends };
  },
  solve({ starts, ends }) {
    const direct = starts.reduce((product, start, index) => product * pathCount(start, at(ends, index)), 1n);
    const value = determinant(starts.map((start) => ends.map((end) => pathCount(start, end))));
    // The paths must be able to meet.
    if (value < 4n || value === direct) return null;
    const [x, y] = at(starts, 0);
    const [u, v] = at(ends, 0);
    return { value: String(value), steps: (u + v - x - y) * starts.length ** 2 };
  },
  prompts: [
    (one) =>
      `A lattice path goes in steps (1, 0) and (0, 1). In how many ways can ${pairs(one)} be joined by ${one.starts.length} such paths, one for each pair, so that no two of the paths have a point in common?`,
    (one) =>
      `Robots drive on a grid of streets, to the east or to the north only, one street length at a time. Their routes are ${pairs(one)}. No crossing may be used by two routes, not even at different times. Count the possible systems of routes.`,
    (one) =>
      `Count the vertex-disjoint families of monotone lattice paths (unit steps right and up) with the sources and sinks ${pairs(one)}. The i-th path has to lead from the i-th source to the i-th sink.`,
    (one) =>
      `Wires are laid along the lines of square paper, always right or up, and must not touch or cross. The terminals to be connected are ${pairs(one)}. How many layouts exist?`,
  ],
  slips({ starts, ends }) {
    const counts = starts.map((start, index) => pathCount(start, at(ends, index)));
    const crossed = pathCount(at(starts, 0), at(ends, 1)) * pathCount(at(starts, 1), at(ends, 0));
    const all = counts.reduce((product, count) => product * count, 1n);
    return [all, all - crossed - 1n, counts.reduce((sum, count) => sum + count, 0n), all / 2n];
  },
});

function pathCount([x, y]: Point, [u, v]: Point): bigint {
  return u < x || v < y ? 0n : binomial(u - x + v - y, u - x);
}

/** By expansion along the first row, which stays in whole numbers. */
function determinant(matrix: readonly (readonly bigint[])[]): bigint {
  const [first, ...rest] = matrix;
  if (first === undefined) return 1n;
  return first.reduce((sum, entry, column) => {
    if (entry === 0n) return sum;
    const minor = determinant(rest.map((row) => row.toSpliced(column, 1)));
    return column % 2 === 0 ? sum + entry * minor : sum - entry * minor;
  }, 0n);
}

function pairs({ starts, ends }: Problem): string {
  return starts.map(([x, y], index) => `(${x}, ${y}) to (${at(ends, index).join(", ")})`).join("; ");
}
