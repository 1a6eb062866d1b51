/** stable-assignment: the stable matching that is best for the side that does not propose first by custom. */
import { shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  /** Preferences, the best first, counted from 0. */
  pupils: number[][];
  tutors: number[][];
}

/** By level: pairs. */
const SIZES = [3, 4, 5, 7, 9] as const;

export const stableAssignment = exactRow<Problem>({
  id: "stable-assignment",
  asks: "the stable matching that every member of the second group likes best",
  kind: "tuple",
  draw(rng, level) {
    const size = at(SIZES, level - 1);
    const drawn = (): number[][] => range(size).map(() => shuffled(range(size), rng));
    return { pupils: drawn(), tutors: drawn() };
  },
  solve({ pupils, tutors }) {
    const best = partnersOf(tutors, pupils);
    const other = partnersOf(pupils, tutors);
    // Where both sides' best matchings are one, there is no other stable one, and either side may propose.
    if (range(pupils.length).every((pupil) => at(best.of, pupil) === at(other.proposers, pupil))) return null;
    // Pupil by pupil.
    return { value: best.of.map((tutor) => tutor + 1).join(", "), steps: pupils.length ** 3 };
  },
  prompts: [
    (one) =>
      `Pupils 1 to ${one.pupils.length} and as many tutors form pairs. Preferences, best first:\n${listsText(one)}\nA matching is stable if no pupil and tutor prefer each other to their partners. Among the stable matchings there is one that all tutors like best. Give the tutor of pupil 1, of pupil 2, and so on, separated by commas.`,
    (one) =>
      `Run the deferred acceptance algorithm with the tutors as proposers.\n${listsText(one)}\n(Most preferred partner first.) Which tutor does each pupil have at the end? Answer with the list for pupils 1, 2, 3, ...`,
    (one) =>
      `${listsText(one)}\nThese are rankings from the most to the least wanted partner. Find the pupil-pessimal stable matching, in which every pupil gets the worst tutor that any stable matching gives to that pupil. List the tutors in the order of the pupils.`,
    (one) =>
      `In a marriage problem with two equal groups, several stable solutions exist. Determine the one that is optimal for the tutors.\n${listsText(one)}\nEach list starts with the favourite. Output: tutors' numbers for pupils 1, 2, ..., with commas.`,
  ],
  slips({ pupils, tutors }, value) {
    const best = value.split(", ").map(Number);
    const inverse = range(best.length).map((tutor) => best.indexOf(tutor + 1) + 1);
    const other = partnersOf(pupils, tutors).of;
    const forPupils = range(best.length).map((pupil) => other.indexOf(pupil) + 1);
    return [
      forPupils.join(", "),
      inverse.join(", "),
      best.with(0, at(best, 1)).with(1, at(best, 0)).join(", "),
      pupils.map(([favourite = 0]) => favourite + 1).join(", "),
    ];
  },
});

function listsText({ pupils, tutors }: Problem): string {
  const lines = (name: string, lists: readonly number[][]): string[] =>
    lists.map((list, index) => `${name} ${index + 1}: ${list.map((one) => one + 1).join(" ")}`);
  return [...lines("pupil", pupils), ...lines("tutor", tutors)].join("\n");
}

/** Gale and Shapley: `of` names the proposer whom each member of the other side ends with. */
function partnersOf(
  proposers: readonly number[][],
  others: readonly number[][],
): { of: number[]; proposers: number[] } {
  const next = proposers.map(() => 0);
  const holder = others.map(() => -1);
  const free = range(proposers.length);
  for (let one = free.pop(); one !== undefined; one = free.pop()) {
    const asked = at(at(proposers, one), at(next, one));
    next[one] = at(next, one) + 1;
    const held = at(holder, asked);
    const rank = (who: number): number => at(others, asked).indexOf(who);
    if (held >= 0 && rank(held) < rank(one)) free.push(one);
    else {
      holder[asked] = one;
      if (held >= 0) free.push(held);
    }
  }
  return { of: holder, proposers: range(proposers.length).map((one) => holder.indexOf(one)) };
}
