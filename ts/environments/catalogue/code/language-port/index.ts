/** language-port: a program in another language with the same output, tested hazard by hazard. */
import { firstDrawn } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import type { ProgramLanguage } from "../../../../verify/index.ts";
import { at, range } from "../../lists.ts";
import { defineProgramRow, type Exam, type Family, type Level, type ProgramRow } from "../../row.ts";
import { cheatsOf } from "./cheats.ts";
import { portOf, sourceOf } from "./print.ts";
import { type Direction, drawInput, unitDrawer, hazardsOf, type Unit, valueOf } from "./program.ts";

interface Instance {
  readonly direction: Direction;
  readonly units: readonly Unit[];
  /** Of the inputs. */
  readonly seed: number;
}

interface Case {
  readonly parts: readonly string[];
  readonly input: string;
  readonly output: string;
}

const LANGUAGES: readonly ProgramLanguage[] = ["python", "javascript", "c"];
const NAMES = { python: "Python 3", javascript: "JavaScript (Node)", c: "C" } as const;
const FENCES = { python: "python", javascript: "javascript", c: "c" } as const;
/** By level: functions of a program, and most hazards in one. */
const UNITS = [2, 3, 4, 4, 5] as const;
const USES = [1, 1, 2, 3, 3] as const;
/** Inputs of a hazard on which a careless port prints something else, and draws for them. */
const INPUTS = 4;
const TRIES = 60;
/** Without a single such input after so many draws, the unit is given up. */
const FEW_TRIES = 15;
/** Draws of a unit until all its hazards show. */
const UNIT_TRIES = 12;
/** What is added to the seed for the shown inputs. */
const SHOWN = 100;
const TIME_LIMIT_MS = 4_000;
const STORIES = [
  "A small tool moves to another language, and every line of its output must stay what it is.",
  "The program below has run for years. It is rewritten because its language is no longer supported on the machines.",
  "Two teams keep the same calculation in two languages. One of them exists.",
  "A port that is right on ordinary inputs and wrong on the others is worse than none.",
] as const;

const row: ProgramRow = defineProgramRow<Instance>({
  id: "language-port",
  asks: "a port of a program between Python, JavaScript and C whose outputs stay the same, tested hazard by hazard",
  place: "code",
  reportsParts: true,
  make,
  effort: ({ units }) => units.reduce((sum, unit) => sum + 2 + 4 * hazardsOf(unit).length, 0),
  canonical: ({ direction, units }) => ({ direction, units }),
  prompts: range(STORIES.length).map((index) => (instance) => wording(instance, index)),
  gold: ({ direction, units }) => portOf(units, direction),
  nearMisses: ({ direction, units }) => {
    const all = [...new Set(units.flatMap(hazardsOf))];
    const careless = [...all.map((id) => [id]), all];
    return careless.map((ids) => portOf(units, direction, ids));
  },
  exam: examOf,
  cheats: (instance) =>
    cheatsOf(instance.direction.to, {
      source: sourceOf(instance.units, instance.direction.from),
      sample: sampleOf(instance),
    }),
});

export const languagePort: Family<ProgramRow> = { id: "language-port", rows: [row] };

function make(rng: Rng, level: Level): Instance | null {
  const from = rng.pick(LANGUAGES);
  const direction = { from, to: rng.pick(LANGUAGES.filter((one) => one !== from)) };
  const seed = rng.integer(2 ** 31);
  const draw = unitDrawer(direction, at(USES, level - 1), rng);
  const units: Unit[] = [];
  for (const index of range(at(UNITS, level - 1))) {
    const unit = firstDrawn(UNIT_TRIES, () => {
      const drawn = draw();
      return casesOfUnit(drawn, index, direction, seed) === null ? null : drawn;
    });
    if (unit === null) return null;
    units.push(unit);
  }
  if (new Set(units.flatMap(hazardsOf)).size < 2) return null;
  const instance = { direction, units, seed };
  return anyLines(units, direction, createRng(seed)) === null ? null : instance;
}

/** One test for each hazard of each unit, with inputs on which it shows, and one with any inputs. */
function casesOf({ direction, units, seed }: Instance): Case[] {
  const cases = units.flatMap((unit, index) => casesOfUnit(unit, index, direction, seed) ?? []);
  return [...cases, caseOf(["any"], anyLines(units, direction, createRng(seed)) ?? [])];
}

/** Null where a hazard does not show. */
function casesOfUnit(unit: Unit, index: number, direction: Direction, seed: number): Case[] | null {
  const rng = createRng(seed + index + 1);
  const cases: Case[] = [];
  for (const id of hazardsOf(unit)) {
    const lines: [string, string][] = [];
    for (let turn = 0; turn < TRIES && lines.length < INPUTS; turn++) {
      const input = drawInput(unit, direction.from, rng);
      const right = valueOf(unit, input, direction);
      if (right !== null && valueOf(unit, input, direction, id) !== right) lines.push([`${index} ${input}`, right]);
      if (turn === FEW_TRIES && lines.length === 0) return null;
    }
    if (lines.length < INPUTS || new Set(lines.map(([, right]) => right)).size < 2) return null;
    cases.push(caseOf([id], lines));
  }
  return cases;
}

function caseOf(parts: readonly string[], lines: readonly (readonly [input: string, output: string])[]): Case {
  const text = (index: 0 | 1): string => lines.map((line) => line[index]).join("\n");
  const outputs = lines.map(([, output]) => `[${output.replaceAll(" ", "_")}]\n`).join("");
  return { parts, input: `${text(0)}\n`, output: outputs };
}

function anyLines(units: readonly Unit[], direction: Direction, rng: Rng): [string, string][] | null {
  const lines: [string, string][] = [];
  for (const [index, unit] of units.entries()) {
    for (let turn = 0; turn < TRIES; turn++) {
      const input = drawInput(unit, direction.from, rng);
      const output = valueOf(unit, input, direction);
      if (output === null) continue;
      lines.push([`${index} ${input}`, output]);
      break;
    }
  }
  return lines.length < units.length ? null : lines;
}

/** What the prompt shows: another stream, so that no hidden line is among it by construction. */
function sampleOf({ direction, units, seed }: Instance): { input: string; output: string } {
  const lines = anyLines(units, direction, createRng(seed + SHOWN)) ?? [];
  return caseOf([], lines);
}

function examOf(instance: Instance): Exam {
  const cases = casesOf(instance);
  return {
    language: instance.direction.to,
    tests: cases.map(({ input, output }) => ({ input, output })),
    timeLimitMs: TIME_LIMIT_MS,
    base: 0,
    parts: cases.map(({ parts }) => parts),
  };
}

function wording(instance: Instance, index: number): string {
  const { direction, units } = instance;
  const [from, to] = [NAMES[direction.from], NAMES[direction.to]];
  const code = `\`\`\`${FENCES[direction.from]}\n${sourceOf(units, direction.from)}\n\`\`\``;
  const { input, output } = sampleOf(instance);
  const sample = `For the input\n\n${input}\nit prints\n\n${output}`;
  const about = `Each line of the input has the number of a function, a space and its argument: whole numbers with single spaces between them${units.some(({ is }) => is === "text") ? ", or a text (UTF-8) as it stands, which may have letters outside of the basic plane" : ""}. All numbers of the inputs and results fit into 64 bits with a sign${direction.from === "c" ? ", and the program was built with gcc on x86-64, where int has 32 bits and narrowing keeps the low bits" : ""}.`;
  const scoring =
    "It reads standard input and writes standard output, and only the standard library is there. Hidden inputs test one hazard of the port each; the credit is the square of the share of these tests whose whole output is right.";
  const story = at(STORIES, index);
  return at(
    [
      `${story}\n\nPort this program from ${from} to ${to}:\n\n${code}\n\n${about} ${scoring}\n\n${sample}`,
      `Write a ${to} program that prints exactly what this ${from} program prints, for any valid input.\n\n${code}\n\n${sample}\n\n${about} ${story} ${scoring}`,
      `${about}\n\n${sample}\n\nThe program, in ${from}:\n\n${code}\n\n${story} Your task is the same program in ${to}. ${scoring}`,
      `From ${from} to ${to}. ${story} ${scoring}\n\n${code}\n\n${about}\n\n${sample}`,
    ],
    index,
  );
}
