/** feuding-groups: divisions of people into unnamed groups where some pairs stay together and others apart. */
import { between, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

type Pair = [number, number];

interface Problem {
  people: number;
  groups: number;
  smallest: number;
  largest: number;
  together: Pair[];
  apart: Pair[];
}

/** By level: least and most people, pairs together, pairs apart. */
const SIZES = [
  [5, 6, 0, 2],
  [7, 7, 0, 3],
  [8, 8, 1, 3],
  [9, 10, 1, 5],
  [11, 12, 1, 6],
] as const;

export const feudingGroups = exactRow<Problem>({
  id: "feuding-groups",
  asks: "divisions of people into unnamed groups with pairs that stay together or apart",
  kind: "integer",
  draw(rng, level) {
    const [least, most, joint, split] = at(SIZES, level - 1);
    const people = between(rng, least, most);
    const groups = between(rng, 2, Math.floor(people / 2) + 1);
    const smallest = between(rng, 1, Math.max(1, Math.floor(people / groups) - 1));
    const pairs = shuffled(
      range(people).flatMap((a) => range(a).map((b): Pair => [b, a])),
      rng,
    );
    const inOrder = (list: Pair[]): Pair[] => list.toSorted(([a, b], [c, d]) => a - c || b - d);
    return {
      people,
      groups,
      smallest,
      largest: between(rng, Math.ceil(people / groups) + 1, people - 1),
      together: inOrder(pairs.slice(0, joint)),
      apart: inOrder(pairs.slice(joint, joint + split)),
    };
  },
  solve(problem) {
    const value = countOf(problem);
    const rules = problem.together.length + problem.apart.length;
    return value < 4 ? null : { value: String(value), steps: problem.people ** 3 * rules };
  },
  prompts: [
    (one) =>
      `${one.people} pupils, numbered 1 to ${one.people}, are divided into exactly ${one.groups} teams without names, ${sizes(one)}. ${rulesText(one)} How many divisions are there?`,
    (one) =>
      `How many partitions of the set {1, ..., ${one.people}} into ${one.groups} blocks, ${sizes(one)}, obey this? ${rulesText(one).replaceAll("group", "block")}`,
    (one) =>
      `Files 1 to ${one.people} are packed into ${one.groups} identical boxes; no box stays empty, ${sizes(one)}. ${rulesText(one).replaceAll("group", "box")} Count the ways of packing, where only the question which files share a box matters.`,
    (one) =>
      `Seek the number of equivalence relations on ${one.people} labelled objects (1, 2, ..., ${one.people}) with exactly ${one.groups} classes, ${sizes(one)}. ${rulesText(one).replaceAll("group", "class")}`,
  ],
  slips(problem) {
    const { people, groups } = problem;
    const free = { ...problem, smallest: 1, largest: people };
    return [
      countOf({ ...problem, apart: [] }),
      countOf(free) + 1,
      countOf({ ...problem, groups: groups + 1 }),
      countOf(problem) * range(groups + 1).reduce((product, factor) => product * Math.max(1, factor), 1),
    ];
  },
});

/** Always the group of the first person who is left is chosen next. */
function countOf({ people, groups, smallest, largest, together, apart }: Problem): number {
  const full = 2 ** people - 1;
  const has = (mask: number, one: number): boolean => ((mask >> one) & 1) === 1;
  const isGroup = new Uint8Array(full + 1);
  for (let mask = 1; mask <= full; mask++) {
    const size = range(people).filter((one) => has(mask, one)).length;
    const isKept =
      size >= smallest &&
      size <= largest &&
      !apart.some(([a, b]) => has(mask, a) && has(mask, b)) &&
      together.every(([a, b]) => has(mask, a) === has(mask, b));
    isGroup[mask] = Number(isKept);
  }
  const known = new Map<number, number>();
  const count = (left: number, parts: number): number => {
    if (left === 0 || parts === 0) return Number(left === 0 && parts === 0);
    const key = left * (groups + 2) + parts;
    const before = known.get(key);
    if (before !== undefined) return before;
    const first = left & -left;
    const others = left ^ first;
    let sum = 0;
    for (let subset = others; ; subset = (subset - 1) & others) {
      if (at(isGroup, subset | first) === 1) sum += count(others ^ subset, parts - 1);
      if (subset === 0) break;
    }
    known.set(key, sum);
    return sum;
  };
  return count(full, groups);
}

function sizes({ smallest, largest }: Problem): string {
  return `each with ${smallest} to ${largest} members`;
}

function rulesText({ together, apart }: Problem): string {
  const list = (pairs: readonly Pair[]): string => pairs.map(([a, b]) => `${a + 1} and ${b + 1}`).join("; ");
  const joint = together.length === 0 ? "" : `In the same group: ${list(together)}. `;
  return `${joint}Never in the same group: ${list(apart)}.`;
}
