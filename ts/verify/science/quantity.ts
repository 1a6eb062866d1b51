/**
 * Physical quantities: a number, perhaps with an uncertainty, and a unit.
 *
 * Compared in SI units. Without another tolerance the gold quantity's own precision counts: its stated uncertainty, else half a unit of its
 * last digit ("9.81 m/s^2" is met by 9.806 m/s^2 and 980.7 cm/s^2, not by 9.8 m/s^2).
 */
import { z } from "zod";

import { checkOptions, only } from "../../options.ts";
import { closedBoxes } from "../math/answer-text/boxes.ts";
import { afterThinking } from "../math/answer-text/extract.ts";
import { sameDimension } from "./dimension.ts";
import { type MeasuredNumber, readNumber } from "./measured-number.ts";
import { plainNotation } from "./notation.ts";
import { NO_UNIT, parseUnit, toSi, type Unit } from "./unit.ts";

export interface Quantity {
  readonly number: MeasuredNumber;
  /** Null when none is written. */
  readonly unit: Unit | null;
}

export type QuantityVerdict =
  | "equal"
  | "different_value"
  | "different_dimension"
  | "missing_unit"
  | "significant_figures"
  | "unparsable";

export interface VerifyQuantityOptions {
  /**
   * How far the answer may be off. `gold`: as far as the gold quantity's uncertainty or last digit says; `both`: the answer's is added, however
   * large it is (not for rewards: `0 ± 10^9` would be right); numbers: relative to the gold value, or absolute in the gold unit (the larger of the
   * two counts). Default `gold`.
   */
  tolerance?: "gold" | "both" | { relative?: number; absolute?: number };
  /** `same`: the answer must have as many significant figures as the gold quantity; a number: as many as that. Default: not looked at. */
  significantFigures?: "same" | number;
  /** Whether an answer without a unit is taken to be in the gold unit. Default false. */
  unitOptional?: boolean;
  /** Temperatures are differences, so that 10 °C is 10 K. Default false. */
  temperatureDifference?: boolean;
}

const fromZero = z.number().nonnegative("must be a number from 0 on");
const optionsSchema = only<VerifyQuantityOptions>({
  tolerance: z
    .union(
      [
        z.enum(["gold", "both"]),
        only<{ relative?: number; absolute?: number }>({
          relative: fromZero.optional(),
          absolute: fromZero.optional(),
        }),
      ],
      'must be "gold", "both" or { relative, absolute } with numbers from 0 on',
    )
    .optional(),
  significantFigures: z.union([z.literal("same"), z.int().positive()], 'must be "same" or a whole number').optional(),
  unitOptional: z.boolean().optional(),
  temperatureDifference: z.boolean().optional(),
});

/** Longer texts are searched only in their last part. */
const MAX_TEXT = 20_000;

/** Reads "3.0e8 m/s", "(5.0 ± 0.1) × 10^3 kg", `1.5\times10^{-3}\,\mathrm{mol/L}`, "F = 12 N". Null for what is none, as a whole. */
export function parseQuantity(text: string): Quantity | null {
  const plain = plainNotation(text).replace(/[.;,]+$/u, "");
  const stated =
    plain
      .split(/[=≈~]|:(?!\s*\d+\s*$)/u)
      .at(-1)
      ?.trim() ?? "";
  const found = readNumber(stated.replace(/^(?:is|about|approximately|around)\s+/iu, ""));
  if (found === null) return null;
  const rest = found.rest.trim();
  if (rest === "") return { number: found.number, unit: null };
  const unit = parseUnit(rest);
  return unit === null ? null : { number: found.number, unit };
}

/**
 * Whether `answer` states the gold quantity. Both are texts: a quantity, or a reply that ends with one (a box, "the answer is", the last
 * line). Never throws for what the texts contain.
 *
 * Errors: PRL_VERIFY_OPTIONS for an option that is out of range.
 */
export function verifyQuantity(
  gold: string,
  answer: string,
  options: VerifyQuantityOptions = {},
): { correct: boolean; verdict: QuantityVerdict } {
  checkOptions("PRL_VERIFY_OPTIONS", "verifyQuantity", optionsSchema, options);
  const verdict = judge(goldQuantity(gold), quantityIn(answer), options);
  return { correct: verdict === "equal", verdict };
}

function judge(gold: Quantity | null, answer: Quantity | null, options: VerifyQuantityOptions): QuantityVerdict {
  if (gold === null || answer === null) return "unparsable";
  const asStep = (unit: Unit): Unit => (options.temperatureDifference === true ? { ...unit, offset: 0 } : unit);
  const goldUnit = asStep(gold.unit ?? NO_UNIT);
  const answerUnit = answer.unit === null && options.unitOptional === true ? goldUnit : asStep(answer.unit ?? NO_UNIT);
  if (!sameDimension(goldUnit.dimension, answerUnit.dimension))
    return answer.unit === null ? "missing_unit" : "different_dimension";
  const expected = toSi(gold.number.value, goldUnit);
  const difference = Math.abs(toSi(answer.number.value, answerUnit) - expected);
  const allowed = allowedDifference(gold, answer, { goldUnit, answerUnit }, options.tolerance ?? "gold");
  // Doubles lose this much in two conversions, and a difference may be exactly half a unit.
  const slack = 1e-12 * Math.max(Math.abs(expected), goldUnit.offset * goldUnit.factor);
  if (!(difference <= allowed * (1 + 1e-9) + slack)) return "different_value";
  return hasFigures(gold.number, answer.number, options.significantFigures) ? "equal" : "significant_figures";
}

function allowedDifference(
  gold: Quantity,
  answer: Quantity,
  { goldUnit, answerUnit }: { goldUnit: Unit; answerUnit: Unit },
  tolerance: NonNullable<VerifyQuantityOptions["tolerance"]>,
): number {
  const own = ({ uncertainty, halfUnit }: MeasuredNumber, unit: Unit): number =>
    (uncertainty ?? halfUnit) * unit.factor;
  if (tolerance === "gold") return own(gold.number, goldUnit);
  if (tolerance === "both") return own(gold.number, goldUnit) + own(answer.number, answerUnit);
  const { relative = 0, absolute = 0 } = tolerance;
  return Math.max(relative * Math.abs(toSi(gold.number.value, goldUnit)), absolute * goldUnit.factor);
}

function hasFigures(
  gold: MeasuredNumber,
  answer: MeasuredNumber,
  wanted: VerifyQuantityOptions["significantFigures"],
): boolean {
  if (wanted === undefined) return true;
  const [least, most] = wanted === "same" ? [gold.figures, gold.figures + gold.ambiguousZeros] : [wanted, wanted];
  return answer.figures <= most && answer.figures + answer.ambiguousZeros >= least;
}

/** A gold text is a quantity or has one in a box: what is only half understood is nothing to compare with. */
function goldQuantity(text: string): Quantity | null {
  return parseQuantity(text) ?? parseQuantity(closedBoxes(text).at(-1)?.content ?? "");
}

/** The quantity that a text is, or that it ends with: in its last box, behind "answer is", or in its last line. */
function quantityIn(text: string): Quantity | null {
  const whole = text.length > MAX_TEXT ? null : parseQuantity(text);
  if (whole !== null) return whole;
  const reply = afterThinking(text.slice(-MAX_TEXT));
  if (reply === null) return null;
  const box = closedBoxes(reply).at(-1)?.content;
  const phrase = [...reply.matchAll(/\banswer(?:\s+is\b|\s*[:=])\s*:?\s*(.+)/giu)].at(-1)?.[1];
  const line = reply.trimEnd().split("\n").at(-1);
  for (const place of [box, phrase, line]) {
    const found = place === undefined ? null : (parseQuantity(place) ?? atItsEnd(place));
    if (found !== null) return found;
  }
  return null;
}

/** The last number in a line and the longest unit behind it. */
function atItsEnd(line: string): Quantity | null {
  const plain = plainNotation(line);
  const starts = [...plain.matchAll(/(?<![\p{L}\d.^,-])-?(?:\d|\.\d|10\^)/gu)].map(({ index }) => index);
  for (const start of starts.reverse()) {
    const found = readNumber(plain.slice(start));
    if (found === null) continue;
    const words = found.rest.split(/(?<=\S)\s+|[.,;:!?)](?=\s|$)/u).filter((word) => word.trim() !== "");
    for (let count = Math.min(words.length, 6); count > 0; count--) {
      const unit = parseUnit(words.slice(0, count).join(" "));
      if (unit !== null) return { number: found.number, unit };
    }
    // A number inside an exponent or a formula does not count.
    if (!/^\s*[\^*/×]/u.test(found.rest)) return { number: found.number, unit: null };
  }
  return null;
}
