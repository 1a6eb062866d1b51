/** What an instance of rest-goal-agent holds: an API that was drawn, its records, and the goals. */

/** Properties of an API that a client has to respect. */
export const QUIRKS = [
  /** Requests need a token, which is valid for a number of requests. */
  "session",
  /** A change needs the current version of the record. */
  "versions",
  /** A change replaces the record: what its body leaves out is reset. */
  "replace",
  /** Lists show an older state for some requests after a change. */
  "stale",
  /** With a record all records below it are deleted; otherwise it cannot be deleted while there are any. */
  "cascade",
  /** Creating and deleting happen some requests later. */
  "jobs",
  /** Amounts are in hundredths. */
  "minor",
  /** The lowest records are reached through the records above them only. */
  "nested",
  /** Some records are locked; they have to be locked again in the end. */
  "locks",
  /** Lists show ids and names only. */
  "summary",
] as const;
export type Quirk = (typeof QUIRKS)[number];

/** What a client neglects: some properties of the API, or one of the others. */
export type Neglect =
  | Extract<Quirk, "session" | "versions" | "replace" | "jobs" | "minor" | "locks">
  | "pages"
  | "condition"
  | "conditions"
  | "last goal"
  | "below";

export interface Kind {
  readonly plural: string;
  readonly singular: string;
  /** A field with one of some values. */
  readonly choice: string;
  readonly options: readonly string[];
}

export interface Api {
  /** From the highest to the lowest. */
  readonly kinds: readonly [Kind, Kind, Kind];
  /** The lowest records have an amount under this name. */
  readonly amount: string;
  readonly quirks: readonly Quirk[];
  readonly paging: "page" | "cursor";
  readonly pageSize: number;
  /** Requests for which a token is valid. */
  readonly tokenLife: number;
  /** Requests after which lists are rebuilt, and those after which a job is done. */
  readonly lag: number;
}

export type Level = 0 | 1 | 2;
export type Fields = Readonly<Record<string, string | number | null>>;

export interface ApiRecord {
  readonly id: string;
  /** Place of its kind. */
  readonly level: Level;
  readonly name: string;
  readonly parent: string | null;
  readonly fields: Fields;
  readonly locked: boolean;
}

/** Conditions are about the records at the beginning; records are named, and names are unique. */
export type Goal =
  /** The amount of every lowest record with this choice, below middle records with that choice. */
  | { readonly goal: "set"; readonly choice: string; readonly above: string; readonly amount: number }
  /** No middle record with this choice below a highest record; what is below it belongs to another middle record. */
  | { readonly goal: "clear"; readonly top: string; readonly choice: string; readonly heir: string }
  /** A middle record that does not exist yet. */
  | { readonly goal: "found"; readonly top: string; readonly name: string; readonly choice: string }
  /** A lowest record that does not exist yet. */
  | {
      readonly goal: "add";
      readonly middle: string;
      readonly name: string;
      readonly choice: string;
      readonly amount: number;
    }
  /** The choice of a highest record. */
  | { readonly goal: "mark"; readonly top: string; readonly choice: string };

export interface Instance {
  readonly api: Api;
  readonly records: readonly ApiRecord[];
  readonly goals: readonly Goal[];
  readonly key: string;
  /** Names for tokens, jobs and new records, in the order of their making. */
  readonly tokens: readonly string[];
  readonly jobs: readonly string[];
  readonly fresh: readonly string[];
  /** Requests that are answered. */
  readonly budget: number;
  /** What a client must not neglect here. */
  readonly traps: readonly Neglect[];
}

export function hasQuirk({ quirks }: Api, quirk: Quirk): boolean {
  return quirks.includes(quirk);
}

/** The name of the field that refers to the record above. */
export function referenceOf(api: Api, level: Level): string | null {
  return level === 0 ? null : `${api.kinds[level === 1 ? 0 : 1].singular}_id`;
}

/** Names of the fields of a kind, without its name and reference. */
export function fieldsOf(api: Api, level: Level): string[] {
  return level === 2 ? [api.kinds[2].choice, api.amount] : [api.kinds[level].choice];
}
