/** priority-stack: a list is printed in the form that is in force after messages of ranked authors. */
import { defineRow, type Family, type Row } from "../../row.ts";
import { choiceBy, drawInstance, type Instance, READERS } from "./generator.ts";
import { rendered, settingsOf, VALUES } from "./settings.ts";
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
    const matched = settingsOf(entries, answer).map(
      (choice) => spoken.filter((one) => choice[one] === gold[one]).length / spoken.length,
    );
    const share = Math.max(0, ...matched);
    // Two forms can look alike, but only the one in force is full.
    return share >= 1 ? 0 : Math.max(0, (share - base) / (1 - base)) ** 2;
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
