/** A function with options that are right but for those given, the code that it refuses with, and values that it refuses by key. */
export interface OptionRow {
  readonly code: string;
  readonly call: (options: object) => unknown;
  readonly wrong: Readonly<Record<string, unknown>>;
}

/** By the function's name, with what of it is meant behind a space where it takes several objects. */
export type OptionTable = Readonly<Record<string, OptionRow>>;
