/** round-table-seating: seatings at a round table where some pairs sit together and others apart. */
import { between, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { factorial } from "../number-theory.ts";

type Pair = [number, number];

interface Problem {
  people: number;
  /** Pairs that must be neighbours. */
  together: Pair[];
  /** Pairs that must not be neighbours. */
  apart: Pair[];
}

const NAMES = ["Ada", "Bea", "Cem", "Dov", "Eva", "Fay", "Gil", "Hal", "Ida", "Jon", "Kim", "Lea", "Max"];
/** By level: least and most people, pairs together, pairs apart. */
const SIZES = [
  [5, 6, 1, 1],
  [7, 7, 1, 3],
  [8, 9, 2, 3],
  [10, 10, 2, 4],
  [11, 12, 3, 5],
] as const;

export const roundTableSeating = exactRow<Problem>({
  id: "round-table-seating",
  asks: "seatings at a round table with pairs that sit together or apart",
  kind: "integer",
  draw(rng, level) {
    const [least, most, together, apart] = at(SIZES, level - 1);
    const people = between(rng, least, most);
    const pairs = shuffled(
      range(people).flatMap((a) => range(a).map((b): Pair => [b, a])),
      rng,
    );
    const inOrder = (list: Pair[]): Pair[] => list.toSorted(([a, b], [c, d]) => a - c || b - d);
    return {
      people,
      together: inOrder(pairs.slice(0, together)),
      apart: inOrder(pairs.slice(together, together + apart)),
    };
  },
  solve(problem) {
    const { people, together, apart } = problem;
    const value = seatings(problem);
    return value < 4 ? null : { value: String(value), steps: people ** 2 * (together.length + apart.length) };
  },
  prompts: [
    (one) =>
      `${names(one)} sit down at a round table with ${one.people} chairs. ${rules(one)} Two seatings are the same if one is a rotation of the other; mirror images are different. How many seatings are there?`,
    (one) =>
      `In how many ways can ${one.people} people (${names(one)}) be placed around a circle, where only the order around the circle in one sense of rotation matters? ${rules(one)}`,
    (one) =>
      `Count cyclic orders (rotations are identified, reflections are not) of the ${one.people} guests ${names(one)} under these demands of the host. ${rules(one)}`,
    (one) =>
      `A round dance is formed by ${names(one)}, each of whom has a left and a right neighbour. ${rules(one)} Dances in which everybody has the same left neighbour and the same right neighbour are one dance. What is their number?`,
  ],
  slips({ people, together }) {
    const free = factorial(people - 1);
    const blocks = factorial(people - 1 - together.length) * 2n ** BigInt(together.length);
    return [free, factorial(people), blocks, seatings({ people, together, apart: [] })];
  },
});

/** Person 0 sits first; `ways[mask][last]` counts the orders of the people in the mask that end with `last`. */
function seatings({ people, together, apart }: Problem): number {
  const partners = range(people).map((a) => range(people).filter((b) => isAmong(together, a, b)));
  const mayTouch = range(people).map((a) => range(people).map((b) => a !== b && !isAmong(apart, a, b)));
  const full = 2 ** people;
  const ways = new Float64Array(full * people);
  ways[people] = 1;
  for (let mask = 1; mask < full; mask += 2) {
    const seat = range(people).filter((one) => ((mask >> one) & 1) === 1).length;
    // A partner of person 0 sits beside that chair, any other partner who sits already is the last one.
    const fits = range(people).map(
      (next) => ((mask >> next) & 1) === 0 && (!at(partners, next).includes(0) || seat === 1 || seat === people - 1),
    );
    for (let last = 0; last < people; last++) {
      const count = at(ways, mask * people + last);
      if (count === 0) continue;
      for (let next = 1; next < people; next++) {
        if (!at(fits, next) || !at(at(mayTouch, last), next)) continue;
        if (at(partners, next).some((one) => one !== 0 && one !== last && ((mask >> one) & 1) === 1)) continue;
        const place = (mask | (1 << next)) * people + next;
        ways[place] = at(ways, place) + count;
      }
    }
  }
  return range(people).reduce(
    (sum, last) => sum + (at(at(mayTouch, last), 0) ? at(ways, (full - 1) * people + last) : 0),
    0,
  );
}

function isAmong(pairs: readonly Pair[], a: number, b: number): boolean {
  return pairs.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
}

function names({ people }: Problem): string {
  return NAMES.slice(0, people).join(", ");
}

function rules({ together, apart }: Problem): string {
  const pair = ([a, b]: Pair): string => `${at(NAMES, a)} and ${at(NAMES, b)}`;
  return `Next to each other: ${together.map(pair).join("; ")}. Not next to each other: ${apart.map(pair).join("; ")}.`;
}
