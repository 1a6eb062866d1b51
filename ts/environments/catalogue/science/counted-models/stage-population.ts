/** stage-population: numbers of a population with stages, seasons and harvest after several years, in exact counts. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { minus, plus, ratio, type Rational, textOf, times, ZERO } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

interface Given {
  start: number[];
  /** Young of each individual of a stage in a year, in tenths. */
  young: number[];
  /** Tenths of a stage that grow into the next one, and that stay; the rest dies. */
  grow: number[];
  stay: number[];
  /** Stage, and number that is taken from it at the end of each year. */
  harvest: [number, number] | null;
  years: number;
}

/** By level: stages, years, harvest. */
const SIZES = [
  [2, 2, false],
  [3, 2, false],
  [3, 3, true],
  [4, 3, true],
  [5, 4, true],
] as const;

export const stagePopulation = fieldRow<Given>({
  id: "stage-population",
  asks: "the exact expected size of each stage of a population after years of growth, births and harvest",
  draw,
  solve,
  values: ({ start }) =>
    `S1 to S${start.length} are the expected numbers in the stages after all years, as exact decimals or fractions`,
  wordings: [
    (one) => `${lifeTable(one)}\n\n${rule(one)} ${startText(one)}`,
    (one) =>
      `${startText(one)} ${rule(one)}\n\nLife table:\n${lifeTable(one)}\n\nProject the population, one year after the other.`,
    (one) =>
      `Ecologists model a fish of a cold lake by its stages of life.\n${lifeTable(one)}\n${startText(one)}\n${rule(one)}`,
    (one) =>
      `Stage-structured projection over ${one.years} years. ${rule(one)}\n${lifeTable(one)}\n${startText(one)} State the result by stages.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [stages, years, isTaken] = at(SIZES, level - 1);
  const grow = range(stages).map((stage) => (stage === stages - 1 ? 0 : between(rng, 2, 7)));
  return {
    start: range(stages).map((stage) => 10 * between(rng, 3, 40 - 4 * stage)),
    young: range(stages).map((stage) => (stage === 0 ? 0 : between(rng, 3, 35))),
    grow,
    stay: grow.map((part) => between(rng, 1, 9 - part)),
    harvest: isTaken ? [between(rng, 1, stages - 1), between(rng, 2, 15)] : null,
    years,
  };
}

interface Slip {
  readonly isSequential?: boolean;
  readonly isWithoutStay?: boolean;
}

function after(
  { start, young, grow, stay, harvest, years }: Given,
  { isSequential = false, isWithoutStay = false }: Slip,
): Rational[] {
  let counts = start.map((one) => ratio(one));
  const part = (tenths: number): Rational => ratio(tenths, 10);
  for (let year = 0; year < years; year++) {
    const before = counts;
    const grown = before.map((one, stage) => times(one, part(at(grow, stage))));
    const stayed = before.map((one, stage) => (isWithoutStay ? ZERO : times(one, part(at(stay, stage)))));
    const moved = before.map((_, stage) => plus(at(stayed, stage), stage === 0 ? ZERO : at(grown, stage - 1)));
    const parents = isSequential ? moved : before;
    const births = parents.reduce((sum, one, stage) => plus(sum, times(one, part(at(young, stage)))), ZERO);
    counts = moved.map((one, stage) => {
      const all = stage === 0 ? plus(one, births) : one;
      return harvest?.[0] === stage ? minus(all, ratio(harvest[1])) : all;
    });
  }
  return counts;
}

function solve(given: Given): Solution | null {
  const right = after(given, {});
  if (right.some(({ n }) => n <= 0n)) return null;
  const texts = (counts: readonly Rational[]): string[] => counts.map(textOf);
  return {
    fields: texts(right).map((value, stage) => ({ name: `S${stage + 1}`, kind: "number", value })),
    slips: [texts(after(given, { isSequential: true })), texts(after(given, { isWithoutStay: true }))],
    steps: given.years * given.start.length ** 2 + (given.harvest === null ? 0 : given.years),
  };
}

function rule({ years, harvest }: Given): string {
  const taken =
    harvest === null
      ? ""
      : ` At the end of each year ${harvest[1]} individuals of stage S${harvest[0] + 1} are caught.`;
  return `The young of a year are born by those who were there at its beginning, and are in S1 at its end. Individuals that neither grow nor stay die.${taken} Compute with expected numbers, without rounding, for ${years} years.`;
}

function lifeTable({ young, grow, stay }: Given): string {
  return young
    .map((births, stage) => {
      const next = at(grow, stage) === 0 ? "" : `, ${at(grow, stage)}0 % grow into S${stage + 2}`;
      return `S${stage + 1}: ${births / 10} young each, ${at(stay, stage)}0 % stay${next}`;
    })
    .join("\n");
}

function startText({ start }: Given): string {
  return `At the beginning there are ${start.map((one, stage) => `${one} in S${stage + 1}`).join(", ")}.`;
}
