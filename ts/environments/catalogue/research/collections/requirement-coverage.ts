/** requirement-coverage: whether a contract's clauses meet, partly meet, violate or leave out each requirement. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { balanced, fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { inWords, numbered } from "../documents.ts";

const VERDICTS = ["met", "partly", "violated", "absent"] as const;
type Verdict = (typeof VERDICTS)[number];

interface Clause {
  subject: number;
  sites: number[];
  value: number;
  /** A number of an earlier clause that this one replaces; null: none. */
  replaces: number | null;
}

interface Given {
  requirements: { subject: number; sites: number[]; value: number }[];
  clauses: Clause[];
}

/** By level: requirements, clauses that replace others. */
const SIZES = [
  [4, 0],
  [6, 1],
  [8, 3],
  [11, 5],
  [14, 8],
] as const;
/** Whether more is better, and how it reads. */
const SUBJECTS: readonly (readonly [isMore: boolean, required: string, promised: string])[] = [
  [false, "faults are answered within # hours", "the supplier reacts to a fault after # hours at the latest"],
  [true, "records are kept for # months", "records stay available for # months"],
  [false, "a visit costs no more than # euros", "for each visit # euros are charged"],
  [true, "at least # spare machines are on hand", "the supplier stores # machines in reserve"],
  [false, "the pressure never rises above # bar", "valves open at # bar"],
  [true, "the power supply lasts # minutes without the grid", "batteries bridge # minutes"],
  [false, "an outage ends within # days", "service is restored in # days or less"],
  [true, "staff get # hours of training a year", "training amounts to # hours yearly"],
];
/** Of what is asked. Promises are up to six below it, and clauses that were replaced another nine. */
const LEAST = 20;
const SITES = ["Norvik", "Sudaro", "Estal", "Ovest"];

export const requirementCoverage = fieldRow<Given>({
  id: "requirement-coverage",
  asks: "for each requirement, whether clauses meet it, partly, violate it or are silent, after amendments",
  draw,
  solve,
  isShared: true,
  values: () => `each value is one of ${VERDICTS.join(", ")}`,
  wordings: [
    (one) => `Requirements:\n${requirements(one)}\n\nContract:\n${clauses(one)}\n\n${rules()}`,
    (one) =>
      `${rules()}\n\nThe contract as it was signed last week:\n${clauses(one)}\n\nRequirements to be judged:\n${requirements(one)}`,
    (one) => `Compare a tender with the offer.\nOffer:\n${clauses(one)}\nTender:\n${requirements(one)}\n${rules()}`,
    (one) =>
      `How far does the offer below cover what was asked for?\n${rules()}\n\nAsked for:\n${requirements(one)}\n\nOffered:\n${clauses(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [count, replacements] = at(SIZES, level - 1);
  const verdicts = balanced<Verdict>(VERDICTS, count, rng);
  const subjects = shuffled([...range(SUBJECTS.length), ...range(SUBJECTS.length)], rng).slice(0, count);
  const used = new Map<number, number[]>();
  const wanted = verdicts.map((verdict, index) => {
    const subject = at(subjects, index);
    // The two requirements of a subject are about different sites.
    const free = range(SITES.length).filter((site) => !(used.get(subject) ?? []).includes(site));
    const sites = sample(free, 2, rng).toSorted((a, b) => a - b);
    used.set(subject, [...(used.get(subject) ?? []), ...sites]);
    return { verdict, subject, sites, value: between(rng, LEAST, 60) };
  });
  const drawn = wanted.flatMap(({ verdict, subject, sites, value }): Clause[] => {
    const isMore = at(SUBJECTS, subject)[0];
    const good = (): number => value + (isMore ? 1 : -1) * between(rng, 0, 6);
    const bad = value + (isMore ? -1 : 1) * between(rng, 1, 6);
    const [first = 0, second = 0] = shuffled(sites, rng);
    const one = (own: number[], own_value: number): Clause => ({
      subject,
      sites: own,
      value: own_value,
      replaces: null,
    });
    if (verdict === "absent") return [];
    if (verdict === "met")
      return rng.integer(2) === 0 ? [one(sites, good())] : [one([first], good()), one([second], good())];
    if (verdict === "partly") return [one([first], good())];
    return rng.integer(2) === 0 ? [one(sites, bad)] : [one([first], good()), one([second], bad)];
  });
  const final = shuffled(drawn, rng);
  // Clauses that a later one replaces come first and say something else.
  const replaced = sample(range(final.length), replacements, rng);
  const old = replaced.map((index): Clause => ({
    ...at(final, index),
    value: at(final, index).value + rng.pick([-9, 9]),
    replaces: null,
  }));
  return {
    requirements: wanted.map(({ subject, sites, value }) => ({ subject, sites, value })),
    clauses: [
      ...old,
      ...final.map((clause, index) => {
        const place = replaced.indexOf(index);
        return place < 0 ? clause : { ...clause, replaces: place + 1 };
      }),
    ],
  };
}

function solve({ requirements: all, clauses: some }: Given): Solution | null {
  const replaced = new Set(some.flatMap(({ replaces }) => (replaces === null ? [] : [replaces - 1])));
  const judged = (valid: readonly Clause[]): Verdict[] =>
    all.map(({ subject, sites, value }) => {
      const states = sites.map((site): "good" | "bad" | "none" => {
        const own = valid.filter((clause) => clause.subject === subject && clause.sites.includes(site));
        if (own.length === 0) return "none";
        const isGood = own.every((clause) =>
          at(SUBJECTS, subject)[0] ? clause.value >= value : clause.value <= value,
        );
        return isGood ? "good" : "bad";
      });
      if (states.includes("bad")) return "violated";
      if (states.every((state) => state === "good")) return "met";
      return states.includes("good") ? "partly" : "absent";
    });
  const valid = some.filter((_, index) => !replaced.has(index));
  const gold = judged(valid);
  const mentioned = gold.map((verdict) => (verdict === "absent" ? "absent" : "met"));
  const slips: string[][] = [
    mentioned,
    gold.map((verdict) => (verdict === "partly" ? "violated" : verdict)),
    judged(some),
  ];
  const text = gold.join();
  return {
    fields: gold.map((value, index) => ({ name: `R${index + 1}`, kind: "word", value, options: VERDICTS })),
    slips: [
      ...slips.filter((slip) => slip.join() !== text),
      gold.map((verdict, index) => (index === 0 ? (verdict === "met" ? "absent" : "met") : verdict)),
    ],
    steps: all.length * 4 + some.length * 2,
  };
}

function rules(): string {
  return "Judge each requirement by the clauses that are in force: met, when for every site that it names the clauses promise what it asks or better; violated, when for some of these sites a clause promises something worse; partly, when no clause is worse but some of the sites have no clause about the matter; absent, when none of them has. A clause that is replaced is not in force any more.";
}

function requirements({ requirements: all }: Given): string {
  return numbered(
    all.map(
      ({ subject, sites, value }) =>
        `In ${inWords(sites.map((site) => at(SITES, site)))} ${at(SUBJECTS, subject)[1].replace("#", String(value))}.`,
    ),
    "R",
  );
}

function clauses({ clauses: all }: Given): string {
  return numbered(
    all.map(({ subject, sites, value, replaces }) => {
      const text = `${at(SUBJECTS, subject)[2].replace("#", String(value))} (${sites.map((site) => at(SITES, site)).join(", ")})`;
      return replaces === null
        ? `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
        : `Instead of C${replaces}: ${text}.`;
    }),
    "C",
  );
}
