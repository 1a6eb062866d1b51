/** Compares answers with gold texts, or with numbers within a tolerance. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { checkOptions, number, only } from "../../options.ts";
import { readNumber } from "../science/index.ts";
import { stripThinking } from "../strip-thinking.ts";

export interface ExactMatchOptions {
  /** Default false. */
  ignoreCase?: boolean;
  /** Leaves out everything but letters, digits, signs and spaces. Default false. */
  ignorePunctuation?: boolean;
  /** Leaves out "a", "an" and "the". Default false. */
  ignoreArticles?: boolean;
}

const exactSchema = only<ExactMatchOptions>({
  ignoreCase: z.boolean().optional(),
  ignorePunctuation: z.boolean().optional(),
  ignoreArticles: z.boolean().optional(),
});

/**
 * Whether the answer is the gold text, or one of several. Compared in Unicode's compatibility form (NFKC), with white space at the ends left out
 * and runs of it as one space. A text that is empty after that matches only an empty gold text.
 *
 * Errors: PRL_VERIFY_OPTIONS.
 */
export function exactMatch(gold: string | readonly string[], answer: string, options: ExactMatchOptions = {}): boolean {
  checkOptions("PRL_VERIFY_OPTIONS", "exactMatch", exactSchema, options);
  const normal = (text: string): string => normalized(text, options);
  return (typeof gold === "string" ? [gold] : gold).some((one) => normal(one) === normal(answer));
}

function normalized(text: string, { ignoreCase, ignorePunctuation, ignoreArticles }: ExactMatchOptions): string {
  let normal = text.normalize("NFKC");
  if (ignoreCase === true) normal = normal.toLowerCase();
  if (ignorePunctuation === true) normal = normal.replace(/\p{P}/gu, " ");
  if (ignoreArticles === true) normal = normal.replace(/(?<![\p{L}\p{N}])(?:an?|the)(?![\p{L}\p{N}])/giu, " ");
  return normal.replace(/\s+/gu, " ").trim();
}

export interface NumericMatchOptions {
  /** Relative to the gold number. Default 1e-6. */
  relative?: number;
  /** Default 0. The larger of the two counts. */
  absolute?: number;
}

const numericSchema = only<NumericMatchOptions>({ relative: number.optional(), absolute: number.optional() });

const NUMBER_START = /(?<![\p{L}\d.,^])[-+−]?(?:\d|\.\d)/gu;

/**
 * Whether the answer is a number close to the gold one, or ends with it: "1,234.5", "−3e-4", "2 × 10^5", "... = 42.". `unparsable`: one of
 * them has no number.
 *
 * Errors: PRL_VERIFY_OPTIONS for an invalid tolerance.
 */
export function numericMatch(
  gold: number | string,
  answer: string,
  options: NumericMatchOptions = {},
): { correct: boolean; status: "ok" | "unparsable" } {
  checkOptions("PRL_VERIFY_OPTIONS", "numericMatch", numericSchema, options);
  const { relative = 1e-6, absolute = 0 } = options;
  if (!(relative >= 0 && absolute >= 0)) {
    throw new PrlError("PRL_VERIFY_OPTIONS", `relative ${relative}, absolute ${absolute}: expected numbers from 0 on`);
  }
  const expected = typeof gold === "number" ? gold : lastNumber(gold);
  const given = lastNumber(stripThinking(answer, { strict: false }));
  if (expected === null || given === null || !Number.isFinite(expected))
    return { correct: false, status: "unparsable" };
  const allowed = Math.max(absolute, relative * Math.abs(expected));
  return { correct: Math.abs(given - expected) <= allowed, status: "ok" };
}

function lastNumber(text: string): number | null {
  const whole = text.length > MAX_TEXT ? null : readNumber(text.trim());
  if (whole !== null && whole.rest.trim() === "") return whole.number.value;
  // A number inside a longer one, as 10 in 2 × 10^5, is part of that.
  let found: number | null = null;
  let end = 0;
  for (const { index } of text.slice(-MAX_TEXT).matchAll(NUMBER_START)) {
    if (index < end) continue;
    const rest = text.slice(-MAX_TEXT).slice(index);
    const read = readNumber(rest);
    if (read === null) continue;
    found = read.number.value;
    end = index + Math.max(1, rest.length - read.rest.length);
  }
  return found;
}

/** Longer texts are searched only in their last part. */
const MAX_TEXT = 2000;
