/** forcing-threshold: the least size of a subset that forces a pair with a property, and a largest subset without one. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { defineRow } from "../../row.ts";

interface Problem {
  most: number;
  clauses: Clause[];
}

interface Clause {
  kind: "difference" | "sum" | "quotient";
  value: number;
}

interface Solved extends Problem {
  /** A largest subset without such a pair. */
  free: number[];
  effort: number;
}

/** By level: least and most numbers, clauses. */
const SIZES = [
  [8, 11, 1],
  [12, 15, 2],
  [16, 19, 2],
  [20, 23, 3],
  [24, 28, 3],
] as const;

export const forcingThreshold = defineRow<Solved>({
  id: "forcing-threshold",
  asks: "the least size of a subset that forces a pair with a property, with a largest set that has none",
  place: "answer",
  make(rng, level) {
    const [least, largest, count] = at(SIZES, level - 1);
    const most = between(rng, least, largest);
    const kinds = (["difference", "sum", "quotient"] as const).flatMap((kind): Clause[] => {
      if (kind === "difference") return range(6).map((value) => ({ kind, value: value + 1 }));
      if (kind === "quotient") return [2, 3].map((value) => ({ kind, value }));
      return range(most).map((value) => ({ kind, value: value + Math.floor(most / 2) }));
    });
    const clauses = sample(kinds, count, rng);
    const free = largestFree({ most, clauses });
    if (free.length < 3 || free.length > most - 3) return null;
    return { most, clauses, free, effort: most * count };
  },
  effort: ({ effort }) => effort,
  canonical: ({ most, clauses }) => [most, clauses.map(({ kind, value }) => `${kind}${value}`).toSorted()],
  prompts: [
    (one) =>
      `Find the least k such that every subset of {1, 2, ..., ${one.most}} with k elements contains two different numbers ${rule(one)}. Show that k - 1 is too small by a subset of k - 1 numbers without such a pair. ${FORMAT}`,
    (one) =>
      `Somebody picks cards from a box with the numbers 1 to ${one.most}, each once. How many cards (k) must be picked to be certain that two of them are numbers ${rule(one)}? Name also k - 1 cards that contain no such pair. ${FORMAT}`,
    (one) =>
      `Call two different integers from 1 to ${one.most} linked when they are ${rule(one).replace(/^whose/u, "integers whose")}. What is the smallest number k for which any k of the integers include a linked pair? Give k, and k - 1 integers of which no two are linked. ${FORMAT}`,
    (one) =>
      `Pigeonhole, sharp: the numbers are 1, ..., ${one.most}; a pair counts if its members are numbers ${rule(one)}. State the threshold k from which a pair is unavoidable in any choice of k distinct numbers, together with an extremal choice of size k - 1 that avoids all pairs. ${FORMAT}`,
  ],
  gold: ({ free }) => `${free.length + 1}: ${free.join(", ")}`,
  nearMisses(one) {
    const { free, most } = one;
    const list = free.join(", ");
    const added =
      range(most)
        .map((index) => index + 1)
        .find((value) => !free.includes(value)) ?? 0;
    const larger = [...free, added];
    return [
      `${free.length}: ${list}`,
      `${free.length + 2}: ${list}`,
      `${free.length + 1}: ${free.slice(1).join(", ")}`,
      `${free.length + 1}: ${larger.slice(1).join(", ")}, ${most + 1}`,
      `${larger.length + 1}: ${larger.join(", ")}`,
      String(free.length + 1),
    ];
  },
  variants: ({ free }) => [`${free.length + 1}: ${free.toReversed().join(",")}`],
  score(one, answer) {
    const match = /^(\d{1,4})\s*:\s*(\d{1,4}(?:\s*,\s*\d{1,4})*)$/u.exec(answer);
    if (match === null || Number(match[1]) !== one.free.length + 1) return 0;
    const chosen = (match[2] ?? "").split(",").map(Number);
    const isSubset = chosen.every((value) => value >= 1 && value <= one.most);
    if (!isSubset || new Set(chosen).size < chosen.length || chosen.length !== one.free.length) return 0;
    return chosen.some((a) => chosen.some((b) => a < b && isPair(one, a, b))) ? 0 : 1;
  },
});

const FORMAT = "Write the value of k, a colon, and then the k - 1 numbers with commas between them.";

function isPair({ clauses }: Problem, a: number, b: number): boolean {
  return clauses.some(({ kind, value }) => {
    if (kind === "difference") return b - a === value;
    return kind === "sum" ? a + b === value : b === value * a;
  });
}

/** A largest independent set: the lowest number that is left is taken or not. */
function largestFree(problem: Problem): number[] {
  const numbers = range(problem.most).map((index) => index + 1);
  const blocked = numbers.map((a) =>
    numbers.reduce((mask, b) => (isPair(problem, Math.min(a, b), Math.max(a, b)) && a !== b ? mask | bit(b) : mask), 0),
  );
  const known = new Map<number, number>();
  const best = (left: number): number => {
    if (left === 0) return 0;
    const before = known.get(left);
    if (before !== undefined) return before;
    const lowest = 31 - Math.clz32(left & -left);
    const rest = left & ~(1 << lowest);
    const taken = (1 << lowest) | best(rest & ~at(blocked, lowest));
    // Without conflicts that are left, taking it loses nothing.
    const skipped = (rest & at(blocked, lowest)) === 0 ? 0 : best(rest);
    const result = sizeOf(skipped) > sizeOf(taken) ? skipped : taken;
    known.set(left, result);
    return result;
  };
  const chosen = best(numbers.reduce((mask, value) => mask | bit(value), 0));
  return numbers.filter((value) => (chosen & bit(value)) !== 0);
}

function bit(value: number): number {
  return 1 << (value - 1);
}

function sizeOf(mask: number): number {
  let count = 0;
  for (let left = mask; left !== 0; left &= left - 1) count += 1;
  return count;
}

function rule({ clauses }: Problem): string {
  return clauses
    .map(({ kind, value }) => {
      if (kind === "difference") return `whose difference is ${value}`;
      return kind === "sum" ? `whose sum is ${value}` : `of which one is ${value} times the other`;
    })
    .join(", or ");
}
