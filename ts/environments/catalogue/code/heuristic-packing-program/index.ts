/** heuristic-packing-program: a program that prints good plans for hidden instances, compared with a search of the host. */
import { between } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineProgramRow, type Exam, type Family, type Level, type ProgramRow } from "../../row.ts";
import { type Geometry, type Lines, linesOfOutput, type Sides } from "./geometry.ts";
import { GEOMETRIES } from "./geometries/index.ts";
import { cheatsOf, goldProgram, slipsOf, STEPS, textOf } from "./program.ts";

interface Instance {
  readonly geometry: string;
  readonly rules: object;
  /** Number of the first thing in inputs and outputs. */
  readonly first: number;
  /** Of the hidden instances, and their sizes. */
  readonly seed: number;
  readonly sizes: readonly number[];
  /** On each of them, the cost up to which nothing is earned, and what the search reaches. */
  readonly base: readonly number[];
  readonly found: readonly number[];
  readonly level: Level;
}

/** By level: things of the largest hidden instance, and how much of the side rules. */
const SIZES = [20, 50, 120, 250, 500] as const;
const SIDES: readonly Sides[] = [0, 1, 1, 2, 2];
/** By level: where the base lies, in percent of the way from the plan that the search begins with to that of the plain pass. */
const BASES = [100, 70, 50, 30, 20] as const;
/** Hidden sizes in percent of the largest. */
const SHARES = [80, 90, 100, 100] as const;
const SHOWN_SIZE = 6;
/** The search saves so many percent of the base, at least. */
const LEAST_SAVED = 1;
const TIME_LIMIT_MS = 2_000;

const row: ProgramRow = defineProgramRow<Instance>({
  id: "heuristic-packing-program",
  asks: "a program that packs, cuts, routes or lays out hidden instances well within two seconds, against a local search",
  place: "code",
  reportsParts: true,
  make,
  effort: ({ sizes, level }) => Math.max(...sizes) * (2 + at(SIDES, level - 1)),
  canonical: ({ geometry, rules }) => [geometry, rules],
  prompts: range(4).map((index) => (instance, rng) => wording(instance, index, rng)),
  gold: (instance) => goldProgram(writtenOf(instance)),
  nearMisses: (instance) => slipsOf(writtenOf(instance)),
  exam: examOf,
  cheats: (instance) => cheatsOf(writtenOf(instance), shownOf(instance).output),
});

export const heuristicPackingProgram: Family<ProgramRow> = { id: "heuristic-packing-program", rows: [row] };

function make(rng: Rng, level: Level): Instance | null {
  const geometry = rng.pick(GEOMETRIES);
  const sides = at(SIDES, level - 1);
  const rules = geometry.rules(rng, sides);
  const [seed, first] = [rng.integer(2 ** 31), rng.integer(2)];
  const largest = Math.floor((at(SIZES, level - 1) * between(rng, 90, 100)) / 100);
  const sizes = SHARES.map((share) => Math.floor((largest * share) / 100));
  const hidden = dataOf(geometry, { rules, seed, sizes });
  const costs = (plan: (data: object) => Lines): number[] =>
    hidden.map((data) => {
      const cost = geometry.cost(rules, data, plan(data));
      if (cost === null) throw new RangeError(`${geometry.id}: a plan of the host breaks a rule`);
      return cost;
    });
  const [plain, begun] = [
    costs((data) => geometry.plain(rules, data)),
    costs((data) => geometry.search(rules, data, 0)),
  ];
  const base = plain.map((cost, index) => baseOf(cost, at(begun, index), level));
  const found = costs((data) => geometry.search(rules, data, STEPS));
  const saves = base.every((cost, index) => 100 * (cost - at(found, index)) >= LEAST_SAVED * cost);
  // The order that the search begins with must not be enough.
  if (!saves || begun.every((cost, index) => cost <= at(found, index))) return null;
  return { geometry: geometry.id, rules, first, seed, sizes, base, found, level };
}

function baseOf(plain: number, begun: number, level: Level): number {
  const from = Math.min(plain, begun);
  return from + Math.floor(((plain - from) * at(BASES, level - 1)) / 100);
}

function dataOf(geometry: Geometry, { rules, seed, sizes }: Pick<Instance, "rules" | "seed" | "sizes">): object[] {
  const rng = createRng(seed);
  return sizes.map((size) => geometry.draw(rng, rules, size));
}

function geometryOf({ geometry }: Instance): Geometry {
  const found = GEOMETRIES.find(({ id }) => id === geometry);
  if (found === undefined) throw new RangeError(`there is no geometry ${geometry}`);
  return found;
}

function writtenOf(instance: Instance): { geometry: Geometry; rules: object; first: number } {
  return { geometry: geometryOf(instance), rules: instance.rules, first: instance.first };
}

/** A small instance with the plan of the plain pass, as the prompt shows them. */
function shownOf(instance: Instance): { input: Lines; output: Lines; cost: number } {
  const { rules, seed, first } = instance;
  const geometry = geometryOf(instance);
  const data = geometry.draw(createRng(seed + 1), rules, SHOWN_SIZE);
  const plan = geometry.plain(rules, data);
  const output = plan.map((line) => line.map((value, place) => (geometry.isThing(place) ? value + first : value)));
  return { input: geometry.input(data, first), output, cost: geometry.cost(rules, data, plan) ?? 0 };
}

function examOf(instance: Instance): Exam {
  const { rules, first, base, found } = instance;
  const geometry = geometryOf(instance);
  const hidden = dataOf(geometry, instance);
  return {
    language: "python",
    tests: hidden.map((data) => ({ input: textOf(geometry.input(data, first)), output: "" })),
    timeLimitMs: TIME_LIMIT_MS,
    parts: hidden.map(() => [geometry.id]),
    earns(printed, index) {
      const lines = linesOfOutput(printed);
      if (lines === null) return 0;
      const plan = lines.map((line) => line.map((value, place) => (geometry.isThing(place) ? value - first : value)));
      const cost = geometry.cost(rules, at(hidden, index), plan);
      if (cost === null) return 0;
      const most = at(base, index);
      return Math.min(1, Math.max(0, (most - cost) / (most - at(found, index)))) ** 2;
    },
  };
}

function wording(instance: Instance, index: number, rng: Rng): string {
  const { rules, sizes, first } = instance;
  const geometry = geometryOf(instance);
  const { input, output, cost } = shownOf(instance);
  const story = rng.pick(geometry.stories);
  const task = geometry.task(rules);
  const form = `Input: whole numbers on standard input. ${geometry.inputText} Output: ${geometry.outputText}. Things are numbered from ${first} on, in the order of the input.`;
  const scoring = `The program runs on ${sizes.length} hidden instances of ${Math.min(...sizes)} to ${Math.max(...sizes)} things, with at most ${TIME_LIMIT_MS / 1000} seconds of CPU time for each. A plan that breaks a rule, or comes too late, earns 0. Let b be ${baseText(instance.level)}, and s the cost that our local search reaches: a plan of cost v earns the square of (b - v) / (b - s), at least 0 and at most 1. The score is the mean over the instances. The plain pass: ${geometry.plainText}.`;
  const sample = `For the input\n\n${textOf(input)}\nthis is a valid output, that of the plain pass, with cost ${cost}:\n\n${textOf(output).trimEnd()}`;
  return at(
    [
      `${story} ${task}\n\nWrite a Python 3 program (standard library only) that finds a good plan. The best plan is not demanded.\n\n${form}\n\n${sample}\n\n${scoring}`,
      `Write a heuristic in Python 3, with nothing but the standard library. ${scoring}\n\n${story}\n\n${task}\n\n${form}\n\n${sample}`,
      `${form}\n\n${sample}\n\nWhat the numbers mean: ${story} ${task}\n\nYour answer is a Python 3 program without other packages that prints as cheap a plan as it can. ${scoring}`,
      `A contest in plans, to be entered with one Python 3 program of the standard library. ${story}\n\n${form}\n\n${task}\n\n${scoring}\n\n${sample}`,
    ],
    index,
  );
}

function baseText(level: Level): string {
  const percent = at(BASES, level - 1);
  if (percent === 100) return "the cost of a plain pass";
  return `the cost that lies ${percent} percent of the way from a simple greedy plan to a plain pass`;
}
