/** Judges one pair of texts, without a deadline. It runs inside the worker. */
import { type CompareOptions, equivalent } from "./compare/compare.ts";
import type { Expression } from "./values/expression.ts";
import { candidates, type ExtractOptions } from "./answer-text/extract.ts";
import { normalize } from "./answer-text/normalize.ts";
import { MAX_CANDIDATE_LENGTH, parseNormalized } from "./parse/parse.ts";

export interface JudgeOptions extends CompareOptions, ExtractOptions {}

export interface Judgement {
  correct: boolean;
  status: "ok" | "unparsable";
}

interface Reading {
  readonly expression: Expression | null;
  /** The candidate that was read, normalized. */
  readonly text: string | null;
  /** The surest candidate, normalized, whether it was read or not. */
  readonly first: string | null;
}

export function judge(gold: string, answer: string, options: JudgeOptions): Judgement {
  try {
    return judgeTexts(gold, answer, options);
  } catch (error) {
    // Nested deeper than the stack: nothing is known about it.
    if (error instanceof RangeError) return { correct: false, status: "unparsable" };
    throw error;
  }
}

function judgeTexts(gold: string, answer: string, options: JudgeOptions): Judgement {
  const [expected, given] = [read(gold, options), read(answer, options)];
  const isParsed = expected.expression !== null && given.expression !== null;
  if (sameWriting(expected.first, given.first)) return { correct: true, status: isParsed ? "ok" : "unparsable" };
  if (expected.expression === null || given.expression === null) {
    return { correct: false, status: "unparsable" };
  }
  const correct =
    equivalent(expected.expression, given.expression, options) ||
    sameChoice(expected.text ?? "", given.text ?? "") ||
    sameList(expected, given, options);
  return { correct, status: "ok" };
}

/** A letter against the choice with its content: "(D) 5", `\textbf{(D)}\ 5`. */
function sameChoice(gold: string, answer: string): boolean {
  const [a, b] = [gold, answer].map((text) => text.replace(/\\text|[{}]/gu, ""));
  const letter = (text = ""): string | undefined => /^\W*([A-J])\W*$/u.exec(text)?.[1];
  const chosen = (text = ""): string | undefined => /^\W*([A-J])[).:]\s*\S/u.exec(text)?.[1];
  const [gave, other] = letter(a) === undefined ? [letter(b), chosen(a)] : [letter(a), chosen(b)];
  return gave !== undefined && gave === other;
}

/** 12,102 alone is a number with its digits grouped; beside a list or set of as many numbers it is a list. */
function sameList(expected: Reading, given: Reading, options: JudgeOptions): boolean {
  const [a, b] = [expected, given].map(({ expression, text }) => {
    const isList = expression?.kind === "set" || (expression?.kind === "tuple" && expression.brackets === "");
    if (isList) return expression;
    return /^[\s$]*\d{1,3}(?:,\d{3})+[\s$]*$/u.test(text ?? "")
      ? parseNormalized((text ?? "").replaceAll(",", ", "))
      : null;
  });
  const isOneList = (expected.expression?.kind === "number") !== (given.expression?.kind === "number");
  return isOneList && !!a && !!b && equivalent(a, b, options);
}

function read(text: string, options: JudgeOptions): Reading {
  const found = candidates(text, options);
  let first: string | null = null;
  for (const candidate of found) {
    const written = candidate.length > MAX_CANDIDATE_LENGTH ? candidate : normalize(candidate);
    first ??= written;
    const expression = parseNormalized(written);
    if (expression !== null) return { expression, text: written, first };
  }
  return { expression: null, text: first, first };
}

/** Equal texts apart from decoration: then it does not matter that they cannot be parsed. */
function sameWriting(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return false;
  // 2 3 is not 23.
  const plain = (text: string): string =>
    text.replace(/\\text\s*\{([^{}]*)\}/gu, "$1").replace(/(?<!\d)\s+|\s+(?!\d)/gu, "");
  const [left, right] = [plain(a), plain(b)];
  const isWord = /^\p{L}+$/u.test(left);
  return left !== "" && (isWord ? left.toLowerCase() === right.toLowerCase() : left === right);
}
