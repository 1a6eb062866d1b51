/** mini-language-interpreter: an interpreter for a language that is defined in the prompt, tested feature by feature. */
import { createRng, type Rng } from "../../../../random/rng.ts";
import type { Family, Level, ProgramRow } from "../../row.ts";
import { functionRow } from "../function-row.ts";
import { numbered } from "../prose.ts";
import { interpreterOf } from "./interpreter.ts";
import { drawLanguage, hasFunctions, type Language, otherMeanings, usualMeanings } from "./language.ts";
import { mixedPrograms, programsOf } from "./programs.ts";
import { definitionOf } from "./rules.ts";
import { Excess, shownBy } from "./run.ts";

interface Spec {
  readonly language: Language;
  /** Hidden programs by feature, and those that mix all. */
  readonly programs: Readonly<Record<string, readonly string[]>>;
}

/** Hidden programs of each feature, and one more that may be shown. */
const PROGRAMS = 6;
const MIXED = 8;

const row: ProgramRow = functionRow<Spec>({
  id: "mini-language-interpreter",
  asks: "an interpreter for a language that the prompt defines, tested feature by feature",
  name: "run",
  parameters: ["source"],
  make,
  effort: ({ language: { features } }) => 6 + 4 * features.length + 5 * Number(hasFunctions(features)),
  stories: [
    () =>
      "A game has a small language for the behaviour of its creatures. It looks like others, and means something else.",
    () => "The interpreter of an old configuration language is lost, but its definition is not.",
    () => "A course invents a language for each class, so that no interpreter can be copied.",
    () => "Here is the definition of a language that has never been implemented.",
  ],
  rules: ({ language }) => {
    const { syntax, meaning } = definitionOf(language);
    return `${syntax}\n\nWhat programs mean:\n\n${numbered(meaning)}`;
  },
  types: () =>
    "The argument is the text of a program, which is correct in its form. The result is the output: the list of its lines as texts.",
  calls: ({ programs }) =>
    Object.fromEntries(Object.entries(programs).map(([name, texts]) => [name, texts.map((text) => [text])])),
  solve: ({ language }, [source]) => linesOrExcess(language, source as string),
  python: ({ language }) => interpreterOf(language),
  slips: ({ language, programs }) => [
    { language: usualMeanings(language), programs },
    ...language.features.flatMap((feature) =>
      otherMeanings(language, feature).map((other) => ({ language: other, programs })),
    ),
  ],
  shares: true,
});

export const miniLanguageInterpreter: Family<ProgramRow> = { id: "mini-language-interpreter", rows: [row] };

/** A hidden program ends soon in its language, but perhaps not under the meaning of a slip. */
function linesOrExcess(language: Language, source: string): string[] {
  try {
    return shownBy(language, source);
  } catch (error) {
    if (error instanceof Excess) return [`excess of ${error.message}`];
    throw error;
  }
}

function make(rng: Rng, level: Level): Spec | null {
  const language = drawLanguage(rng, level);
  const draws = createRng(rng.integer(2 ** 31));
  const programs: Record<string, readonly string[]> = {};
  const mixed = mixedPrograms(language, MIXED, draws);
  if (mixed === null) return null;
  for (const feature of language.features) {
    const some = programsOf(language, feature, PROGRAMS, draws);
    if (some === null) return null;
    programs[feature] = some;
  }
  return { language, programs: { ...programs, mixed } };
}
