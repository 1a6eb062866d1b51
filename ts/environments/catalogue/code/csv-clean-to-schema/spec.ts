/** A cleaning task as data: the columns, and which corruptions its files may have. */
import type { CellCorruption } from "./corruptions/cell.ts";
import { DATES } from "./corruptions/dates.ts";
import { type FileCorruption, FILES } from "./corruptions/files.ts";
import { NUMBERS } from "./corruptions/numbers.ts";
import { TEXTS } from "./corruptions/texts.ts";
import type { Column } from "./table.ts";

export interface Corruption {
  readonly id: string;
  readonly setting: string;
}

export interface Spec {
  readonly columns: readonly Column[];
  /** In the order of `ALL`. */
  readonly corruptions: readonly Corruption[];
  /** What a careless reader does not undo. */
  readonly ignored?: string;
  /** Of the files. */
  readonly seed: number;
}

/** In the order in which they happen to a cell. */
export const CELLS: readonly CellCorruption[] = [...TEXTS, ...DATES, ...NUMBERS];
export const ALL: readonly (CellCorruption | FileCorruption)[] = [...CELLS, ...FILES];

const BY_ID = new Map(CELLS.map((one) => [one.id, one]));

/** Settings of what is undone, by corruption. */
export function undoneBy({ corruptions, ignored }: Spec): ReadonlyMap<string, string> {
  return new Map(corruptions.flatMap(({ id, setting }) => (id === ignored ? [] : [[id, setting] as const])));
}

/** Corruptions of a column's cells, in the order of the settings, which is that of `ALL`. */
export function cellCorruptions(
  column: Column,
  settings: ReadonlyMap<string, string>,
): (readonly [one: CellCorruption, setting: string])[] {
  const found: (readonly [CellCorruption, string])[] = [];
  for (const [id, setting] of settings) {
    const one = BY_ID.get(id);
    if (one?.types.includes(column.type) === true) found.push([one, setting]);
  }
  return found;
}

/** Whether cells are found by the names of the header. */
export function isMapped(settings: ReadonlyMap<string, string>): boolean {
  return ["column-order", "header-style", "extra-columns", "byte-order-mark"].some((id) => settings.has(id));
}
