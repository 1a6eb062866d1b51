/**
 * The search of hidden-law-table: which laws, with which parameters, agree with rows whose error has a bound.
 *
 * Values of laws are floating-point numbers. A table in which a residual comes so near to the bound, or a prediction so near to a rounding
 * limit, that their errors could matter is dropped, so no verdict hangs on them.
 */
import { at } from "../../lists.ts";
import type { Law } from "./laws.ts";

export interface Row {
  readonly x: number;
  /** Tenths. */
  readonly y: number;
}

export interface Given {
  /** Ids of the laws in the order of their letters. */
  readonly laws: readonly string[];
  readonly rows: readonly Row[];
  /** The first so many rows stand for an earlier state of knowledge. */
  readonly early: number;
  /** Bound of the error, in tenths. */
  readonly bound: number;
  readonly next: number;
}

export const LETTERS = "ABCDEFGH";

export interface Fit {
  /** Place among the laws. */
  readonly law: number;
  readonly a: number;
  readonly b: number;
}

export interface Search {
  /** Laws and parameters that agree with the rows, in the order of the laws. */
  readonly fits: readonly Fit[];
  /** Values that were computed. */
  readonly values: number;
}

const NEAR = 1e-6;

/** Null where a residual is too near to the bound. */
export function fitting(laws: readonly Law[], rows: readonly Row[], bound: number): Search | null {
  const fits: Fit[] = [];
  let values = 0;
  for (const [index, law] of laws.entries())
    for (let b = law.b[0]; b <= law.b[1]; b++) {
      const [from, to] = rangeOfA(law, b, rows, bound);
      for (let a = from; a <= to; a++) {
        let isFit = true;
        for (const { x, y } of rows) {
          values += 1;
          const excess = Math.abs(10 * law.value(x, a, b) - y) - bound;
          if (Math.abs(excess) < NEAR) return null;
          if (excess > 0) {
            isFit = false;
            break;
          }
        }
        if (isFit) fits.push({ law: index, a, b });
      }
    }
  return { fits, values };
}

/** All values of `a` that the first row may leave, and one more on each side; the laws but one are lines in `a`. */
function rangeOfA(law: Law, b: number, rows: readonly Row[], bound: number): [from: number, to: number] {
  const [from, to] = law.a;
  const [first] = rows;
  if (first === undefined) return [from, to];
  const base = 10 * law.value(first.x, 0, b);
  const slope = 10 * law.value(first.x, 1, b) - base;
  const isLine = Math.abs(10 * law.value(first.x, to, b) - base - to * slope) < NEAR;
  if (!isLine || Math.abs(slope) < NEAR) return [from, to];
  const ends = [(first.y - bound - base) / slope, (first.y + bound - base) / slope];
  return [Math.max(from, Math.floor(Math.min(...ends)) - 1), Math.min(to, Math.ceil(Math.max(...ends)) + 1)];
}

/** In tenths, rounded; null where the value lies too near to a limit. */
export function tenths({ value }: Law, x: number, { a, b }: Pick<Fit, "a" | "b">): number | null {
  const exact = 10 * value(x, a, b);
  if (!Number.isFinite(exact) || Math.abs(exact - Math.floor(exact) - 0.5) < NEAR) return null;
  return Math.round(exact);
}

/** The places of the laws among the fits, each once. */
export function lawsOf(fits: readonly Fit[]): number[] {
  return [...new Set(fits.map(({ law }) => law))].toSorted((p, q) => p - q);
}

/** The first fit of a law. */
export function fitOf(fits: readonly Fit[], law: number): Fit {
  return at(
    fits.filter((one) => one.law === law),
    0,
  );
}

/** A number of tenths with one decimal. */
export function decimal(value: number): string {
  return `${value < 0 ? "-" : ""}${Math.floor(Math.abs(value) / 10)}.${Math.abs(value) % 10}`;
}
