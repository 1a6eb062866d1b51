/** smallest-explanation: the fewest assumptions from which rules derive all observations. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";

interface Rule {
  premises: number[];
  conclusion: number;
}

interface Instance {
  /** Assumptions first, then the other atoms. */
  names: string[];
  assumptions: number;
  rules: Rule[];
  observed: number[];
  best: number[];
  tried: number;
}

/** By level: assumptions, other atoms, rules, observations, least and most assumptions of the answer. */
const SIZES = [
  [5, 4, 8, 2, 2, 2],
  [6, 5, 11, 2, 2, 3],
  [8, 7, 16, 3, 3, 3],
  [9, 9, 22, 4, 3, 4],
  [11, 11, 28, 5, 4, 6],
] as const;

export const smallestExplanation = defineRow<Instance>({
  id: "smallest-explanation",
  asks: "the fewest assumptions that explain all observations by given rules",
  place: "answer",
  selects: true,
  make,
  effort: ({ tried, rules }) => tried * rules.length,
  canonical: ({ assumptions, rules, observed }) => ({ assumptions, rules, observed }),
  prompts: [
    (one) =>
      `Faults that may be present: ${possible(one)}.\nWhat follows from what (all parts on the left together):\n${ruleList(one)}\n\nObserved: ${seen(one)}. Name a smallest set of faults from which all observations follow. Separate the names by commas. A larger set that explains everything earns ((${one.assumptions} - its size) / (${one.assumptions} - smallest size))².`,
    (one) =>
      `Abduction problem. Hypotheses: ${possible(one)}. Theory:\n${ruleList(one)}\nExplain ${seen(one)} with as few hypotheses as possible; write those hypotheses, comma-separated. Explanations that are valid but larger than necessary earn part of the credit.`,
    (one) =>
      `A detective may assume any of ${possible(one)}, but assumes as little as possible. Known connections:\n${ruleList(one)}\nThe facts ${seen(one)} must all follow. List the assumptions (names with commas); only the smallest number of them gets full marks.`,
    (one) =>
      `Buy licences so that the products ${seen(one)} can be built. Licences on offer: ${possible(one)}, at one price each. Building rules (needs => gives):\n${ruleList(one)}\nWhich licences are the cheapest sufficient choice? Give their names separated by commas; dearer sufficient choices are worth less.`,
  ],
  gold: ({ names, best }) => best.map((one) => at(names, one)).join(", "),
  nearMisses: (one) => {
    const text = (set: readonly number[]): string => set.map((index) => at(one.names, index)).join(", ");
    return [
      text(one.best.slice(1)),
      text(one.best.slice(0, -1)),
      text(range(one.assumptions)),
      text(one.observed),
      text([...one.best, range(one.assumptions).find((index) => !one.best.includes(index)) ?? 0]),
    ];
  },
  variants: ({ names, best }) => [
    best
      .map((one) => at(names, one).toUpperCase())
      .toReversed()
      .join(" "),
  ],
  score: (one, answer) => {
    const words = answer.toLowerCase().split(/[\s,]+/u);
    const chosen = words.map((text) => one.names.slice(0, one.assumptions).indexOf(text));
    if (chosen.includes(-1) || new Set(chosen).size < chosen.length) return 0;
    if (!explains(one, chosen)) return 0;
    // Nearly all assumptions explain nearly always: what counts is how many were left out.
    return ((one.assumptions - chosen.length) / (one.assumptions - one.best.length)) ** 2;
  },
});

type Theory = Pick<Instance, "rules" | "observed">;

function explains({ rules, observed }: Theory, assumed: readonly number[]): boolean {
  const known = new Set(assumed);
  for (let size = -1; size !== known.size;) {
    size = known.size;
    for (const { premises, conclusion } of rules) if (premises.every((one) => known.has(one))) known.add(conclusion);
  }
  return observed.every((one) => known.has(one));
}

function make(rng: Rng, level: Level): Instance | null {
  const [assumptions, others, ruleCount, observations, least, most] = at(SIZES, level - 1);
  const atoms = assumptions + others;
  const rules = range(ruleCount).map((): Rule => {
    const conclusion = assumptions + rng.integer(others);
    const pool = range(conclusion);
    return { premises: sample(pool, 1 + rng.integer(3), rng).toSorted((a, b) => a - b), conclusion };
  });
  if (new Set(rules.map((rule) => JSON.stringify(rule))).size < ruleCount) return null;
  const observed = sample(
    range(others).map((one) => assumptions + one),
    observations,
    rng,
  ).toSorted((a, b) => a - b);
  const theory = { rules, observed };
  if (!explains(theory, range(assumptions))) return null;
  let tried = 0;
  for (let size = 1; size <= most; size++) {
    for (const set of subsets(assumptions, size)) {
      tried += 1;
      if (!explains(theory, set)) continue;
      if (size < least || size >= assumptions - 1) return null;
      const order = shuffled(range(atoms), rng);
      const words = distinct(atoms, () => word(rng, 2));
      return {
        names: order.map((index) => at(words, index)),
        assumptions,
        rules: shuffled(rules, rng),
        observed,
        best: set,
        tried,
      };
    }
  }
  return null;
}

function* subsets(count: number, size: number): Generator<number[]> {
  if (size === 0) yield [];
  else for (let last = size - 1; last < count; last++) for (const set of subsets(last, size - 1)) yield [...set, last];
}

function possible({ names, assumptions }: Instance): string {
  return names.slice(0, assumptions).join(", ");
}

function seen({ names, observed }: Instance): string {
  return observed.map((one) => at(names, one)).join(", ");
}

function ruleList({ names, rules }: Instance): string {
  return rules
    .map(
      ({ premises, conclusion }) =>
        `- ${premises.map((one) => at(names, one)).join(" and ")} => ${at(names, conclusion)}`,
    )
    .join("\n");
}
