/** elimination-circle: who is removed as the k-th from the end when counting goes around a circle with changing steps. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  people: number;
  /** Steps of the removals, used in turn. */
  steps: number[];
  /** How many are left when the asked one goes; 0: the last one of all. */
  left: number;
}

/** By level: least and most people, steps. */
const SIZES = [
  [7, 15, 1],
  [16, 40, 2],
  [41, 120, 2],
  [121, 600, 3],
  [601, 4_000, 4],
] as const;

export const eliminationCircle = exactRow<Problem>({
  id: "elimination-circle",
  asks: "who is removed late when counting goes around a circle with changing steps",
  kind: "integer",
  draw(rng, level) {
    const [least, most, count] = at(SIZES, level - 1);
    const people = between(rng, least, most);
    return {
      people,
      steps: range(count).map(() => between(rng, 2, 9 + level)),
      left: between(rng, 0, Math.min(5, level)),
    };
  },
  solve(problem) {
    const value = removedAt(problem);
    return value < 2 ? null : { value: String(value), steps: problem.people * problem.steps.length };
  },
  prompts: [
    (one) =>
      `${one.people} people stand in a circle, numbered 1 to ${one.people} in order. Counting starts with person 1 as "one" and goes around by increasing numbers. ${ruleText(one)} What is the number of the person who is removed when only ${one.left} others are left?`,
    (one) =>
      `The numbers 1, ..., ${one.people} are written around a circle and are deleted one after the other; a count begins at the number 1, which counts as the first. ${ruleText(one)} Which number is deleted at a moment after which exactly ${one.left} numbers remain?`,
    (one) =>
      `Cards 1 to ${one.people} lie in a ring. ${ruleText(one)} The first count begins on card 1 (it is number one of the count), and always cards that are still there are counted, in the direction of growing labels. Give the label of card number ${one.people - one.left} in the order of removal.`,
    (one) =>
      `In a counting-out game with children 1 to ${one.people} in a ring, the child at which a count begins is counted as one; the first count begins at child 1. ${ruleText(one)} Who leaves the ring as number ${one.people - one.left}?`,
  ],
  slips(problem) {
    const { people, steps, left } = problem;
    return [
      removedAt({ people, steps, left: left + 1 }),
      removedAt({ people, steps: steps.map((step) => step + 1), left }),
      removedAt({ people: people - 1, steps, left }) + people,
      people - left,
    ];
  },
});

/** From the end: the place of the person in the circle before each removal follows from the place after it. */
function removedAt({ people, steps, left }: Problem): number {
  const removal = people - left;
  const step = (index: number): number => at(steps, index % steps.length);
  let place = (step(removal - 1) - 1) % (left + 1);
  for (let index = removal - 2; index >= 0; index--) place = (place + step(index)) % (people - index);
  return place + 1;
}

function ruleText({ steps }: Problem): string {
  const first = at(steps, 0);
  if (steps.length === 1)
    return `Whenever the count reaches ${first}, that one is removed, and a new count begins with the next one that is still there.`;
  return `Where the count reaches its end that one is removed, and a new count begins with the next one that is still there. The counts end at ${steps.join(", ")}, used in this order again and again.`;
}
