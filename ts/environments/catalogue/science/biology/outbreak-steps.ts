/** outbreak-steps: an infection among groups with unequal contacts: reproduction number, cases after generations, vaccination that stops it. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Given {
  groups: string[];
  /** New cases in the row's group that a case of the column's group causes. */
  matrix: number[][];
  cases: number[];
  generations: number;
  /** The group whose susceptibility is lowered, and by which share; null: none. */
  shield: { group: number; share: number } | null;
}

/** By level: groups, generations, a shielded group. */
const KNOBS = [
  [2, 1, false],
  [2, 3, false],
  [3, 3, false],
  [3, 4, true],
  [4, 5, true],
] as const;
const NAMES = ["pupils", "parents", "nurses", "pensioners"];
const MOST_ITERATIONS = 400;
const CONVERGED = 1e-13;

export const outbreakSteps = quantityRow<Given>({
  id: "outbreak-steps",
  asks: "reproduction number, cases after generations and vaccination threshold of an outbreak among groups",
  draw,
  solve,
  asides: [
    "The incubation time is 4 days.",
    "The town has 52000 people.",
    "A test costs 12 euros.",
    "Fever lasts for 3 days on average.",
  ],
  wordings: [
    (one, aside) =>
      `An infection passes from generation to generation. ${table(one)} ${aside} ${shielded(one)}At the beginning there are ${casesText(one)}. Find R, the basic reproduction number (spectral radius of the matrix of these numbers), N, the expected total of new cases in generation ${one.generations} (the first cases are generation 0), and c, the share of all groups alike that must be immune for the outbreak to die out.`,
    (one, aside) =>
      `Wanted are N, the cases of all groups together in generation ${one.generations}; R, the factor by which generations grow in the long run; and c, the least share of immune people, the same in every group, that brings R to 1. ${aside} ${table(one)} ${shielded(one)}Generation 0: ${casesText(one)}.`,
    (one, aside) =>
      `${shielded(one)}${table(one)} Start with ${casesText(one)} as generation 0. ${aside} Report R (largest eigenvalue of the next-generation matrix), N (cases in generation ${one.generations}, all groups), c (critical immune share if everyone is equally likely to be immune).`,
    (one, aside) =>
      `Health officers know how the groups infect each other. ${table(one)} ${aside} First there are ${casesText(one)} (generation 0). ${shielded(one)}How many people in all fall ill in generation ${one.generations} (N)? What is the reproduction number R of the whole system, and which uniform immune share c is just enough?`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [count, generations, isShielded] = at(KNOBS, level - 1);
  const groups = NAMES.slice(0, count);
  return {
    groups,
    matrix: groups.map(() => groups.map(() => decimal(rng, 0.05, 1.8, 2))),
    cases: groups.map(() => rng.integer(30)),
    generations,
    shield: isShielded ? { group: rng.integer(count), share: decimal(rng, 0.2, 0.7, 2) } : null,
  };
}

function solve({ groups, matrix, cases, generations, shield }: Given): Solution | null {
  if (cases.every((count) => count === 0)) return null;
  const shieldedRows = matrix.map((row, group) =>
    row.map((value) => (group === shield?.group ? value * (1 - shield.share) : value)),
  );
  const R = growth(shieldedRows);
  if (R === null || R < 1.15) return null;
  const N = sum(spread(shieldedRows, cases, generations));
  const turned = range(groups.length).map((row) => shieldedRows.map((one) => at(one, row)));
  const mean = sum(shieldedRows.flat()) / groups.length;
  const wide = growth(matrix) ?? 0;
  return {
    parts: [
      { name: "R", value: R, unit: "" },
      { name: "N", value: N, unit: "" },
      { name: "c", value: 1 - 1 / R, unit: "" },
    ],
    slips: [
      [mean, N, 1 - 1 / mean],
      [R, sum(spread(turned, cases, generations)), 1 - 1 / R],
      [R, N, 1 / R],
      ...(generations === 1 ? [] : [[R, sum(cases) * R ** generations, 1 - 1 / R]]),
      ...(shield === null ? [] : [[wide, sum(spread(matrix, cases, generations)), 1 - 1 / wide]]),
    ],
    steps: groups.length ** 2 * (1 + generations) + Number(shield !== null),
  };
}

/** The largest eigenvalue of a matrix of positive numbers, by iteration; null where it does not settle. */
function growth(matrix: readonly (readonly number[])[]): number | null {
  let [vector, last] = [matrix.map(() => 1), 0];
  for (let turn = 0; turn < MOST_ITERATIONS; turn++) {
    const next = spread(matrix, vector, 1);
    const factor = sum(next) / sum(vector);
    if (Math.abs(factor - last) < CONVERGED * factor) return factor;
    last = factor;
    vector = next.map((value) => value / sum(next));
  }
  return null;
}

function spread(matrix: readonly (readonly number[])[], cases: readonly number[], generations: number): number[] {
  let vector = [...cases];
  for (let turn = 0; turn < generations; turn++)
    vector = matrix.map((row) => row.reduce((total, value, index) => total + value * at(vector, index), 0));
  return vector;
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

function table({ groups, matrix }: Given): string {
  const lines = groups.map(
    (from, column) =>
      `a case among ${from} causes ${groups.map((to, row) => `${at(at(matrix, row), column)} among ${to}`).join(", ")}`,
  );
  return `New cases in the next generation, on average: ${lines.join("; ")}.`;
}

function casesText({ groups, cases }: Given): string {
  return groups.map((group, index) => `${at(cases, index)} cases among ${group}`).join(", ");
}

function shielded({ groups, shield }: Given): string {
  return shield === null
    ? ""
    : `Masks lower by the share ${shield.share} the number of ${at(groups, shield.group)} who get infected, from any group; this holds from the first generation on and for R and c as well. `;
}
