/**
 * A family of contest problems: statements with parameters, inputs, and two solutions that share no code.
 *
 * `solve` computes the expected results; `gold` is a program that must get the full reward, so that each finds mistakes of the other.
 */
import type { Rng } from "../../../random/rng.ts";

export type Level = "easy" | "medium" | "hard";

export interface Problem {
  readonly statement: string;
  /** Parameters that distinguish it from other problems of its family. */
  readonly parameters: readonly (string | number)[];
  /** An input; `size` grows from 0 to 1 over the hidden tests of a problem, or is EXAMPLE_SIZE. Seeded. */
  readonly input: (rng: Rng, size: number) => string;
  readonly solve: (input: string) => string;
  /** A solution in Python. */
  readonly gold: string;
}

export interface Family {
  readonly name: string;
  readonly level: Level;
  readonly make: (rng: Rng) => Problem;
}

/** From `low` to `high`, both possible. */
export function between(rng: Rng, low: number, high: number): number {
  return low + rng.integer(high - low + 1);
}

/** The numbers of each line. */
export function numberLines(input: string): number[][] {
  return input
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" ").map(Number));
}

/** Size of an input in the statement's examples. */
export const EXAMPLE_SIZE = -1;
const EXAMPLE_LENGTH = 5;

/** A length between the least and, as the size grows, the most. */
export function lengthOf(size: number, least: number, most: number): number {
  if (size === EXAMPLE_SIZE) return Math.min(most, least + EXAMPLE_LENGTH);
  return Math.round(least + (most - least) * size ** 2);
}
