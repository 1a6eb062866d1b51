/** pedigree-odds: the exact probability that a person of a family carries or shows a recessive trait. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { fractionText } from "../../math/exact-answer.ts";
import type { Level } from "../../row.ts";

interface Person {
  name: string;
  /** Places of the parents, who stand before their children; null for people who married into the family and the oldest. */
  parents: [number, number] | null;
  /** null: unknown. */
  isIll: boolean | null;
}

interface Given {
  people: Person[];
  /** One in so many copies of the gene in the population is the faulty one. */
  rarity: number;
  asked: number;
  question: "carrier" | "ill";
}

/** By level: people. */
const PEOPLE = [5, 6, 8, 9, 11] as const;

export const pedigreeOdds = fieldRow<Given>({
  id: "pedigree-odds",
  asks: "exact probability that a member of a family carries or shows a recessive trait, given who is ill",
  draw,
  solve,
  values: () => "the exact probability as a fraction",
  wordings: [
    (one) =>
      `A recessive illness shows in people with two faulty copies of a gene; those with one are healthy carriers. ${frequency(one)}\n${family(one)}\nWhat is the probability that ${asked(one)}?`,
    (one) =>
      `How likely is it that ${asked(one)}? Family:\n${family(one)}\nThe illness is autosomal recessive (two faulty copies). ${frequency(one)} Use everything that is known about everyone.`,
    (one) =>
      `Genetic counselling. ${frequency(one)} The gene is autosomal, ill means two faulty copies, and each parent passes on one of the two copies by chance.\n${family(one)}\nCompute the probability that ${asked(one)}, given the whole pedigree.`,
    (one) =>
      `${family(one)}\n\nThe trait of this pedigree is recessive and not linked to sex: only two faulty copies make ill. ${frequency(one)} Find the conditional probability that ${asked(one)}.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const count = at(PEOPLE, level - 1);
  const names = distinct(count, () => name(rng));
  const people: Person[] = [];
  const couples: [number, number][] = [];
  const add = (parents: Person["parents"]): number =>
    people.push({ name: at(names, people.length), parents, isIll: false }) - 1;
  couples.push([add(null), add(null)]);
  while (people.length < count) {
    const single = range(people.length).filter(
      (one) => people[one]?.parents !== null && !couples.some((pair) => pair.includes(one)),
    );
    if (single.length > 1 && people.length < count - 1 && rng.integer(2) === 0)
      couples.push([rng.pick(single), add(null)]);
    else add(rng.pick(couples));
  }
  for (const person of people) {
    const roll = rng.integer(10);
    person.isIll = roll < 2 ? true : roll < 4 ? null : false;
  }
  const healthy = range(count).filter((one) => people[one]?.isIll === false);
  const unknown = range(count).filter((one) => people[one]?.isIll === null);
  if (healthy.length === 0 || unknown.length === 0 || !people.some(({ isIll }) => isIll === true)) return null;
  const question = rng.pick(["carrier", "ill"] as const);
  return { people, rarity: between(rng, 4, 12), asked: rng.pick(question === "ill" ? unknown : healthy), question };
}

function solve(given: Given): Solution | null {
  const { people, rarity } = given;
  const chance = (one: Given): string | null => {
    const { all, hits } = weighed(one);
    return all === 0n ? null : fractionText(hits, all);
  };
  const value = chance(given);
  if (value === null || ["0", "1", "1/2", "1/4", "2/3"].includes(value)) return null;
  const only = (keep: (person: number) => boolean): string | null =>
    chance({ ...given, people: people.map((one, index) => (keep(index) ? one : { ...one, isIll: null })) });
  const { parents } = at(people, given.asked);
  const slips = [
    only((index) => index === given.asked && given.question === "carrier"),
    only((index) => index === given.asked || (parents?.includes(index) ?? false)),
    chance({ ...given, rarity: rarity * 2 }),
    "2/3",
    "1/4",
  ];
  const fresh = [...new Set(slips)].filter((slip): slip is string => slip !== null && slip !== value);
  return {
    fields: [{ name: "probability", kind: "number", value }],
    slips: fresh.map((slip) => [slip]),
    steps: 3 * people.length + 2 * people.filter(({ parents: known }) => known !== null).length,
  };
}

/** Weights of all genotypes of the family that agree with what is known, and of those with the asked property. */
function weighed({ people, rarity, asked: one, question }: Given): { all: bigint; hits: bigint } {
  const founders = [(rarity - 1) ** 2, 2 * (rarity - 1), 1];
  const genes: number[] = [];
  let [all, hits] = [0n, 0n];
  const walk = (place: number, weight: number): void => {
    const person = people[place];
    if (person === undefined) {
      all += BigInt(weight);
      if (genes[one] === (question === "ill" ? 2 : 1)) hits += BigInt(weight);
      return;
    }
    for (const faulty of range(3)) {
      if (person.isIll !== null && person.isIll !== (faulty === 2)) continue;
      const [a = 0, b = 0] = person.parents === null ? [] : person.parents.map((parent) => at(genes, parent));
      // In quarters: each parent passes a faulty copy on with half its number of copies.
      const own =
        person.parents === null
          ? at(founders, faulty)
          : at([(2 - a) * (2 - b), a * (2 - b) + b * (2 - a), a * b], faulty);
      if (own === 0) continue;
      genes[place] = faulty;
      walk(place + 1, weight * own);
    }
  };
  walk(0, 1);
  return { all, hits };
}

function frequency({ rarity }: Given): string {
  return `Of the copies in the population one in ${rarity} is faulty; people without parents in the list have two independent random copies.`;
}

function family({ people }: Given): string {
  return people
    .map(({ name: who, parents, isIll }) => {
      const from =
        parents === null
          ? "comes from outside"
          : `is a child of ${parents.map((one) => at(people, one).name).join(" and ")}`;
      return `- ${who} ${from}; ${isIll === null ? "nothing is known about the illness" : isIll ? "ill" : "healthy"}.`;
    })
    .join("\n");
}

function asked({ people, asked: one, question }: Given): string {
  return `${at(people, one).name} ${question === "ill" ? "is ill" : "is a carrier"}`;
}
