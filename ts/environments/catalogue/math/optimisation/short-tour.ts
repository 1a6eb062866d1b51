/** short-tour: a shortest round trip through all places; its length is compared with the optimum. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { matrixText } from "../linear-algebra/matrices.ts";

interface Problem {
  distances: number[][];
  best: number;
}

/** By level: places. */
const SIZES = [5, 6, 7, 8, 9] as const;

export const shortTour = certificateRow<Problem>({
  id: "short-tour",
  asks: "a shortest round trip through all places of a table of one-way distances",
  draw(rng, level) {
    const size = at(SIZES, level - 1);
    const distances = range(size).map((row) =>
      range(size).map((column) => (row === column ? 0 : between(rng, 10, 99))),
    );
    const { tour, best } = bestTour(distances);
    if (lengthOf(distances, nearestFirst(distances)) === best) return null;
    const problem = { distances, best };
    return { problem, certificate: tour.map((place) => place + 1).join(", "), steps: size ** 2 * 2 ** size };
  },
  proves({ distances, best }, answer) {
    const tour = integersIn(answer);
    if (tour?.length !== distances.length || new Set(tour).size < tour.length) return false;
    if (tour.some((place) => place < 1 || place > distances.length)) return false;
    return (
      lengthOf(
        distances,
        tour.map((place) => place - 1),
      ) <= best
    );
  },
  canonical: ({ distances }) => distances,
  prompts: [
    (one) =>
      `Row i, column j of this table is the length of the one-way road from place i to place j:\n${matrixText(one.distances)}\nFind a shortest closed tour that visits every place exactly once and returns to its start. ${FORMAT}`,
    (one) =>
      `A paint shop changes colours in a cycle: each of ${one.distances.length} colours once, then the first again. Minutes of cleaning from the colour of the row to that of the column:\n${matrixText(one.distances)}\nWhich cyclic order needs the fewest minutes? ${FORMAT}`,
    (one) =>
      `Solve the asymmetric travelling salesman problem with the cost matrix\n${matrixText(one.distances)}\n(going from row to column). Only an optimal tour counts. ${FORMAT}`,
    (one) =>
      `${FORMAT} The sum of the entries (number of a station, number of the next one), the step from the last back to the first included, must be as small as possible in\n${matrixText(one.distances)}`,
  ],
  slips({ distances }, certificate) {
    const tour = certificate.split(", ");
    return [
      nearestFirst(distances)
        .map((place) => place + 1)
        .join(", "),
      tour.toReversed().join(", "),
      tour.with(0, at(tour, 1)).with(1, at(tour, 0)).join(", "),
      tour.slice(1).join(", "),
      [...tour, tour[0]].join(", "),
    ];
  },
  variants: (_, certificate) => {
    const [first = "", ...rest] = certificate.split(", ");
    return [[...rest, first].join(" ")];
  },
});

const FORMAT = "Answer with the numbers 1, 2, ... in the order of the tour, each once, separated by commas.";

function lengthOf(distances: readonly number[][], tour: readonly number[]): number {
  return tour.reduce((sum, place, index) => sum + at(at(distances, place), at(tour, (index + 1) % tour.length)), 0);
}

function nearestFirst(distances: readonly number[][]): number[] {
  const tour = [0];
  while (tour.length < distances.length) {
    const row = at(distances, at(tour, tour.length - 1));
    const free = range(distances.length).filter((place) => !tour.includes(place));
    tour.push(free.reduce((a, b) => (at(row, b) < at(row, a) ? b : a)));
  }
  return tour;
}

/** Held and Karp: the shortest ways from place 0 through each set of places to each end. */
function bestTour(distances: readonly number[][]): { tour: number[]; best: number } {
  const size = distances.length;
  const length = new Float64Array(2 ** size * size).fill(Number.POSITIVE_INFINITY);
  const before = new Int8Array(2 ** size * size).fill(-1);
  length[size] = 0;
  for (let set = 1; set < 2 ** size; set += 2) {
    for (const end of range(size)) {
      const known = at(length, set * size + end);
      if (known === Number.POSITIVE_INFINITY) continue;
      for (const next of range(size)) {
        if ((set >> next) % 2 === 1) continue;
        const place = (set + 2 ** next) * size + next;
        const longer = known + at(at(distances, end), next);
        if (longer < at(length, place)) [length[place], before[place]] = [longer, end];
      }
    }
  }
  let set = 2 ** size - 1;
  const closed = (end: number): number => at(length, set * size + end) + at(at(distances, end), 0);
  let end = range(size)
    .slice(1)
    .reduce((a, b) => (closed(b) < closed(a) ? b : a));
  const best = closed(end);
  const tour: number[] = [];
  while (end >= 0) {
    tour.push(end);
    const last = at(before, set * size + end);
    set -= 2 ** end;
    end = last;
  }
  return { tour: shuffledStart(tour.toReversed()), best };
}

/** The tour from another place, so that a gold answer does not always begin with 1. */
function shuffledStart(tour: readonly number[]): number[] {
  const start = at(tour, 1) % tour.length;
  return [...tour.slice(start), ...tour.slice(0, start)];
}
