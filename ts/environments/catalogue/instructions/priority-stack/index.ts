/** priority-stack: a list is printed in the form that is in force after messages of ranked authors. */
import { defineRow, type Family, type Row } from "../../row.ts";
import { choiceBy, drawInstance, type Instance, READERS } from "./generator.ts";
import { rendered, SETTINGS, settingsOf, VALUES } from "./settings.ts";
import { PROMPTS } from "./wordings.ts";

const row: Row = defineRow<Instance>({
  id: "priority-stack",
  asks: "a list in the form that is in force after messages of ranked authors, with withdrawals, delegations, conditions and hearsay",
  place: "answer",
  make: drawInstance,
  effort: ({ stack, spoken }) => stack.messages.length * stack.authors.length + spoken.length,
  canonical: ({ stack, spoken, entries }) => [
    stack.messages,
    stack.barred,
    spoken,
    entries.map(({ count, group }) => [count, group]),
  ],
  prompts: PROMPTS,
  gold: ({ entries, stack }) => rendered(entries, choiceBy(stack)),
  nearMisses,
  score: (instance, answer) => {
    const { entries, stack, spoken, base } = instance;
    if (answer === rendered(entries, choiceBy(stack))) return 1;
    const gold = choiceBy(stack);
    // A point without a message costs as much as one with some.
    const matched = settingsOf(entries, answer).map(
      (choice) => 1 - SETTINGS.filter((one) => choice[one] !== gold[one]).length / spoken.length,
    );
    return Math.max(0, (Math.max(0, ...matched) - base) / (1 - base)) ** 2;
  },
});

export const priorityStack: Family = { id: "priority-stack", rows: [row] };

function nearMisses({ entries, stack, spoken }: Instance): string[] {
  const gold = choiceBy(stack);
  const texts = [
    ...Object.values(READERS).map((reader) => rendered(entries, choiceBy(stack, reader))),
    ...spoken.map((one) => rendered(entries, { ...gold, [one]: (gold[one] + 1) % VALUES[one].length })),
    rendered(entries, stack.defaults),
  ];
  return [...new Set(texts)].filter((text) => text !== rendered(entries, gold));
}
