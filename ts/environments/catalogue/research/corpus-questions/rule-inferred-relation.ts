/** rule-inferred-relation: which persons have a standing by a charter whose rules build on each other, with exceptions. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { bullets, corpus, inWords, sentence } from "../documents.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";

/** Standings are numbers: those below `Given.base` are stated in documents, each other one has rules with lower ones, or itself. */
interface Rule {
  standing: number;
  /** All of them are needed. */
  needs: number[];
  /** A standing of the person's master; null when no master matters. */
  master: number | null;
  /** A standing that excludes; null for none. */
  unless: number | null;
}

interface Given {
  standings: string[];
  base: number;
  people: string[];
  /** Master of each person; null for none. */
  masters: (number | null)[];
  /** `facts[person]`: stated standings. */
  facts: number[][];
  rules: Rule[];
  order: number[];
}

/** By level: stated standings, derived ones, persons. */
const SIZES = [
  [2, 2, 10],
  [3, 3, 12],
  [3, 4, 15],
  [4, 5, 18],
  [5, 7, 22],
] as const;
/** Facts that are tried with the same rules. */
const WORLDS = 12;

export const ruleInferredRelation = fieldRow<Given>({
  id: "rule-inferred-relation",
  asks: "the persons who have a standing by the rules of a charter, applied to facts in many documents",
  draw,
  solve,
  isShared: true,
  values: () => "the list of the names, separated by commas",
  wordings: [
    (one, rng) =>
      `The charter of a guild says:\n${charter(one, rng)}\n\n${papers(one, rng)}\n\n${CLOSED}\nWho is ${target(one)}? Name all of them.`,
    (one, rng) =>
      `Find everybody who is ${target(one)} under the charter.\n\nPapers:\n${papers(one, rng)}\n\nCharter:\n${charter(one, rng)}\n\n${CLOSED}`,
    (one, rng) =>
      `${CLOSED}\n\nStatutes:\n${charter(one, rng)}\n\nRecords:\n${papers(one, rng)}\n\nThe clerk needs the complete roll of persons who are ${target(one)}.`,
    (one, rng) =>
      `Records about a guild and its members:\n${papers(one, rng)}\n\nIts rules, in no order of importance:\n${charter(one, rng)}\n\nDerive which persons are ${target(one)}. ${CLOSED}`,
  ],
});

const CLOSED = "Nothing holds unless a record states it or a rule yields it.";

function draw(rng: Rng, level: Level): Given | null {
  const [base, derived, count] = at(SIZES, level - 1);
  const masters = range(count).map((person) => (person < 2 || rng.integer(5) === 0 ? null : rng.integer(person)));
  const rules = range(derived).flatMap((index) => {
    const standing = base + index;
    const lower = range(standing);
    // The standing before this one is always used, so that the rules form a chain.
    const previous = standing - 1;
    const others = shuffled(lower.slice(0, -1), rng);
    const first: Rule = {
      standing,
      needs: index === 0 ? others.slice(0, 1) : [previous],
      master: null,
      unless: index === 0 ? null : (others[0] ?? null),
    };
    const inherited: Rule = {
      standing,
      needs: others.slice(1, 2),
      master: rng.integer(2) === 0 ? standing : previous,
      unless: null,
    };
    return index === 0
      ? [{ ...first, needs: [0, ...first.needs.filter((need) => need > 0)] }, inherited]
      : [first, inherited];
  });
  const common = {
    standings: distinct(base + derived, () => word(rng, 2)),
    base,
    people: distinct(count, () => name(rng)),
    masters,
    rules: shuffled(rules, rng),
    order: shuffled(range(count), rng),
  };
  const worlds = range(WORLDS).map((): Given => ({
    ...common,
    facts: range(count).map(() => range(base).filter(() => rng.integer(10) < 4)),
  }));
  return worlds.find((given) => solve(given) !== null) ?? null;
}

function solve(one: Given): Solution | null {
  const { standings, people, rules } = one;
  const goal = standings.length - 1;
  const found = holders(one, rules);
  if (found.length < 2 || found.length > people.length / 3) return null;
  const without = [
    rules.map((rule) => ({ ...rule, unless: null })),
    rules.filter(({ master }) => master === null),
    // Every rule for the goal matters.
    ...rules.filter(({ standing }) => standing === goal).map((left) => rules.filter((rule) => rule !== left)),
  ];
  const slips = without.map((some) => holders(one, some)).filter((some) => some.length > 0);
  const named = (some: readonly number[]): string => marked(people.filter((_, person) => some.includes(person)));
  return {
    fields: [{ name: "names", kind: "set", value: named(found), options: people }],
    slips: slips.map((some) => [named(some)]),
    steps: people.length * rules.length,
  };
}

/** Persons who have the highest standing: standings from the lowest to the highest, each until nothing is added. */
function holders({ standings, people, masters, facts, base }: Given, rules: readonly Rule[]): number[] {
  const has = people.map((_, person) => new Set(facts[person]));
  for (let standing = base; standing < standings.length; standing++) {
    const own = rules.filter((rule) => rule.standing === standing);
    for (let isChanged = true; isChanged;) {
      isChanged = false;
      for (const [person, held] of has.entries()) {
        const master = masters[person] ?? null;
        const holds = own.some(
          (rule) =>
            rule.needs.every((need) => held.has(need)) &&
            (rule.master === null || (master !== null && has[master]?.has(rule.master) === true)) &&
            (rule.unless === null || !held.has(rule.unless)),
        );
        if (holds && !held.has(standing)) {
          held.add(standing);
          isChanged = true;
        }
      }
    }
  }
  return range(people.length).filter((person) => has[person]?.has(standings.length - 1));
}

function target({ standings }: Given): string {
  return at(standings, standings.length - 1);
}

function charter({ standings, rules }: Given, rng: Rng): string {
  return bullets(
    rules.map(({ standing, needs, master, unless }) => {
      const own = needs.map((need) => at(standings, need));
      const conditions = [
        ...(own.length > 0 ? [`is ${inWords(own)}`] : []),
        ...(master === null ? [] : [`has a master who is ${at(standings, master)}`]),
      ];
      const exception = unless === null ? "" : ` unless this person is ${at(standings, unless)}`;
      const what = at(standings, standing);
      return sentence(
        rng.pick([
          `a person who ${inWords(conditions)} is ${what}${exception}`,
          `${what} is every person who ${inWords(conditions)}${exception}`,
        ]),
      );
    }),
  );
}

function papers({ standings, people, masters, facts, order }: Given, rng: Rng): string {
  const texts = order.flatMap((person) => {
    const who = at(people, person);
    const master = masters[person] ?? null;
    const parts = facts[person]?.map((fact) =>
      rng.pick([
        `${who} is ${at(standings, fact)}`,
        `it is certain that ${who} is ${at(standings, fact)}`,
        `${at(standings, fact)} is what ${who} is called`,
      ]),
    );
    if (master !== null)
      parts?.push(
        rng.pick([
          `${at(people, master)} is the master of ${who}`,
          `${who} serves under the master ${at(people, master)}`,
        ]),
      );
    return parts ?? [];
  });
  const mixed = sample(texts, texts.length, rng);
  const documents: string[] = [];
  for (let first = 0; first < mixed.length; first += 4)
    documents.push(
      mixed
        .slice(first, first + 4)
        .map(sentence)
        .join(" "),
    );
  return corpus(documents, rng);
}
