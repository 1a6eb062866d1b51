/** The prompts of equational-derivation. */
import type { Instance } from "./generator.ts";
import { printed } from "./terms.ts";

const STEP =
  "Write one line for each step: the name of the equation, a colon, and the whole term after the step, such as `A2: f(a, b)`. The first line is the term after the first step, and the last line is the goal, which must not occur before. A step uses one equation once, from left to right or from right to left, at one place in the term; the letters x, y, z, u, v, w of an equation stand for any terms, the same letter for the same term.";
const LEMMAS =
  "You may prove lemmas before or between the steps: a line `lemma L1: <term> = <term>` (L2, L3, ... for more), then steps from its left to its right side, then a line `qed`. In a lemma, x, y, z, u, v, w may be used as arbitrary fixed elements; after qed they stand for any terms, and L1 can be used like an equation. Lemmas are not nested.";
const SCORE =
  "Any correct derivation counts. With n steps, those of lemmas included, it earns (1 + m / n) / 2, where m is the least number of steps that is known. A line that is no correct step makes the whole derivation worthless.";

export const PROMPTS: readonly ((instance: Instance) => string)[] = [
  (one) =>
    `Equations:\n${equations(one)}\n\nDerive the second term from the first by these equations alone.\nfrom: ${printed(one.from)}\nto: ${printed(one.to)}\n\n${STEP}\n\n${LEMMAS}\n\n${SCORE}`,
  (one) =>
    `The operations ${names(one)} have no meaning besides these laws:\n${equations(one)}\n\nProve by rewriting that ${printed(one.from)} equals ${printed(one.to)}, beginning with the former. ${STEP} ${LEMMAS}\n\n${SCORE}`,
  (one) =>
    `${SCORE}\n\nGiven is a theory.\n${equations(one)}\n\nStart term: ${printed(one.from)}\nGoal term: ${printed(one.to)}\n\nTransform the start into the goal step by step. ${STEP}\n\n${LEMMAS}`,
  (one) =>
    `An algebra satisfies\n${equations(one)}\nfor all elements x, y, z, u, v, w. Nothing else is known of it; a, b, c, d are some of its elements. Show that\n${printed(one.from)} = ${printed(one.to)}\nwith a chain of equal terms from the left to the right side.\n\nForm: ${STEP}\n\nLemmas: ${LEMMAS}\n\n${SCORE}`,
];

function equations({ theory }: Instance): string {
  return theory.equations
    .map(({ left, right }, index) => `A${index + 1}: ${printed(left)} = ${printed(right)}`)
    .join("\n");
}

function names({ theory }: Instance): string {
  return [...theory.binary, ...theory.unary].join(", ");
}
