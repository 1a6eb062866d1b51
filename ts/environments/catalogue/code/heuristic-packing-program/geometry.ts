/**
 * What every geometry brings: instances, the cost of a plan, a plain pass, and a search.
 *
 * The search exists twice, here and as a gold program in Python, and both give the same plan: it takes its random numbers from one multiplier,
 * counts its steps and not the time, and compares whole numbers only. A cost is a whole number, and less is better.
 */
import type { Rng } from "../../../../random/rng.ts";

/** A plan, or the lines of an input: whole numbers. */
export type Lines = readonly (readonly number[])[];

/** How much of a geometry's side rules a task has: 0 none, 1 one of them, 2 all. */
export type Sides = 0 | 1 | 2;

export interface Geometry<Rules extends object = object, Data extends object = object> {
  /** Lower-case words with hyphens. */
  readonly id: string;
  /** The constants of a task, which its prompt states. */
  readonly rules: (rng: Rng, sides: Sides) => Rules;
  /** A hidden instance of about `size` things. */
  readonly draw: (rng: Rng, rules: Rules, size: number) => Data;
  /** Standard input; numbers of things begin at `first`. */
  readonly input: (data: Data, first: number) => Lines;
  /** What the lines of an untrusted output cost; null where the plan breaks a rule. Numbers of things begin at 0 here. */
  readonly cost: (rules: Rules, data: Data, plan: Lines) => number | null;
  /** Whether a number of the output is that of a thing, by its place in the line; these begin at `first`. */
  readonly isThing: (place: number) => boolean;
  /** The plan of a pass through the input that looks at nothing twice. */
  readonly plain: (rules: Rules, data: Data) => Lines;
  /** The plan after so many steps of the search; after none, that of the order it begins with. */
  readonly search: (rules: Rules, data: Data, steps: number) => Lines;
  /** No plan costs less. */
  readonly bound: (rules: Rules, data: Data) => number;
  /** Python: `read()`, which returns the data, `plain(...)` and `search(..., steps)`. */
  readonly python: { readonly constants: (rules: Rules) => string; readonly plain: string; readonly search: string };
  /** Texts for the prompt. */
  readonly stories: readonly string[];
  readonly task: (rules: Rules) => string;
  readonly inputText: string;
  readonly outputText: string;
  /** What the plain pass does, in a sentence. */
  readonly plainText: string;
}

/** Hides the types of a geometry's rules and data. */
export function defineGeometry<Rules extends object, Data extends object>(one: Geometry<Rules, Data>): Geometry {
  return one as unknown as Geometry;
}

const MULTIPLIER = 16_807;
const MODULUS = 2_147_483_647;
const SEED = 12_345;

export type Dice = (sides: number) => number;

/** The random numbers of a search: always the same ones. */
export function dice(): Dice {
  let state = SEED;
  return (sides) => {
    state = (state * MULTIPLIER) % MODULUS;
    return state % sides;
  };
}

/** How much worse a plan may become in this step: less and less, and nothing in the last quarter. */
export function slack(step: number, steps: number, heat: number): number {
  return Math.max(0, Math.floor((heat * (3 * steps - 4 * step)) / (3 * steps)));
}

/** The same in Python, with what every gold program begins with. */
export const PRELUDE = `import sys

STREAM = iter(sys.stdin.read().split())
STATE = [${SEED}]


def take():
    return int(next(STREAM))


def takes(count):
    return [take() for _ in range(count)]


def rnd(sides):
    STATE[0] = STATE[0] * ${MULTIPLIER} % ${MODULUS}
    return STATE[0] % sides


def slack(step, steps, heat):
    return max(0, heat * (3 * steps - 4 * step) // (3 * steps))
`;

/** The whole numbers of an untrusted output, line by line; null where anything else stands there. */
export function linesOfOutput(printed: string): number[][] | null {
  const lines = printed
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => line.split(/\s+/u));
  if (!lines.flat().every((word) => /^-?\d{1,9}$/u.test(word))) return null;
  return lines.map((line) => line.map(Number));
}

/** Whether the numbers are those from 0 to below `count`, each once. */
export function isEachOnce(numbers: readonly number[], count: number): boolean {
  return (
    numbers.length === count &&
    new Set(numbers).size === count &&
    numbers.every((one) => Number.isInteger(one) && one >= 0 && one < count)
  );
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Indexes from 0, those with the smaller key first; equal ones in their order. */
export function sortedBy(count: number, key: (index: number) => number): number[] {
  const keys = Array.from({ length: count }, (_, index) => key(index));
  return [...keys.keys()].sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0));
}
