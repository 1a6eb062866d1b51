/** top-trading-cycles: who gets which house when owners trade along cycles of first wishes, with tenants and vacant houses. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** `wishes[p]`: houses from the dearest on. */
  wishes: number[][];
  /** House of each person at the start; null: none. */
  owned: (number | null)[];
  /** Persons by their turn: a vacant house points to the first one who is still there. */
  turns: number[];
}

/** By level: persons, of whom so many own nothing. */
const SIZES = [
  [5, 1],
  [7, 2],
  [9, 3],
  [12, 4],
  [15, 5],
] as const;

export const topTradingCycles = fieldRow<Given>({
  id: "top-trading-cycles",
  asks: "who gets which house when tenants trade along cycles and vacant houses are given in turn",
  draw,
  solve,
  isShared: true,
  values: () => "each value is the house that this person ends up with, such as H3",
  wordings: [
    (one) =>
      `${owners(one)}\n\nWishes, dearest first:\n${wishList(one)}\n\n${RULE} ${turnText(one)} Who gets which house?`,
    (one) =>
      `${RULE}\n\n${turnText(one)}\n${owners(one)}\nThe lists of wishes:\n${wishList(one)}\n\nRun the procedure.`,
    (one) =>
      `A housing office exchanges flats.\n${wishList(one)}\n(best first). ${owners(one)} ${turnText(one)}\n${RULE} Report the outcome.`,
    (one) =>
      `Trading cycles with a queue. ${turnText(one)}\nPreferences:\n${wishList(one)}\nBefore the exchange: ${owners(one)}\n\n${RULE} State the final assignment.`,
  ],
});

const RULE =
  "In every round each person points to the house that he or she likes best among those left; a house points to its tenant while that person is left, and a house without a tenant points to the first person left in the queue. Everybody on a cycle gets the house that he or she points to and leaves with it; then the next round begins. A house whose tenant has left with another one counts as one without a tenant.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, without] = at(SIZES, level - 1);
  const base = shuffled(range(count), rng);
  // Similar wishes make long queues.
  const wishes = range(count).map(() => {
    const list = [...base];
    for (let swap = 0; swap < count; swap++) {
      const [a = 0, b = 0] = sample(range(count), 2, rng);
      [list[a], list[b]] = [at(list, b), at(list, a)];
    }
    return list;
  });
  const homes = shuffled(range(count), rng);
  const landless = sample(range(count), without, rng);
  const owned = homes.map((house, person) => (landless.includes(person) ? null : house));
  return { wishes, owned, turns: shuffled(range(count), rng) };
}

function solve(given: Given): Solution | null {
  const { wishes, owned, turns } = given;
  const { got, steps, rounds } = traded(given);
  if (rounds < 3) return null;
  const dictated: number[] = [];
  for (const person of turns)
    dictated[person] = at(
      at(wishes, person).filter((house) => !dictated.includes(house)),
      0,
    );
  const vacant = range(wishes.length).filter((house) => !owned.includes(house));
  const kept = owned.map((house) => house ?? vacant.shift() ?? 0);
  const marks = wishes.map((_, house) => `H${house + 1}`);
  const named = (houses: readonly number[]): string[] => houses.map((house) => at(marks, house));
  return {
    fields: named(got).map((value, person) => ({ name: `P${person + 1}`, kind: "word", value, options: marks })),
    slips: [named(dictated), named(kept), named(wishes.map((list) => at(list, 0)))],
    steps,
  };
}

function traded({ wishes, owned, turns }: Given): { got: number[]; steps: number; rounds: number } {
  const got = new Map<number, number>();
  const taken = new Set<number>();
  let [steps, rounds] = [0, 0];
  while (got.size < wishes.length) {
    rounds += 1;
    const first = turns.find((person) => !got.has(person)) ?? 0;
    const pointed = (person: number): number => {
      const place = at(wishes, person).findIndex((house) => !taken.has(house));
      steps += place + 1;
      return at(at(wishes, person), place);
    };
    const next = new Map(
      range(wishes.length)
        .filter((person) => !got.has(person))
        .map((person) => {
          const house = pointed(person);
          const tenant = owned.indexOf(house);
          return [person, { house, to: tenant >= 0 && !got.has(tenant) ? tenant : first }] as const;
        }),
    );
    for (const [person, { house }] of next) {
      let other = next.get(person)?.to ?? person;
      for (let step = 0; step < next.size && other !== person; step++) other = next.get(other)?.to ?? person;
      if (other !== person) continue;
      got.set(person, house);
      taken.add(house);
    }
  }
  return { got: range(wishes.length).map((person) => got.get(person) ?? 0), steps, rounds };
}

function owners({ owned }: Given): string {
  const parts = owned.flatMap((house, person) => (house === null ? [] : [`P${person + 1} lives in H${house + 1}`]));
  return `${parts.join(", ")}. The others have no house, and the remaining houses are vacant.`;
}

function wishList({ wishes }: Given): string {
  return wishes.map((list, person) => `P${person + 1}: ${list.map((house) => `H${house + 1}`).join(" ")}`).join("\n");
}

function turnText({ turns }: Given): string {
  return `The queue is ${turns.map((person) => `P${person + 1}`).join(", ")}.`;
}
