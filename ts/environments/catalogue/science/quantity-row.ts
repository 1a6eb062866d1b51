/**
 * Rows whose answer is one or several physical quantities, with words beside them where a case has to be named.
 *
 * A row draws what the prompt states and solves it. Instances that a slip solves as well are dropped, so the naive method never earns the
 * points. verifyQuantity decides on each value: any unit of the right dimension, within the tolerance that the prompt states.
 */
import type { Rng } from "../../../random/rng.ts";
import { parseQuantity, roundToFigures, verifyQuantity } from "../../../verify/index.ts";
import { at, linesOf, range } from "../lists.ts";
import { defineRow, type Level, type Row } from "../row.ts";

/** One value that is asked for. */
export interface Part {
  /** As the prompt calls it: a short word without spaces. */
  readonly name: string;
  readonly value: number;
  /** As parseUnit reads it; "" for a pure number. */
  readonly unit: string;
  /** Relative error that counts as right; default 0.01. For scales with another zero it must be 0. */
  readonly relative?: number;
  /** Absolute error, in the unit, that counts as right too. */
  readonly absolute?: number;
  /** A difference of temperatures, of which 1 °C is 1 K. */
  readonly isStep?: boolean;
}

/** A case that is asked for by name. */
export interface Word {
  readonly name: string;
  readonly value: string;
  readonly options: readonly string[];
}

export interface Solution {
  readonly parts: readonly Part[];
  readonly words?: readonly Word[];
  /** What plausible slips give for the parts, in their order. */
  readonly slips: readonly (readonly number[])[];
  /** Equations and cases that the solver went through. */
  readonly steps: number;
}

export interface QuantityInstance<Given extends object> {
  readonly given: Given;
  readonly solution: Solution;
  /** A sentence with data that no law here needs; empty at level 1. */
  readonly aside: string;
}

export interface QuantityRow<Given extends object> {
  readonly id: string;
  readonly asks: string;
  /** What the prompt states; null where it is degenerate. */
  readonly draw: (rng: Rng, level: Level) => Given | null;
  /** The reference solver; null where the case is not clear. */
  readonly solve: (given: Given) => Solution | null;
  /** Four or more. They name every part. `aside` is empty or a sentence. */
  readonly wordings: readonly ((given: Given, aside: string) => string)[];
  readonly asides: readonly string[];
  /** Some right values earn the square of their share; words must be right. Default: all or nothing. */
  readonly isShared?: boolean;
}

const RELATIVE = 0.01;
/** A slip has to miss by this many tolerances. */
const CLEAR_MISS = 2;
const FIGURES = 6;
const LONGEST_VALUE = 200;
/** The wording that states the format before the problem. */
const FORMAT_FIRST = 2;

export function quantityRow<Given extends object>(row: QuantityRow<Given>): Row {
  const isShared = row.isShared === true;
  return defineRow<QuantityInstance<Given>>({
    id: row.id,
    asks: row.asks,
    place: "answer",
    make: (rng, level) => {
      const given = row.draw(rng, level);
      const solution = given === null ? null : row.solve(given);
      if (given === null || solution === null || !isClear(solution)) return null;
      return { given, solution, aside: level === 1 ? "" : rng.pick(row.asides) };
    },
    effort: ({ solution }) => solution.steps,
    canonical: ({ given }) => given,
    prompts: row.wordings.map((wording, index) => ({ given, solution, aside }, rng) => {
      const text = wording(given, aside).replaceAll(/ {2,}/gu, " ");
      const format = formatOf(solution, isShared, rng);
      return index === FORMAT_FIRST ? `${format}\n\n${text}` : `${text}\n\n${format}`;
    }),
    gold: ({ solution }) => written(solution),
    nearMisses: ({ solution }, rng) => missesOf(solution, rng),
    variants: ({ solution }) => variantsOf(solution),
    score: ({ solution }, answer) => scored(solution, answer, isShared),
  });
}

// ---- the answer ----

function textOf({ value, unit }: Pick<Part, "value" | "unit">): string {
  return `${roundToFigures(value, FIGURES)} ${unit}`.trim();
}

function isSingle({ parts, words = [] }: Solution): boolean {
  return parts.length === 1 && words.length === 0;
}

/** The answer with other values or words in place of the right ones. */
function written(solution: Solution, values: readonly number[] = [], words: readonly string[] = []): string {
  const texts = solution.parts.map((part, index) => textOf({ unit: part.unit, value: values[index] ?? part.value }));
  if (isSingle(solution)) return texts.join("");
  return [
    ...solution.parts.map(({ name }, index) => `${name} = ${at(texts, index)}`),
    ...(solution.words ?? []).map(({ name, value }, index) => `${name} = ${words[index] ?? value}`),
  ].join("\n");
}

function missesOf(solution: Solution, rng: Rng): string[] {
  const { parts, words = [], slips } = solution;
  const wrong = rng.integer(parts.length);
  const replaced = (change: (part: Part) => Part): string =>
    written({ ...solution, parts: parts.map((part, index) => (index === wrong ? change(part) : part)) });
  const otherWords = words.map((word, index) => {
    const other = rng.pick(word.options.filter((option) => option !== word.value));
    return written(
      solution,
      [],
      words.map(({ value }, place) => (place === index ? other : value)),
    );
  });
  return [
    ...slips.map((values) => written(solution, values)),
    ...otherWords,
    replaced((part) => ({ ...part, value: part.value + 4 * toleranceOf(part) })),
    replaced((part) => ({ ...part, value: part.value * 1000 + 4 * toleranceOf(part) })),
    replaced((part) => ({ ...part, unit: `${part.unit} s`.trim() })),
  ];
}

function variantsOf(solution: Solution): string[] {
  const { parts, words = [] } = solution;
  const lines = written(solution).split("\n");
  const powers = parts.map(
    ({ value, unit }) => `${value.toExponential(5).replace("e", " × 10^").replace("+", "")} ${unit}`,
  );
  if (isSingle(solution)) return [`${parts[0]?.name} = ${lines[0]}`, powers.join("").trim()];
  const named = parts.map(({ name }, index) => `${name}: ${at(powers, index).trim()}`);
  return [
    lines.toReversed().join("\n"),
    [...named, ...words.map(({ name, value }) => `${name}: ${value}`)].join("\n\n"),
  ];
}

// ---- the verdict ----

function scored(solution: Solution, answer: string, isShared: boolean): number {
  const { parts, words = [] } = solution;
  const stated = statedIn(solution, answer);
  if (stated === null) return 0;
  if (words.some(({ name, value }) => stated.get(name)?.toLowerCase() !== value.toLowerCase())) return 0;
  const right = parts.filter((part) => isRight(part, stated.get(part.name) ?? "")).length;
  if (right === parts.length) return 1;
  return isShared ? (right / parts.length) ** 2 : 0;
}

/** Texts by name; null where a line states something else, or a name twice. */
function statedIn(solution: Solution, answer: string): Map<string, string> | null {
  const names = [...solution.parts, ...(solution.words ?? [])].map(({ name }) => name);
  const lines = linesOf(answer);
  if (lines.length > names.length) return null;
  const stated = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = /^(?:[-*]\s+)?`?([\w']+)`?\s*[=:≈]\s*(.+)$/u.exec(line) ?? [];
    const known = isSingle(solution) && (name === undefined || !names.includes(name)) ? names[0] : name;
    const text = known === name ? value : line;
    if (known === undefined || text === undefined || !names.includes(known) || stated.has(known)) return null;
    stated.set(known, text.trim());
  }
  return stated;
}

function isRight(part: Part, text: string): boolean {
  // One value: parseQuantity would take the last one of a chain.
  if (text.length > LONGEST_VALUE || /[=≈~:]/u.test(text) || parseQuantity(text) === null) return false;
  const { relative = RELATIVE, absolute = 0, isStep = false } = part;
  const options = { tolerance: { relative, absolute }, temperatureDifference: isStep };
  return verifyQuantity(textOf(part), text, options).correct;
}

function toleranceOf({ value, relative = RELATIVE, absolute = 0 }: Part): number {
  return Math.max(relative * Math.abs(value), absolute);
}

/** Every value is finite and away from zero where errors are relative, and every slip misses one by far. */
function isClear({ parts, slips }: Solution): boolean {
  const isPlain = parts.every((part) => Number.isFinite(part.value) && toleranceOf(part) > 1e-15);
  return (
    isPlain &&
    slips.every(
      (values) =>
        values.every(Number.isFinite) &&
        parts.some((part, index) => Math.abs(at(values, index) - part.value) > CLEAR_MISS * toleranceOf(part)),
    )
  );
}

// ---- the format ----

function formatOf(solution: Solution, isShared: boolean, rng: Rng): string {
  const { parts, words = [] } = solution;
  const tolerance = toleranceText(parts);
  if (isSingle(solution)) {
    const unit = parts[0]?.unit === "" ? "a pure number" : "a number with its unit";
    return at(
      [
        `State ${parts[0]?.name} as ${unit}; ${tolerance} is accepted.`,
        `The answer is ${unit}, nothing else (${tolerance}).`,
        `Write ${parts[0]?.name} as ${unit}. Accepted: ${tolerance}.`,
        `One value is wanted: ${unit}, correct to ${tolerance}.`,
      ],
      rng.integer(4),
    );
  }
  const names = [...parts, ...words].map(({ name }) => name).join(", ");
  const options = words.map(({ name, options: all }) => ` For ${name} write one of: ${all.join(", ")}.`).join("");
  const credit = isShared ? "Every right value earns a part." : "Only all of them together count.";
  return at(
    [
      `Give ${names}, each on a line, as name = number unit. Accepted: ${tolerance}.${options} ${credit}`,
      `The answer has ${parts.length + words.length} lines of the form name = value with unit, for ${names}.${options} Errors up to ${tolerance} do not matter. ${credit}`,
      `Wanted: ${names}. One line each, name = value, numbers with their units, correct to ${tolerance}.${options} ${credit}`,
      `Write a line "name = number unit" for every one of ${names} (${tolerance}).${options} ${credit}`,
    ],
    rng.integer(4),
  );
}

/** "1 % (T: 0.2 °C)". */
function toleranceText(parts: readonly Part[]): string {
  const relatives = [...new Set(parts.map(({ relative = RELATIVE }) => relative))].filter((value) => value > 0);
  const own = range(parts.length).flatMap((index) => {
    const { name, relative = RELATIVE, absolute, unit } = at(parts, index);
    if (absolute !== undefined) return [`${name}: ${relative > 0 ? "or " : ""}${absolute} ${unit}`.trim()];
    return relatives.length > 1 ? [`${name}: ${percent(relative)}`] : [];
  });
  const common = relatives.length === 1 ? percent(at(relatives, 0)) : "";
  if (own.length === 0) return common;
  return common === "" ? own.join(", ") : `${common} (${own.join(", ")})`;
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
