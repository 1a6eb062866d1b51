/**
 * Rows whose answer is one or several named fields: words, numbers, sets, sequences or pairs of marks.
 *
 * A row draws what the prompt states and solves it. Instances that a slip solves as well are dropped, so the naive method never earns the
 * points. An answer with a line that cannot be read earns nothing.
 */
import { sample, shuffled } from "../../random/draws.ts";
import type { Rng } from "../../random/rng.ts";
import { at, linesOf, range } from "./lists.ts";
import { canonicalAnswer } from "./math/exact-answer.ts";
import { defineRow, type Level, type Row } from "./row.ts";

/** `set`, `sequence`: marks, each once, in any order or in this one; `pairs`: a set of two marks with a hyphen each. */
export type FieldKind = "word" | "number" | "set" | "sequence" | "pairs";

export interface Field {
  /** As the prompt calls it: a short word without spaces. */
  readonly name: string;
  readonly kind: FieldKind;
  /** Marks stand in the order of the options, but those of a sequence. */
  readonly value: string;
  /** The words or marks among which the value is. A number has none. */
  readonly options?: readonly string[];
}

export interface Solution {
  readonly fields: readonly Field[];
  /** What plausible slips give for the fields, in their order. */
  readonly slips: readonly (readonly string[])[];
  /** Facts and cases that the solver went through. */
  readonly steps: number;
}

export interface FieldInstance<Given extends object> {
  readonly given: Given;
  readonly solution: Solution;
}

export interface FieldRow<Given extends object> {
  readonly id: string;
  readonly asks: string;
  /** The facts that the prompt states; null where they are degenerate. */
  readonly draw: (rng: Rng, level: Level) => Given | null;
  /** The reference solver; null where the case is not clear. */
  readonly solve: (given: Given) => Solution | null;
  /** Four or more; sentences are chosen with the random numbers. */
  readonly wordings: readonly ((given: Given, rng: Rng) => string)[];
  /** What stands in the answer: behind "where" for several fields, behind "the answer is" for one. */
  readonly values: (given: Given) => string;
  readonly canonical?: (given: Given) => unknown;
  /** Right fields, or marks of a single set, earn a part. Default: all or nothing. */
  readonly isShared?: boolean;
}

const LONGEST_VALUE = 4_000;
const LONGEST_WORD = 60;
/** The wording that states the format before the problem. */
const FORMAT_FIRST = 2;
/** More names than these are shown by their first and last. */
const NAMES_SHOWN = 6;
const CHANGED = 5;
const PAIRS_TRIED = 4;

export function fieldRow<Given extends object>(row: FieldRow<Given>): Row {
  const isShared = row.isShared === true;
  return defineRow<FieldInstance<Given>>({
    id: row.id,
    asks: row.asks,
    place: "answer",
    make: (rng, level) => {
      const given = row.draw(rng, level);
      const solution = given === null ? null : row.solve(given);
      if (given === null || solution === null || !isClear(solution)) return null;
      return { given, solution };
    },
    effort: ({ solution }) => solution.steps,
    canonical: ({ given }) => row.canonical?.(given) ?? given,
    prompts: row.wordings.map((wording, index) => ({ given, solution }, rng) => {
      const text = wording(given, rng);
      const format = formatOf(solution, row.values(given), isShared, rng);
      return index === FORMAT_FIRST ? `${format}\n\n${text}` : `${text}\n\n${format}`;
    }),
    gold: ({ solution }) => written(solution),
    nearMisses: ({ solution }, rng) => missesOf(solution, rng),
    variants: ({ solution }) => variantsOf(solution),
    score: ({ solution }, answer) => scored(solution, answer, isShared),
  });
}

// ---- the answer ----

function written({ fields }: Solution, values: readonly string[] = fields.map(({ value }) => value)): string {
  if (fields.length === 1) return values[0] ?? "";
  return fields.map(({ name }, index) => `${name}: ${at(values, index)}`).join("\n");
}

function missesOf(solution: Solution, rng: Rng): string[] {
  const { fields, slips } = solution;
  const golds = fields.map(({ value }) => value);
  const changed = fields.flatMap((field, index) =>
    othersOf(field, rng).map((value) => golds.map((gold, place) => (place === index ? value : gold))),
  );
  return [...slips, ...sample(changed, CHANGED, rng)].map((values) => written(solution, values));
}

/** Wrong values beside the right one. */
function othersOf({ kind, value, options = [] }: Field, rng: Rng): string[] {
  const marks = value.split(", ");
  const spare = options.filter((option) => !marks.includes(option));
  switch (kind) {
    case "word":
      return sample(spare, 3, rng);
    case "number":
      return [
        `${value}1`,
        `1${value.replace("-", "")}`,
        value === "0" ? "2" : value.startsWith("-") ? value.slice(1) : `-${value}`,
      ];
    case "sequence":
      return [marks.toReversed(), marks.slice(0, -1), [...marks.slice(1), at(marks, 0)]]
        .map((list) => list.join(", "))
        .filter((text) => text !== value && text !== "");
    case "set": {
      const others = [
        marks.slice(1),
        ...sample(spare, 1, rng).flatMap((one) => [
          [...marks, one],
          [...marks.slice(1), one],
        ]),
      ];
      return others.map((list) => list.join(", ")).filter((text) => text !== "");
    }
    case "pairs": {
      const drawn = range(PAIRS_TRIED).map(() => sample(options, 2, rng).join("-"));
      const fresh = drawn.filter(
        (pair) => !marks.includes(pair) && !marks.includes(pair.split("-").toReversed().join("-")),
      );
      return [
        marks.slice(0, -1),
        ...fresh.flatMap((pair) => [
          [...marks, pair],
          [...marks.slice(1), pair],
        ]),
      ]
        .map((list) => list.join(", "))
        .filter((text) => text !== "");
    }
  }
}

function variantsOf(solution: Solution): string[] {
  const { fields } = solution;
  const values = fields.map(({ kind, value }) => {
    if (kind === "sequence") return `[${value}]`;
    if (kind === "set") return value.split(", ").toReversed().join(" ");
    if (kind === "pairs") return value.replaceAll(/([\w]+)-([\w]+)/gu, "$2-$1");
    return value;
  });
  const [first] = fields;
  if (fields.length === 1) return [at(values, 0), `${first?.name}: ${at(values, 0)}`];
  return [
    written(solution, values).split("\n").toReversed().join("\n"),
    fields.map(({ name }, index) => `- ${name} = ${at(values, index)}`).join("\n\n"),
  ];
}

// ---- the verdict ----

function scored(solution: Solution, answer: string, isShared: boolean): number {
  const { fields } = solution;
  const stated = statedIn(solution, answer);
  if (stated === null) return 0;
  const right = fields.filter((field) => stated.get(field.name) === canonicalOf(field, field.value)).length;
  if (right === fields.length) return 1;
  if (!isShared) return 0;
  const [single] = fields;
  if (fields.length === 1 && single !== undefined) return setShare(single, stated.get(single.name) ?? "");
  const base = constantShare(fields);
  return Math.max(0, (right / fields.length - base) / (1 - base)) ** 2;
}

/** A wrong mark costs as much as a right one earns. */
function setShare({ kind, value }: Field, stated: string): number {
  if (kind !== "set" && kind !== "pairs") return 0;
  const gold = new Set(value.split(", "));
  const marks = stated.split(", ");
  const hits = marks.filter((mark) => gold.has(mark)).length;
  return Math.max(0, (hits - (marks.length - hits)) / gold.size);
}

/** The share of fields that one word on every line would get. */
function constantShare(fields: readonly Field[]): number {
  const counts = new Map<string, number>();
  for (const { kind, value } of fields) if (kind === "word") counts.set(value, (counts.get(value) ?? 0) + 1);
  return Math.max(0, ...counts.values()) / fields.length;
}

/** Canonical values by name; null where a line states something else, or a name twice. */
function statedIn({ fields }: Solution, answer: string): Map<string, string> | null {
  const lines = linesOf(answer);
  if (lines.length > fields.length) return null;
  const stated = new Map<string, string>();
  for (const line of lines) {
    const [, name = "", value = ""] = /^(?:[-*]\s+)?`?([\w-]+)`?\s*[:=]\s*(.+)$/u.exec(line) ?? [];
    const named = fields.find((field) => field.name.toLowerCase() === name.toLowerCase());
    const field = named ?? (fields.length === 1 ? fields[0] : undefined);
    const text = field === undefined ? null : canonicalOf(field, named === undefined ? line : value);
    if (field === undefined || text === null || stated.has(field.name)) return null;
    stated.set(field.name, text);
  }
  return stated;
}

/** One text for all ways to write a value; null for what is none of this kind. */
function canonicalOf({ kind, options = [] }: Field, text: string): string | null {
  const bare = text.trim();
  if (bare.length > LONGEST_VALUE) return null;
  if (kind === "number") return canonicalAnswer(bare, "fraction");
  if (kind === "word") {
    if (bare.length > LONGEST_WORD || /[:;=|]/u.test(bare)) return null;
    return bare.replaceAll(/\s+/gu, " ").toLowerCase();
  }
  const marks = bare
    .replace(/^[{[(]([^{}[\]()]*)[}\])]$/u, "$1")
    .trim()
    .split(/\s*,\s*|\s+/u);
  const order = new Map(options.map((option, index) => [option.toLowerCase(), index]));
  const placesOf = (mark: string): number[] => {
    const places = (kind === "pairs" ? mark.split("-") : [mark]).map((one) => order.get(one.toLowerCase()) ?? -1);
    return kind === "pairs" ? places.toSorted((a, b) => a - b) : places;
  };
  const places = marks.map(placesOf);
  const size = kind === "pairs" ? 2 : 1;
  if (places.some((one) => one.length !== size || one.includes(-1) || new Set(one).size < size)) return null;
  if (kind !== "sequence") places.sort((a, b) => at(a, 0) - at(b, 0) || (a[1] ?? 0) - (b[1] ?? 0));
  const texts = places.map((one) => one.map((place) => at(options, place)).join("-"));
  return new Set(texts).size < texts.length ? null : texts.join(", ");
}

/** Every slip misses a field, and no value is missing. */
function isClear({ fields, slips }: Solution): boolean {
  const golds = fields.map((field) => canonicalOf(field, field.value));
  if (golds.some((gold) => gold === null || gold === "")) return false;
  return slips.every((values) =>
    fields.some((field, index) => canonicalOf(field, values[index] ?? "") !== golds[index]),
  );
}

// ---- the format ----

function formatOf({ fields }: Solution, values: string, isShared: boolean, rng: Rng): string {
  const names = fields.map(({ name }) => name);
  const numbers = names.map((name) => Number(name.replace(/^\D+/u, "")));
  const isRange = names.length > NAMES_SHOWN && numbers.every((number, index) => number === index + 1);
  const listed = isRange ? `${names[0]} to ${names.at(-1)}` : names.join(", ");
  const credit = creditOf(fields, isShared);
  const style = rng.integer(4);
  if (fields.length === 1)
    return at(
      [
        `The answer is ${values}, and nothing else. ${credit}`,
        `Answer with ${values}. Nothing else belongs there. ${credit}`,
        `Wanted: ${values}; no other text. ${credit}`,
        `Write only ${values}. ${credit}`,
      ],
      style,
    );
  return at(
    [
      `Write one line for each of ${listed}, as name: value, where ${values}. ${credit}`,
      `The answer has ${names.length} lines "name: value" for ${listed}, and no other text; ${values}. ${credit}`,
      `Give ${listed}, each on a line of the form name: value. Here ${values}. ${credit}`,
      `One line "name: value" is wanted for every one of ${listed}; ${values}. ${credit}`,
    ],
    style,
  );
}

function creditOf(fields: readonly Field[], isShared: boolean): string {
  if (!isShared) return "Only a complete and right answer counts.";
  if (fields.length === 1) return "A wrong entry costs as much as a right one earns.";
  return constantShare(fields) > 0
    ? "Right lines count beyond those that one value for all lines would get."
    : "Every right line earns a part.";
}

// ---- parts of solvers and texts ----

/** The value of a set or sequence. */
export function marked(marks: readonly string[]): string {
  return marks.join(", ");
}

/** `S1`, `S2`, ... */
export function marksOf(letter: string, count: number): string[] {
  return range(count).map((index) => `${letter}${index + 1}`);
}

/** A list of places in which every one of the items stands equally often, as far as that is possible. */
export function balanced<Item>(items: readonly Item[], count: number, rng: Rng): Item[] {
  const order = shuffled(items, rng);
  return shuffled(
    range(count).map((index) => at(order, index % order.length)),
    rng,
  );
}
