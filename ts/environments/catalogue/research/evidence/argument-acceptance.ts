/** argument-acceptance: the arguments of a debate that stand by the grounded semantics (Dung 1995): from the unattacked ones upwards. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";

interface Given {
  count: number;
  /** The first one attacks the second one. */
  attacks: [number, number][];
}

/** By level: arguments, rounds that the defence needs at least. */
const SIZES = [
  [10, 2],
  [14, 2],
  [19, 3],
  [26, 3],
  [36, 4],
] as const;

export const argumentAcceptance = fieldRow<Given>({
  id: "argument-acceptance",
  asks: "the arguments of a written debate that stand when attacks and defences are followed to the end",
  draw,
  solve,
  isShared: true,
  values: () => "the list of all accepted arguments, such as A2, A5",
  wordings: [
    (one, rng) => `${debate(one, rng)}\n\n${RULE} Which arguments are accepted?`,
    (one, rng) => `${RULE}\n\nThe minutes of a debate:\n${debate(one, rng)}\n\nDetermine everything that is accepted.`,
    (one, rng) =>
      `A judge has to say which arguments of these pleadings stand.\n\n${debate(one, rng)}\n\nThe code of procedure says: ${RULE}`,
    (one, rng) => `Compute the grounded extension of this argumentation framework. ${RULE}\n${debate(one, rng)}`,
  ],
});

const RULE =
  "An argument is accepted when each of its attackers is rejected, and rejected when one of its attackers is accepted; start with the arguments that have no attacker and go on as long as a new verdict follows. Arguments that never get a verdict stay open and are not accepted.";

function draw(rng: Rng, level: Level): Given | null {
  const [count] = at(SIZES, level - 1);
  const order = shuffled(range(count), rng);
  const attacks: [number, number][] = [];
  for (const target of range(count)) {
    if (target < count / 6) continue;
    // Mostly earlier ones attack; a later one closes a circle.
    const attackers = rng.integer(5) === 0 && target + 1 < count ? [target + 1] : [];
    attackers.push(...sample(range(target).slice(-6), rng.integer(2) + 1, rng));
    for (const attacker of new Set(attackers)) attacks.push([at(order, attacker), at(order, target)]);
  }
  return { count, attacks: shuffled(attacks, rng) };
}

function solve({ count, attacks }: Given): Solution | null {
  const attackersOf = range(count).map((target) =>
    attacks.filter(([, other]) => other === target).map(([from]) => from),
  );
  const verdict: (boolean | null)[] = range(count).map(() => null);
  let rounds = 0;
  for (let isChanged = true; isChanged; rounds++) {
    isChanged = false;
    for (const value of [true, false]) {
      const found = range(count).filter(
        (one) =>
          verdict[one] === null &&
          (value
            ? at(attackersOf, one).every((attacker) => verdict[attacker] === false)
            : at(attackersOf, one).some((attacker) => verdict[attacker] === true)),
      );
      for (const one of found) verdict[one] = value;
      isChanged ||= found.length > 0;
    }
  }
  const accepted = range(count).filter((one) => verdict[one] === true);
  const open = verdict.filter((value) => value === null).length;
  const free = range(count).filter((one) => at(attackersOf, one).length === 0);
  const defended = range(count).filter((one) => at(attackersOf, one).every((attacker) => !free.includes(attacker)));
  const level = SIZES.findIndex(([size]) => size === count);
  if (
    rounds <= at(SIZES, level)[1] ||
    open === 0 ||
    accepted.length < free.length + 1 ||
    accepted.length > count * 0.42
  )
    return null;
  const marks = marksOf("A", count);
  const named = (some: readonly number[]): string => marked(some.map((one) => at(marks, one)));
  return {
    fields: [{ name: "accepted", kind: "set", value: named(accepted), options: marks }],
    slips: [[named(free)], [named(defended)], [named(range(count).filter((one) => verdict[one] !== false))]],
    steps: attacks.length * rounds,
  };
}

function debate({ attacks }: Given, rng: Rng): string {
  return attacks
    .map(([from, to]) => {
      const [a, b] = [`A${from + 1}`, `A${to + 1}`];
      return rng.pick([
        `${a} contradicts ${b}.`,
        `Against ${b} speaks ${a}.`,
        `${a} takes away the ground of ${b}.`,
        `If ${a} holds, ${b} cannot.`,
      ]);
    })
    .join("\n");
}
