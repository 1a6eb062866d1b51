/** What the quality gate measured of a row. Counts and shares are exact for a seed; rates are of the machine and decide nothing. */
import type { Level } from "../row.ts";

export interface LevelReport {
  readonly level: Level;
  /** Median of the row's effort. */
  readonly effort: number;
  readonly instances: number;
}

export interface RowReport {
  readonly id: string;
  readonly levels: readonly LevelReport[];
  /** Rank correlation of level and effort. */
  readonly monotone: number;
  /** Mean score of the best constant answer. Null: not measured, because a program that returns a constant is one of the cheats that must score 0. */
  readonly bestConstant: number | null;
  /** Mean score of the gold answers of other instances. */
  readonly foreign: number;
  /** Largest mean score of a simple strategy on the prompt's numbers. Null where the answer is a program. */
  readonly bestGuess: number | null;
  /** Shares of the generator's draws that were degenerate, and that showed the answer. */
  readonly degenerate: number;
  readonly leaking: number;
  readonly nearMisses: number;
  readonly rate: { readonly tasksPerSecond: number; readonly scoreP99Ms: number };
  /** Each names the probe and an example; none: the row passed. */
  readonly failures: readonly string[];
}
