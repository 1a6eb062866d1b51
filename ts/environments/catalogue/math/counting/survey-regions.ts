/** survey-regions: the least and greatest possible size of a group, from totals of overlapping groups. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { lcm } from "../number-theory.ts";
import { type Rational, ratio, reduced } from "../rational.ts";

interface Group {
  /** In all of the sets, in one of them or more, in exactly these and no other, or in this number of sets, whichever they are. */
  kind: "all" | "any" | "only" | "exactly";
  /** Bits of the sets. */
  sets: number;
  /** Of `exactly`. */
  number: number;
}

interface Problem {
  sets: number;
  people: number;
  facts: [Group, number][];
  asked: Group;
}

const DRINKS = ["tea", "coffee", "juice", "milk"];
/** By level: sets, degrees of freedom that the totals leave, most people in one region. */
const SIZES = [
  [2, 1, 18],
  [3, 1, 9],
  [3, 2, 10],
  [3, 3, 12],
  [4, 3, 8],
] as const;

export const surveyRegions = exactRow<Problem>({
  id: "survey-regions",
  asks: "the least and greatest size of a group that totals of overlapping groups allow",
  kind: "tuple",
  draw(rng, level) {
    const [sets, free, most] = at(SIZES, level - 1);
    const regions = range(2 ** sets).map(() => between(rng, 0, most));
    const size = (group: Group): number =>
      regions.reduce((sum, people, region) => sum + (holds(group, region) ? people : 0), 0);
    const people = regions.reduce((sum, one) => sum + one, 0);
    const facts: [Group, number][] = [];
    for (const group of shuffled(groupsOf(sets), rng)) {
      if (rankOf(sets, facts) === 2 ** sets - free) break;
      const more: typeof facts = [...facts, [group, size(group)]];
      if (rankOf(sets, more) > rankOf(sets, facts)) facts.push([group, size(group)]);
    }
    const asked = askedGroup(sets, facts, rng);
    return asked === null ? null : { sets, people, facts, asked };
  },
  solve(problem) {
    const sizes = possibleSizes(problem);
    const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
    if (least >= most || most < 4) return null;
    const free = 2 ** problem.sets - 1 - problem.facts.length;
    return { value: `${least}, ${most}`, steps: 2 ** problem.sets * free };
  },
  prompts: [
    (one) =>
      `${one.people} people were asked which of these they drink: ${drinks(one)}.\n${factsText(one)}\nWhat are the least and the greatest possible number of people who drink ${name(one.asked)}? Answer "least, greatest".`,
    (one) =>
      `A report on ${one.people} customers has lost some of its lines. What is left:\n${factsText(one)}\nThe shop sells ${drinks(one)}. Give the smallest and the largest value that the number of customers who buy ${name(one.asked)} can have, in this order, with a comma between.`,
    (one) =>
      `Sets (${drinks(one)}) overlap in a universe of ${one.people} elements; an element belongs to a set if that drink is chosen.\n${factsText(one)}\nDetermine the exact range of the count of elements with ${name(one.asked)}. Both bounds must be attainable: minimum, maximum.`,
    (one) =>
      `From the totals below find how few and how many guests may have had ${name(one.asked)}. There were ${one.people} guests, and each of them had any of ${drinks(one)}, or nothing.\n${factsText(one)}\nWrite the two whole numbers as "fewest, most".`,
  ],
  slips({ people, facts: known }, value) {
    const [least = "0", most = "0"] = value.split(", ");
    const counts = known.map(([, count]) => count);
    return [`0, ${most}`, `${least}, ${Math.min(...counts)}`, `${least}, ${people}`, `${most}, ${least}`];
  },
});

function holds({ kind, sets, number }: Group, region: number): boolean {
  switch (kind) {
    case "all":
      return (region & sets) === sets;
    case "any":
      return (region & sets) !== 0;
    case "only":
      return region === sets;
    case "exactly":
      return bitsOf(region).length === number;
  }
}

function bitsOf(sets: number): number[] {
  return range(DRINKS.length).filter((bit) => ((sets >> bit) & 1) === 1);
}

/** Groups in whose sizes totals are stated. */
function groupsOf(sets: number): Group[] {
  const subsets = range(2 ** sets).slice(1);
  return [
    ...subsets.map((one): Group => ({ kind: "all", sets: one, number: 0 })),
    ...subsets.filter((one) => bitsOf(one).length > 1).map((one): Group => ({ kind: "any", sets: one, number: 0 })),
    ...subsets.map((one): Group => ({ kind: "only", sets: one, number: 0 })),
    ...range(sets + 1).map((number): Group => ({ kind: "exactly", sets: 0, number })),
  ];
}

/** The equations that the totals give, the number of all people first. */
function equations(sets: number, facts: Problem["facts"], people: number): Rational[][] {
  const regions = range(2 ** sets);
  return [
    [...regions.map(() => ratio(1)), ratio(people)],
    ...facts.map(([group, count]) => [...regions.map((region) => ratio(Number(holds(group, region)))), ratio(count)]),
  ];
}

function rankOf(sets: number, facts: Problem["facts"]): number {
  return reduced(equations(sets, facts, 0), 2 ** sets).pivots.length;
}

/** A group whose size the totals do not decide; null where all are decided. */
function askedGroup(sets: number, facts: Problem["facts"], rng: Rng): Group | null {
  const rank = rankOf(sets, facts);
  return shuffled(groupsOf(sets), rng).find((group) => rankOf(sets, [...facts, [group, 0]]) > rank) ?? null;
}

/** Sizes of the asked group for all solutions in whole numbers that are not negative. */
function possibleSizes({ sets, people, facts: known, asked }: Problem): Set<number> {
  const { rows, pivots } = reduced(equations(sets, known, people), 2 ** sets);
  const regions = range(2 ** sets);
  const free = regions.filter((region) => !pivots.includes(region));
  const bounds = free.map((region) =>
    Math.min(people, ...known.filter(([group]) => holds(group, region)).map(([, count]) => count)),
  );
  const inside = regions.map((region) => holds(asked, region));
  // The scale makes whole numbers of all entries.
  const lines = pivots.map((pivot, index) => {
    const row = at(rows, index);
    const scale = row.reduce((most, { d }) => lcm(most, Number(d)), 1);
    const whole = ({ n, d }: Rational): number => Number(n) * (scale / Number(d));
    return {
      pivot,
      scale,
      right: whole(at(row, 2 ** sets)),
      factors: free.map((column) => whole(at(row, column))),
    };
  });
  const sizes = new Set<number>();
  const values = free.map(() => 0);
  const visit = (place: number): void => {
    if (place < free.length) {
      for (let value = 0; value <= at(bounds, place); value++) {
        values[place] = value;
        visit(place + 1);
      }
      return;
    }
    let size = free.reduce((sum, region, index) => sum + (at(inside, region) ? at(values, index) : 0), 0);
    for (const { pivot, scale, right, factors } of lines) {
      let rest = right;
      for (const [index, factor] of factors.entries()) rest -= factor * at(values, index);
      if (rest < 0 || rest % scale !== 0) return;
      if (at(inside, pivot)) size += rest / scale;
    }
    sizes.add(size);
  };
  visit(0);
  return sizes;
}

function drinks({ sets }: Problem): string {
  return DRINKS.slice(0, sets).join(", ");
}

function name({ kind, sets, number }: Group): string {
  const names = bitsOf(sets).map((bit) => at(DRINKS, bit));
  if (kind === "exactly") return number === 0 ? "none of them" : `exactly ${number} of them`;
  if (kind === "any") return `at least one of ${names.join(", ")}`;
  return `${names.join(" and ")}${kind === "only" ? " and nothing else of the list" : ""}`;
}

function factsText({ facts: known }: Problem): string {
  return known.map(([group, count]) => `- ${name(group)}: ${count}`).join("\n");
}
