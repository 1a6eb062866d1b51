/**
 * Subjects: small programs with a specification in prose, which rows ask to test or to repair.
 *
 * A subject is data. Its kind prints the prose and a Python implementation, runs it in this process, and lists its mutants, which are
 * subjects with one change. Implementations of one subject differ in style and in what the specification leaves open.
 */
import type { Rng } from "../../../../random/rng.ts";
import type { Level } from "../../row.ts";
import type { Json } from "../json.ts";

/** Arguments of one call, or the calls on one object. */
export type Input = readonly Json[];

/** What takes the place of a result where a ValueError is raised. */
export const ERROR = { error: true } as const;

/** A way to write an implementation. */
export interface Style {
  /** Chooses between equivalent forms. */
  readonly rng: Rng;
  /** What it does where the specification says nothing: refuse, go on as if all were well, or do odd things. */
  readonly open: "strict" | "plain" | "odd";
}

export interface Mutant<Spec> {
  /** Kind of the change, such as `boundary` or `order`. */
  readonly operator: string;
  readonly spec: Spec;
}

export interface SubjectKind<Spec extends object> {
  readonly id: string;
  /** Name of the function or class. */
  readonly name: (spec: Spec) => string;
  readonly draw: (rng: Rng, level: Level) => Spec;
  /** How it is called, its domain, and what is left open. */
  readonly head: (spec: Spec) => string;
  readonly rules: (spec: Spec) => string[];
  readonly python: (spec: Spec, style: Style) => string;
  readonly run: (spec: Spec, input: Input) => Json;
  /** An input as somebody draws it who has not read the rules. */
  readonly anyInput: (spec: Spec, rng: Rng) => Input;
  /** An input near the bounds of the rules. */
  readonly edgeInput: (spec: Spec, rng: Rng) => Input;
  readonly mutants: (spec: Spec) => Mutant<Spec>[];
  /** Lines of a Python test that fails unless the input has this result. */
  readonly test: (spec: Spec, input: Input, result: Json) => string[];
}

/** The lines of a Python test of one call. */
export function testOfCall(call: string, result: Json, literal: (value: Json) => string): string[] {
  if (!isError(result)) return [`assert ${call} == ${literal(result)}`];
  return [
    "try:",
    `    ${call}`,
    "except ValueError:",
    "    pass",
    "else:",
    '    raise AssertionError("no ValueError")',
  ];
}

export function isError(result: Json): boolean {
  return typeof result === "object" && result !== null && "error" in result;
}

/** All lists in which one item is replaced by one of its changes; an empty change leaves the item out. */
export function replacedItems<Item>(
  items: readonly Item[],
  changes: (item: Item) => readonly { operator: string; item: Item | null }[],
): { operator: string; items: Item[] }[] {
  return items.flatMap((one, index) =>
    changes(one).map(({ operator, item }) => ({
      operator,
      items: [...items.slice(0, index), ...(item === null ? [] : [item]), ...items.slice(index + 1)],
    })),
  );
}

/** All lists in which two neighbours have changed places. */
export function swappedItems<Item>(items: readonly Item[]): Item[][] {
  return items.slice(1).map((item, index) => {
    const other = items[index];
    return [...items.slice(0, index), item, ...(other === undefined ? [] : [other]), ...items.slice(index + 2)];
  });
}
