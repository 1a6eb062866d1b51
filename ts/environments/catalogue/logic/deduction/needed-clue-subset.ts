/** needed-clue-subset: a smallest set of clues that leaves one arrangement of people, pets and days. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";
import { numbersIn } from "./answers.ts";

/** About the person with the i-th thing of a list; list 0 are the days, in order. */
type Clue =
  | { kind: "has"; person: number; list: number; thing: number; not: boolean }
  | { kind: "pair"; thing: number; other: number; not: boolean }
  | { kind: "before"; a: number; b: number }
  | { kind: "next"; a: number; b: number };

interface Instance {
  people: string[];
  clues: Clue[];
  /** A smallest sufficient set, as places in the list. */
  best: number[];
  models: number;
}

/** An arrangement: the day and the pet of each person. */
type Model = readonly [days: readonly number[], pets: readonly number[]];

const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday"];
const PETS = ["a cat", "a dog", "a parrot", "a tortoise"];
/** By level: people, clues, least and most clues of a smallest set. */
const SIZES = [
  [3, 6, 2, 4],
  [3, 9, 3, 5],
  [4, 11, 3, 5],
  [4, 13, 5, 6],
  [4, 15, 6, 7],
] as const;

/** Sets of clues that are tried for an instance. */
const DRAWS = 8;

export const neededClueSubset = defineRow<Instance>({
  id: "needed-clue-subset",
  asks: "a smallest set of clues that still has one solution",
  place: "answer",
  make,
  effort: ({ clues, models, best }) => models * clues.length * best.length,
  canonical: ({ clues }) => clues,
  prompts: [
    (one) =>
      `${who(one)} each visit the vet on another day (${dayList(one)}) and each have another pet (${petList(one)}). Clues:\n${clueList(one)}\n\nAll clues are true, and together they determine who comes when with which pet. Give a smallest set of clue numbers that already determines everything. Write the numbers separated by commas; a larger sufficient set earns less.`,
    (one) =>
      `A puzzle maker wrote too many hints about ${who(one)} (days: ${dayList(one)}; pets: ${petList(one)}; everybody has one day and one pet, all different):\n${clueList(one)}\n\nWhich hints should stay so that the puzzle has exactly one solution with as few hints as possible? Answer with their numbers, comma between. Any smallest choice earns full marks; another one that suffices earns ((${one.clues.length} - its size) / (${one.clues.length} - smallest size))².`,
    (one) =>
      `Find a minimum subset of these statements that leaves one possible assignment of days {${dayList(one)}} and pets {${petList(one)}} to ${who(one)} (one-to-one in both cases):\n${clueList(one)}\nThe full list leaves exactly one. List the chosen statement numbers with commas; sufficient sets with more statements earn part of the points.`,
    (one) =>
      `Detective work: ${who(one)} have different pets (${petList(one)}) and different appointments (${dayList(one)}). The witnesses' statements, all reliable:\n${clueList(one)}\nYou may call as few witnesses as possible to the stand, but the case must be fully solved by them alone. Whom do you call? Numbers only, separated by commas; more witnesses than needed cost marks.`,
  ],
  gold: ({ best }) => numbered(best),
  nearMisses: ({ clues, best }) =>
    [
      numbered(best.slice(1)),
      numbered(best.slice(0, -1)),
      numbered(range(clues.length)),
      numbered([...best.slice(1), (at(best, 0) + 1) % clues.length]).replace(/^(\d+), \1$/u, "$1"),
      `${clues.length + 1}`,
    ].filter((text) => scoreOf({ clues, best }, text) < 1),
  variants: ({ best }) => [
    best
      .map((clue) => clue + 1)
      .toReversed()
      .join(" "),
    `{${numbered(best)}}`,
  ],
  score: scoreOf,
});

function scoreOf({ clues, best }: Pick<Instance, "clues" | "best">, answer: string): number {
  const chosen = numbersIn(answer, clues.length);
  if (chosen === null) return 0;
  const kept = chosen.map((clue) => at(clues, clue));
  if (modelsOf(clues).filter((model) => kept.every((clue) => holds(clue, model))).length !== 1) return 0;
  // All clues but one or two suffice often: what counts is how many were left out.
  return ((clues.length - chosen.length) / (clues.length - best.length)) ** 2;
}

function make(rng: Rng, level: Level): Instance | null {
  for (let tries = 0; tries < DRAWS; tries++) {
    const found = drawClues(rng, at(SIZES, level - 1));
    if (found !== null) return found;
  }
  return null;
}

function drawClues(rng: Rng, [count, clueCount, least, most]: (typeof SIZES)[number]): Instance | null {
  const models = allModels(count);
  const truth = rng.pick(models);
  const drawn = new Map<string, Clue>();
  for (let tries = 0; drawn.size < clueCount && tries < 200; tries++) {
    const clue = drawClue(count, rng);
    if (holds(clue, truth)) drawn.set(JSON.stringify(clue), clue);
  }
  const clues = shuffled(drawn.values(), rng);
  const killed = clues.map((clue) => models.map((model) => !holds(clue, model)));
  const killers = models.map((_, index) => killed.filter((one) => one[index] === true).length);
  // Arrangements that few clues exclude come first: most sets fail there.
  const wrong = range(models.length)
    .filter((index) => models[index] !== truth)
    .toSorted((a, b) => at(killers, a) - at(killers, b));
  if (clues.length < clueCount || wrong.some((index) => killers[index] === 0)) return null;
  if (Math.max(...clues.map(largestIn)) < count - 1) return null;
  for (let size = least; size <= most; size++) {
    const best = subsets(clues.length, size).find((set) =>
      wrong.every((index) => set.some((clue) => killed[clue]?.[index] === true)),
    );
    if (best === undefined) continue;
    const smaller = subsets(clues.length, least - 1).some((set) =>
      wrong.every((index) => set.some((clue) => killed[clue]?.[index] === true)),
    );
    if (smaller) return null;
    return { people: distinct(count, () => name(rng)), clues, best, models: models.length };
  }
  return null;
}

function drawClue(count: number, rng: Rng): Clue {
  const kind = rng.pick(["has", "has", "pair", "before", "next"] as const);
  const [a = 0, b = 1] = sample(range(count), 2, rng);
  const not = rng.integer(2) > 0;
  if (kind === "has") return { kind, person: a, list: rng.integer(2), thing: rng.integer(count), not };
  if (kind === "pair") return { kind, thing: a, other: b, not };
  return { kind, a, b };
}

/** In `pair`, the thing is a pet and the other one a day. */
function holds(clue: Clue, [days, pets]: Model): boolean {
  if (clue.kind === "has") return ((clue.list === 0 ? days : pets)[clue.person] === clue.thing) !== clue.not;
  if (clue.kind === "pair") return (days[pets.indexOf(clue.thing)] === clue.other) !== clue.not;
  const distance = at(days, clue.b) - at(days, clue.a);
  return clue.kind === "before" ? distance > 0 : Math.abs(distance) === 1;
}

function largestIn(clue: Clue): number {
  if (clue.kind === "has") return Math.max(clue.person, clue.thing);
  return clue.kind === "pair" ? Math.max(clue.thing, clue.other) : Math.max(clue.a, clue.b);
}

function modelsOf(clues: readonly Clue[]): Model[] {
  return allModels(1 + Math.max(...clues.map(largestIn)));
}

function allModels(count: number): Model[] {
  const orders = permutations(range(count));
  return orders.flatMap((days) => orders.map((pets): Model => [days, pets]));
}

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

function subsets(count: number, size: number): number[][] {
  if (size === 0) return [[]];
  return range(count).flatMap((last) => subsets(last, size - 1).map((set) => [...set, last]));
}

function numbered(clues: readonly number[]): string {
  return clues.map((clue) => clue + 1).join(", ");
}

function who({ people }: Instance): string {
  return `${people.slice(0, -1).join(", ")} and ${people.at(-1) ?? ""}`;
}

function dayList({ people }: Instance): string {
  return DAYS.slice(0, people.length).join(", ");
}

function petList({ people }: Instance): string {
  return PETS.slice(0, people.length).join(", ");
}

function clueList({ people, clues }: Instance): string {
  return clues
    .map((clue, index) => {
      const of = (person: number): string => at(people, person);
      const texts = {
        has: () =>
          clue.kind !== "has"
            ? ""
            : clue.list === 0
              ? `${of(clue.person)} ${clue.not ? "does not come" : "comes"} on ${at(DAYS, clue.thing)}`
              : `${of(clue.person)} ${clue.not ? "does not have" : "has"} ${at(PETS, clue.thing)}`,
        pair: () =>
          clue.kind === "pair"
            ? `the owner of ${at(PETS, clue.thing)} ${clue.not ? "does not come" : "comes"} on ${at(DAYS, clue.other)}`
            : "",
        before: () => (clue.kind === "before" ? `${of(clue.a)} comes on an earlier day than ${of(clue.b)}` : ""),
        next: () =>
          clue.kind === "next" ? `the days of ${of(clue.a)} and ${of(clue.b)} follow each other directly` : "",
      };
      return `${index + 1}. ${texts[clue.kind]()}`;
    })
    .join("\n");
}
