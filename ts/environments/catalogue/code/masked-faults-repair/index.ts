/** masked-faults-repair: a program with several faults, some of which show only after others are repaired. */
import { createRng, type Rng } from "../../../../random/rng.ts";
import type { ProgramLanguage } from "../../../../verify/index.ts";
import { at, range } from "../../lists.ts";
import { defineProgramRow, type Exam, type Family, type Level, type ProgramRow } from "../../row.ts";
import { numbered } from "../prose.ts";
import { cheatsOf } from "./cheats.ts";
import {
  type Battery,
  batteryOf,
  drawFaulty,
  type Fault,
  type Faulty,
  leastRoundsOf,
  outputsOf,
  programOf,
  stageOf,
} from "./faults.ts";
import { programText } from "./print.ts";

interface Instance {
  readonly faulty: Faulty;
  readonly language: ProgramLanguage;
  /** Of the inputs. */
  readonly seed: number;
}

/** Indices of inputs, and what they examine. */
interface Case {
  readonly part: string;
  readonly places: readonly number[];
}

const LANGUAGES: readonly ProgramLanguage[] = ["python", "javascript", "c"];
const NAMES = { python: "Python 3", javascript: "JavaScript (Node)", c: "C" } as const;
const SHOWN = 3;
const OF_FAULT = 6;
const LEAST_OF_FAULT = 3;
const OF_WHOLE = [6, 4] as const;
/** What the repairs of the first round may earn. */
const MOST_FOR_FIRST = 0.3;
const MOST_REGRESSIONS = 3;
const TIME_LIMIT_MS = 4_000;
const STORIES = [
  "A program that charges meters was changed by several people at once. Its description is still right.",
  "The merge of some branches went wrong. The rules below are what the program should do.",
  "Someone repaired this program until one test passed, and left the rest.",
  "The numbers of a report have been wrong for weeks, and there is more than one reason.",
] as const;

const row: ProgramRow = defineProgramRow<Instance>({
  id: "masked-faults-repair",
  asks: "the repair of a program with 2 to 5 faults, some of which show only after others are repaired",
  place: "code",
  reportsParts: true,
  make,
  effort: ({ faulty: { steps, faults } }) => steps.length + 5 * faults.length,
  canonical: ({ faulty, language }) => ({ faulty, language }),
  prompts: range(STORIES.length).map((index) => (instance) => wording(instance, index)),
  gold: ({ faulty, language }) => programText(programOf(faulty, []), language),
  nearMisses,
  exam: examOf,
  cheats: (instance) =>
    cheatsOf(instance.language, { source: givenText(instance), outputs: shownOf(instance).map((one) => one.right) }),
});

export const maskedFaultsRepair: Family<ProgramRow> = { id: "masked-faults-repair", rows: [row] };

function make(rng: Rng, level: Level): Instance | null {
  const faulty = drawFaulty(rng, level);
  const instance = { faulty, language: rng.pick(LANGUAGES), seed: rng.integer(2 ** 31) };
  const battery = batteryOf(faulty, createRng(instance.seed), leastRoundsOf(level));
  if (battery === null) return null;
  const cases = casesOf(faulty, battery);
  if (cases === null || wrongPlaces(battery).length < SHOWN + LEAST_OF_FAULT) return null;
  const [first = []] = battery.rounds;
  const later = faulty.faults.filter((_, index) => !first.includes(index));
  if (earnedBy(faulty, later, battery, cases) >= MOST_FOR_FIRST) return null;
  BATTERIES.set(instance, battery);
  return instance;
}

/** What follows from an instance that was just drawn, so that the generator works it out once. */
const BATTERIES = new WeakMap<object, Battery>();

function batteryFor(instance: Instance): Battery {
  const known = BATTERIES.get(instance);
  if (known !== undefined) return known;
  const battery = batteryOf(instance.faulty, createRng(instance.seed));
  if (battery === null) throw new RangeError("an instance has no faults that show");
  BATTERIES.set(instance, battery);
  return battery;
}

/** Inputs for which the given program is wrong. */
function wrongPlaces({ right, given }: Battery): number[] {
  return [...right.keys()].filter((place) => right[place] !== given[place]);
}

/** One test for each fault, and one for the whole. Null where a fault has too few inputs. */
function casesOf(faulty: Faulty, battery: Battery): Case[] | null {
  const { right, alone, rounds, inputs } = battery;
  const cases: Case[] = [];
  const wrong = wrongPlaces(battery);
  // The first ones are shown.
  const hidden = wrong.slice(SHOWN);
  for (const [index, { step, fault }] of faulty.faults.entries()) {
    const round = rounds.findIndex((some) => some.includes(index));
    // With this fault and those of earlier rounds repaired, such an input is right: it shows this repair alone.
    const left = rounds
      .slice(round)
      .flat()
      .filter((other) => other !== index);
    const rest = outputsOf(
      programOf(
        faulty,
        left.map((other) => at(faulty.faults, other)),
      ),
      inputs,
    );
    const showing = hidden.filter((place) => alone[index]?.[place] !== right[place]);
    const clear = showing.filter((place) => rest[place] === right[place]);
    const places = (clear.length >= LEAST_OF_FAULT ? clear : showing).slice(0, OF_FAULT);
    if (places.length < LEAST_OF_FAULT || new Set(places.map((place) => right[place])).size < 2) return null;
    cases.push({ part: `${at(faulty.steps, step)}/${fault}`, places });
  }
  const fine = [...right.keys()].filter((place) => !wrong.includes(place));
  const whole = [...hidden.slice(-OF_WHOLE[0]), ...fine.slice(0, OF_WHOLE[1])];
  return [...cases, { part: "whole", places: whole }];
}

/** What the program with these faults earns. */
function earnedBy(
  faulty: Faulty,
  faults: readonly Fault[],
  { inputs, right }: Battery,
  cases: readonly Case[],
): number {
  const outputs = outputsOf(programOf(faulty, faults), inputs);
  const passed = cases.filter(({ places }) => places.every((place) => outputs[place] === right[place]));
  return (passed.length / cases.length) ** 2;
}

/** Programs that keep one fault, and ones that are repaired but have a fault elsewhere. */
function nearMisses(instance: Instance): string[] {
  const { faulty, language } = instance;
  const battery = batteryFor(instance);
  const cases = casesOf(faulty, battery) ?? [];
  const kept = faulty.faults.map((fault) => [fault]);
  const known = new Set(faulty.faults.map(({ step, fault }) => `${step} ${fault}`));
  const others = faulty.steps.flatMap((id, step) =>
    stageOf(id)
      .faults.filter((fault) => (fault !== "bypass" || step > 0) && !known.has(`${step} ${fault}`))
      .map((fault) => [{ step, fault }]),
  );
  const regressions = others
    .filter((faults) => earnedBy(faulty, faults, battery, cases) < 1)
    .slice(0, MOST_REGRESSIONS);
  return [...kept, ...regressions].map((faults) => programText(programOf(faulty, faults), language));
}

function lineOf(xs: readonly number[]): string {
  return xs.join(" ");
}

function examOf(instance: Instance): Exam {
  const battery = batteryFor(instance);
  const cases = casesOf(instance.faulty, battery) ?? [];
  const rounds = instance.faulty.faults.map((_, index) => battery.rounds.findIndex((some) => some.includes(index)));
  return {
    language: instance.language,
    tests: cases.map(({ places }) => ({
      input: places.map((place) => `${lineOf(at(battery.inputs, place))}\n`).join(""),
      output: places.map((place) => `${at(battery.right, place)}\n`).join(""),
    })),
    timeLimitMs: TIME_LIMIT_MS,
    base: 0,
    parts: cases.map(({ part }, index) =>
      part === "whole" ? [part] : [part, `round-${(rounds[index] ?? 0) + 1}`, kindOf(part)],
    ),
  };
}

function kindOf(part: string): string {
  return `kind/${part.split("/")[1] ?? ""}`;
}

function givenText({ faulty, language }: Instance): string {
  return programText(programOf(faulty, faulty.faults), language);
}

function shownOf(instance: Instance): { line: string; right: string; given: string }[] {
  const battery = batteryFor(instance);
  return wrongPlaces(battery)
    .slice(0, SHOWN)
    .map((place) => ({
      line: lineOf(at(battery.inputs, place)),
      right: String(at(battery.right, place)),
      given: String(at(battery.given, place)),
    }));
}

function wording(instance: Instance, index: number): string {
  const { faulty, language } = instance;
  const code = `\`\`\`${language}\n${givenText(instance)}\n\`\`\``;
  const rules = numbered(faulty.steps.map((id) => `${stageOf(id).rule}.`));
  const runs = shownOf(instance)
    .map(({ line, right, given }) => `${line}  ->  ${right}, but the program prints ${given}`)
    .join("\n");
  const count = faulty.faults.length;
  const about = `Each line of the input is a list of whole numbers from 1 on, at most 20 of them; for each the program prints the total. Step by step, each on what the step before it left:\n\n${rules}`;
  const task = `It has ${count} faults, each in another step, and some hide others. The values that are set at the beginning are right. Repair it, and answer with the whole program in ${NAMES[language]}.`;
  const scoring =
    "Hidden inputs test each repair and the whole; the credit is the square of the share of these tests that pass.";
  const story = at(STORIES, index);
  return at(
    [
      `${story}\n\n${about}\n\n${code}\n\n${task} ${scoring}\n\nSome runs:\n${runs}`,
      `Repair this ${NAMES[language]} program.\n\n${code}\n\n${story} ${about}\n\n${task}\n\nRight totals of some lists:\n${runs}\n\n${scoring}`,
      `${story}\n\nThese results are wrong:\n${runs}\n\n${task}\n\n${code}\n\nWhat it should do. ${about}\n\n${scoring}`,
      `${task} ${scoring}\n\n${about}\n\nThe program:\n\n${code}\n\nFailing runs:\n${runs}\n\n${story}`,
    ],
    index,
  );
}
