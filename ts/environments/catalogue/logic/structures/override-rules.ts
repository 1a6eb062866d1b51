/** override-rules: what follows from legal rules with exceptions, when later and special rules override others. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Rule {
  needs: number[];
  /** A proposition and whether the rule says that it holds. */
  about: number;
  holds: boolean;
}

interface Given {
  propositions: number;
  facts: number[];
  rules: Rule[];
  /** The first rule overrides the second one. */
  overrides: [number, number][];
}

/** By level: propositions, facts, rules. */
const SIZES = [
  [9, 3, 10],
  [12, 4, 13],
  [16, 5, 19],
  [22, 6, 27],
  [30, 7, 38],
] as const;

export const overrideRules = fieldRow<Given>({
  id: "override-rules",
  asks: "which conclusions stand when rules contradict each other and some override others",
  draw,
  solve,
  values: () => "the list of all propositions that are established beyond the facts, such as C4, C9",
  wordings: [
    (one) => `${ruleList(one)}\n\n${facts(one)} ${RULE} Which further propositions are established?`,
    (one) =>
      `${RULE}\n\n${facts(one)}\nThe code:\n${ruleList(one)}\n\nDetermine what the court has to find established, apart from these facts.`,
    (one) => `A statute contains conflicting rules.\n${ruleList(one)}\n${RULE}\nIn the case at hand: ${facts(one)}`,
    (one) => `${facts(one)} Apply these defeasible rules:\n${ruleList(one)}\nMethod: ${RULE} List what is concluded.`,
  ],
});

const RULE =
  "The facts are established. For the other propositions go by their numbers, from the lowest. A rule applies when everything that it needs is established (what a rule denies is never needed). A proposition is established when a rule for it applies, and every applicable rule against it is overridden by an applicable rule for it; otherwise it is not established.";

function draw(rng: Rng, level: Level): Given | null {
  const [propositions, factCount, ruleCount] = at(SIZES, level - 1);
  const rules = range(ruleCount).map((): Rule => {
    const about = factCount + rng.integer(propositions - factCount);
    const recent = range(about).slice(-8);
    return { needs: sample(recent, 1 + rng.integer(2), rng), about, holds: rng.integer(5) < 3 };
  });
  const overrides = rules.flatMap((rule, first) =>
    rules.flatMap((other, second): [number, number][] =>
      rule.about === other.about && rule.holds && !other.holds && rng.integer(2) === 0 ? [[first, second]] : [],
    ),
  );
  return { propositions, facts: range(factCount), rules, overrides: shuffled(overrides, rng) };
}

/** `mode`: how contradictions are settled. */
function established(
  { propositions, facts: known, rules, overrides }: Given,
  mode: "stated" | "any" | "cautious",
): number[] {
  const found = [...known];
  for (const proposition of range(propositions).slice(known.length)) {
    const applicable = range(rules.length).filter((one) => {
      const { about, needs } = at(rules, one);
      return about === proposition && needs.every((need) => found.includes(need));
    });
    const pro = applicable.filter((one) => at(rules, one).holds);
    const contra = applicable.filter((one) => !at(rules, one).holds);
    const isBeaten = (one: number): boolean =>
      mode === "stated" && overrides.some(([first, second]) => second === one && pro.includes(first));
    if (pro.length > 0 && (mode === "any" || contra.every(isBeaten))) found.push(proposition);
  }
  return found.slice(known.length);
}

function solve(given: Given): Solution | null {
  const right = established(given, "stated");
  const marks = range(given.propositions)
    .slice(given.facts.length)
    .map((one) => `C${one + 1}`);
  const named = (some: readonly number[]): string => marked(some.map((one) => `C${one + 1}`));
  const [any, cautious] = [established(given, "any"), established(given, "cautious")];
  if (right.length < 2 || cautious.length === 0 || right.length > marks.length * 0.6) return null;
  return {
    fields: [{ name: "established", kind: "set", value: named(right), options: marks }],
    slips: [[named(any)], [named(cautious)]],
    steps: given.rules.reduce((sum, { needs }) => sum + needs.length + 1, given.propositions),
  };
}

function ruleList({ rules: list, overrides }: Given): string {
  return [
    ...list.map(
      ({ needs, about, holds }, one) =>
        `R${one + 1}: if ${needs.map((need) => `C${need + 1}`).join(" and ")} then ${holds ? "" : "not "}C${about + 1}.`,
    ),
    ...overrides.map(([first, second]) => `R${first + 1} overrides R${second + 1}.`),
  ].join("\n");
}

function facts({ facts: known }: Given): string {
  return `The facts are ${known.map((one) => `C${one + 1}`).join(", ")}.`;
}
