/** What may happen to a cell, as a change with an inverse in TypeScript and in Python. */
import type { Rng } from "../../../../../random/rng.ts";
import type { Column, ColumnType } from "../table.ts";

export interface CellCorruption {
  readonly id: string;
  readonly types: readonly ColumnType[];
  /** Of corruptions with the same word, one instance has one. */
  readonly group?: string;
  /** What differs between instances, such as a sign. */
  readonly draw?: (rng: Rng) => string;
  /** What the data dictionary says of it. */
  readonly note: (setting: string) => string;
  /** Null where it does not apply to the cell. */
  readonly dirty: (cell: string, setting: string, context: CellContext) => string | null;
  /** Leaves other cells as they are. */
  readonly clean: (cell: string, setting: string, context: CellContext) => string;
  /** Statements on `cell`, of which `codes` and `unit` are known. */
  readonly python: (setting: string, column: Column) => readonly string[];
}

export interface CellContext {
  readonly column: Column;
  readonly rng: Rng | null;
}
