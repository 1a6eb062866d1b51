/** The report of a user: how it went wrong, in more or fewer words. */
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import { isList, type Json } from "../json.ts";
import { type Project, worded } from "../repositories/project.ts";
import { outcome } from "../repositories/responses.ts";
import { encoded } from "../repositories/streams.ts";
import type { Instance } from "./draw.ts";

/** What a user does with a command. */
const DEEDS: Readonly<Record<string, string>> = {
  "add-$item": "entering a new $item",
  "add-$person": "signing up a new $person",
  lend: "taking a $item out",
  "give-back": "bringing a $item back",
  balance: "asking what somebody owes",
  journal: "looking at the last entries",
  pay: "paying at the desk",
  renew: "asking for more time with a $item",
  reserve: "getting in line for a $item",
  nightly: "the run during the night",
  "report-damage": "reporting a damaged $item",
  "add-voucher": "handing out a voucher",
  report: "the figures for a span of days",
  "hand-over": "passing a $item on to somebody else",
  search: "looking for a $item by its name",
  "import-$items": "loading a list of $items",
  statement: "the list of what somebody has to pay",
  forecast: "looking ahead to what will be in",
};

/** What users call the parts of a response. */
const WORDS: Readonly<Record<string, string>> = {
  due: "the last day that we are given",
  fee: "the amount that is charged",
  cost: "the amount that is charged",
  owed: "the sum that is owed",
  percent: "the percentage",
  place: "the place in the line",
  fees: "the sum of money",
  names: "the list of names",
  lines: "the lines of the list",
  pages: "the number of pages",
};

export interface Symptom {
  readonly request: Json;
  readonly wanted: Json;
  readonly got: Json;
}

/** In words, without a number. */
export function feeling(project: Project, name: string, { wanted, got }: Symptom): string {
  const deed = deedOf(project, name);
  const [good, bad] = [outcome(wanted), outcome(got)];
  if (good.error !== null && bad.error === null) return `${deed} goes through although it should be refused`;
  if (good.error === null && bad.error !== null) return `${deed} is refused although there is no reason for it`;
  if (good.error !== null || bad.error !== null) return `${deed} is refused for the wrong reason`;
  const key = Object.keys(good.values).find(
    (one) => JSON.stringify(good.values[one]) !== JSON.stringify(bad.values[one]),
  );
  const word = WORDS[key ?? ""] ?? "what comes back";
  const [right, wrong] = [good.values[key ?? ""] ?? null, bad.values[key ?? ""] ?? null];
  const changed = direction(right, wrong);
  return `with ${deed}, ${word} ${changed}`;
}

function direction(right: Json, wrong: Json): string {
  if (typeof right === "number" && typeof wrong === "number") return wrong > right ? "is too high" : "is too low";
  if (isList(right) && isList(wrong)) {
    if (right.length === 1 && wrong.length === 1) return direction(right[0] ?? null, wrong[0] ?? null);
    if (right.length < wrong.length) return "has more in it than it should";
    if (right.length > wrong.length) return "misses something";
    const isSame = JSON.stringify(sortedTexts(right)) === JSON.stringify(sortedTexts(wrong));
    return isSame ? "is in the wrong order" : "is not right";
  }
  return "is not right";
}

function sortedTexts(values: readonly Json[]): string[] {
  return values.map((value) => JSON.stringify(value)).toSorted((a, b) => (a < b ? -1 : 1));
}

export function deedOf(project: Project, name: string): string {
  const found = Object.entries(DEEDS).find(([command]) => worded(command, project) === name)?.[1];
  return worded(found ?? name, project);
}

const OPENINGS: readonly ((feeling: string) => string)[] = [
  (one) =>
    `Hi, I am at the desk most days, and ${one}. Not always, but often enough that people complain. Can you look into it?`,
  (one) => `Something is off: ${one}. It worked for all the other cases that we tried. I do not know when it began.`,
  (one) =>
    `We had an argument with somebody today because of the system: ${one}. I checked the rules, and they are as they have always been.`,
  (one) =>
    `Please fix this before the weekend. As far as I can see ${one}. My colleague says it is only in some cases, and I could not find out which.`,
  (one) => `Not sure whether it is a bug or whether I misread the rules, but ${one}.`,
];

/** The text of the issue. The higher the level, the less it says. */
export function issueOf({ project, report, level }: Instance, symptom: Symptom, rng: Rng): string {
  const last = at(report, report.length - 1);
  const opening = rng.pick(OPENINGS)(feeling(project, last.name, symptom));
  const shown = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));
  if (level <= 2) {
    const lines = encoded(project, report).map((request) => `    ${shown(request)}`);
    return `${opening}\n\nThis is what I did, from an empty system:\n\n${lines.join("\n")}\n\nThe last answer was\n\n    ${shown(symptom.got)}\n\nand it should be\n\n    ${shown(symptom.wanted)}`;
  }
  if (level === 3)
    return `${opening}\n\nAfter some other work, the last thing I sent was\n\n    ${shown(symptom.request)}\n\nI got ${shown(symptom.got)}, and by the rules it is ${shown(symptom.wanted)}.`;
  if (level === 4)
    return `${opening}\n\nOnce it was ${shown(symptom.got)}, where I would have expected ${shown(symptom.wanted)}.`;
  return opening;
}
