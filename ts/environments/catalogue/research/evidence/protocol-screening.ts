/** protocol-screening: abstracts against the ordered criteria of a review: included, or excluded by the first criterion that fails. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { corpus, sentence } from "../documents.ts";
import { balanced, fieldRow, type Solution } from "../../field-row.ts";

interface Study {
  year: number;
  /** Persons at the beginning, and those that left. */
  started: number;
  lost: number;
  /** In days. */
  length: number;
  isRandom: boolean;
  youngest: number;
  oldest: number;
  /** In milligrams a day. */
  dose: number;
  /** Groups beside the treated one. */
  controls: number;
  /** Country of the trial, as a place in `COUNTRIES`. */
  country: number;
}

interface Criterion {
  kind: "year" | "completed" | "length" | "random" | "adults" | "dose" | "control" | "loss" | "country" | "share";
  value: number;
}

interface Given {
  studies: Study[];
  criteria: Criterion[];
}

/** By level: abstracts, criteria. */
const SIZES = [
  [8, 3],
  [9, 4],
  [10, 5],
  [13, 7],
  [18, 9],
] as const;
const COUNTRIES = ["Norway", "Chile", "Japan", "Kenya", "Italy"];
const KINDS: readonly Criterion["kind"][] = [
  "year",
  "completed",
  "length",
  "random",
  "adults",
  "dose",
  "control",
  "loss",
  "country",
  "share",
];
const TEXTS: Readonly<Record<Criterion["kind"], (value: number) => string>> = {
  year: (value) => `it was published in ${value} or later`,
  completed: (value) => `at least ${value} participants completed it`,
  length: (value) => `the treatment lasted ${value / 7} weeks or longer`,
  random: () => "participants were assigned to groups at random",
  adults: (value) => `every participant was at least ${value} years old`,
  dose: (value) => `the daily dose was at most ${(3 * value) / 1000} g`,
  control: () => "there was a group without the treatment",
  loss: (value) => `no more than ${2 * value} participants dropped out`,
  country: (value) => `it did not take place in ${at(COUNTRIES, value)}`,
  share: (value) => `at most ${value} % of those who started dropped out`,
};
const INCLUDED = "include";

export const protocolScreening = fieldRow<Given>({
  id: "protocol-screening",
  asks: "which abstracts a review includes by its protocol, and by which criterion each other one is excluded first",
  draw,
  solve,
  isShared: true,
  values: ({ criteria }) =>
    `each value is ${INCLUDED}, or the number from 1 to ${criteria.length} of the first criterion that the study fails`,
  wordings: [
    (one, rng) =>
      `Protocol of a review. A study is included when it meets all criteria:\n${protocol(one)}\n\nAbstracts:\n${abstracts(one, rng)}\n\nScreen every abstract.`,
    (one, rng) =>
      `Screen these abstracts:\n${abstracts(one, rng)}\n\nThe criteria are tried in this order, and the first that is not met decides the exclusion:\n${protocol(one)}`,
    (one, rng) =>
      `Inclusion criteria (all must hold; check from the top):\n${protocol(one)}\n\nSearch results:\n${abstracts(one, rng)}`,
    (one, rng) =>
      `Two reviewers disagree about these reports.\n${abstracts(one, rng)}\n\nApply the protocol strictly and settle it: every study needs all of\n${protocol(one)}\nand is rejected for the earliest one that it lacks.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, criterionCount] = at(SIZES, level - 1);
  const limits: Record<Criterion["kind"], number> = {
    year: between(rng, 1992, 2000),
    completed: 10 * between(rng, 6, 12),
    length: 7 * between(rng, 5, 9),
    random: 0,
    adults: 18,
    dose: 10 * between(rng, 8, 15),
    control: 1,
    loss: 10 * between(rng, 1, 3),
    country: rng.integer(COUNTRIES.length),
    share: between(rng, 3, 5) * 5,
  };
  const criteria = sample(KINDS, criterionCount, rng).map((kind): Criterion => ({ kind, value: limits[kind] }));
  const study = (): Study => {
    const started = between(rng, 50, 320);
    const youngest = rng.integer(4) === 0 ? between(rng, 12, 17) : between(rng, 18, 40);
    return {
      year: between(rng, rng.integer(4) === 0 ? 1985 : 1996, 2012),
      started,
      lost: Math.floor((started * between(rng, 0, 35)) / 100),
      length: between(rng, rng.integer(4) === 0 ? 20 : 45, 120),
      isRandom: rng.integer(4) > 0,
      youngest,
      oldest: youngest + between(rng, 20, 40),
      dose: 10 * between(rng, rng.integer(4) === 0 ? 4 : 11, 40),
      controls: rng.integer(4) === 0 ? 0 : between(rng, 1, 2),
      country: rng.integer(COUNTRIES.length),
    };
  };
  // Every verdict occurs about equally often.
  const studies = balanced(range(criterionCount + 1), count, rng).map((wanted) =>
    range(800)
      .map(study)
      .find((one) => firstFailure(criteria, one) === wanted),
  );
  return { studies: studies.filter((one) => one !== undefined), criteria };
}

function solve({ studies, criteria }: Given): Solution | null {
  if (studies.length < 8) return null;
  const values = studies.map((study) => verdictOf(criteria, study));
  const last = studies.map((study) => {
    const failed = criteria.findLastIndex((criterion) => !isMet(criterion, study));
    return failed < 0 ? INCLUDED : String(failed + 1);
  });
  const blind = studies.map((study) => verdictOf(criteria, { ...study, lost: 0 }));
  const hasLoss = criteria.some(({ kind }) => kind === "completed" || kind === "loss" || kind === "share");
  const isBlind = hasLoss && blind.some((value, index) => value !== values[index]);
  if (new Set(values).size < Math.min(4, criteria.length)) return null;
  const options = [INCLUDED, ...criteria.map((_, index) => String(index + 1))];
  return {
    fields: values.map((value, index) => ({ name: `D${index + 1}`, kind: "word", value, options })),
    slips: [last, studies.map(() => INCLUDED), ...(isBlind ? [blind] : [])],
    steps: studies.length * criteria.length,
  };
}

function firstFailure(criteria: readonly Criterion[], study: Study): number {
  const failed = criteria.findIndex((criterion) => !isMet(criterion, study));
  return failed < 0 ? criteria.length : failed;
}

function verdictOf(criteria: readonly Criterion[], study: Study): string {
  const failed = firstFailure(criteria, study);
  return failed === criteria.length ? INCLUDED : String(failed + 1);
}

function isMet({ kind, value }: Criterion, study: Study): boolean {
  const { year, started, lost, length, isRandom, youngest, dose, controls, country } = study;
  switch (kind) {
    case "year":
      return year >= value;
    case "completed":
      return started - lost >= value;
    case "length":
      return length >= value;
    case "random":
      return isRandom;
    case "adults":
      return youngest >= value;
    case "dose":
      return dose <= 3 * value;
    case "control":
      return controls >= value;
    case "loss":
      return lost <= 2 * value;
    case "country":
      return country !== value;
    case "share":
      return 100 * lost <= value * started;
  }
}

function protocol({ criteria }: Given): string {
  return criteria
    .map((criterion, index) => `${index + 1}. ${sentence(TEXTS[criterion.kind](criterion.value))}`)
    .join("\n");
}

function abstracts({ studies }: Given, rng: Rng): string {
  const texts = studies.map((study) => {
    const { year, started, lost, length, isRandom, youngest, oldest, dose, controls, country } = study;
    const perIntake = dose % 20 === 0 ? `${dose / 2} mg twice a day` : `${dose} mg once a day`;
    const parts = [
      rng.pick([
        `${started} persons were enrolled and ${lost} of them withdrew`,
        `of ${started} participants, ${lost} did not complete the trial`,
      ]),
      rng.pick([`they took ${perIntake} for ${length} days`, `treatment: ${perIntake}, ${length} days`]),
      isRandom
        ? rng.pick(["a lottery decided on the group", "groups were formed by random numbers"])
        : rng.pick(["the physicians chose the group", "participants chose their group themselves"]),
      rng.pick([
        `ages ranged from ${youngest} to ${oldest}`,
        `the youngest was ${youngest} and the oldest ${oldest} years old`,
      ]),
      controls === 0
        ? "all groups received the drug"
        : rng.pick(["one group received no drug", "a placebo was given to one group"]),
      `the trial took place in ${at(COUNTRIES, country)}`,
    ];
    return `(${year}) ${shuffled(parts, rng).map(sentence).join(" ")}`;
  });
  return corpus(texts, rng);
}
