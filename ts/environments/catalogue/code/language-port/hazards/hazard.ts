/** One hazard of a port: an expression whose meaning in the source language another language does not give for the same text. */
import type { Rng } from "../../../../../random/rng.ts";
import type { ProgramLanguage } from "../../../../../verify/index.ts";

export type Value = bigint | string;

/** How a target language says it. In templates, `$x` is the argument, `$0` a constant, `$#0` a constant as a small number, `$c0` a letter. */
export interface Port {
  readonly right: string;
  /** What a careless port writes. */
  readonly wrong: string;
  /** What that gives. */
  readonly slip: (value: Value, constants: readonly bigint[], list: readonly bigint[]) => Value;
  /** Names of helper functions that `right` or `wrong` call. */
  readonly helpers?: readonly string[];
}

export interface Hazard {
  readonly id: string;
  readonly from: ProgramLanguage;
  readonly takes: "int" | "text" | "list";
  readonly gives: "int" | "text";
  readonly draw: (rng: Rng) => readonly bigint[];
  /** The expression in the source language. */
  readonly source: string;
  /** A helper function of the source. */
  readonly sourceHelper?: string;
  readonly value: (value: Value, constants: readonly bigint[], list: readonly bigint[]) => Value;
  /** Targets where the hazard exists. */
  readonly ports: Partial<Record<ProgramLanguage, Port>>;
  /** It needs numbers of more than 32 bits. */
  readonly wide?: boolean;
  /** Texts have no letters outside of the basic plane, because positions are counted in another unit there. */
  readonly plain?: boolean;
}

export const LETTERS = "aeiotnsr";

export const int = (value: Value): bigint => (typeof value === "bigint" ? value : BigInt(value));
export const text = (value: Value): string => String(value);
/** A constant that a hazard always draws. */
export const constant = (constants: readonly bigint[], index: number): bigint => constants[index] ?? 0n;

export function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

export function floorMod(a: bigint, b: bigint): bigint {
  return a - b * floorDiv(a, b);
}

export const int32 = (value: bigint): bigint => BigInt.asIntN(32, value);
export const uint32 = (value: bigint): bigint => BigInt.asUintN(32, value);

/** Half-way cases to the even neighbour, up, and away from 0. */
export function halfEven(a: bigint, b: bigint): bigint {
  const down = floorDiv(a, b);
  const twice = 2n * (a - down * b);
  return twice > b || (twice === b && down % 2n !== 0n) ? down + 1n : down;
}
export function halfUp(a: bigint, b: bigint): bigint {
  return floorDiv(2n * a + b, 2n * b);
}
export function halfAway(a: bigint, b: bigint): bigint {
  return a < 0n ? -halfUp(-a, b) : halfUp(a, b);
}
