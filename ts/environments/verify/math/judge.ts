/** One pair from texts to verdict, without any deadline of its own. Runs inside the worker. */
import { type CompareOptions, equivalent } from "./compare.ts";
import type { Expression } from "./expression.ts";
import { candidates, type ExtractOptions } from "./extract.ts";
import { normalize } from "./normalize.ts";
import { parse } from "./parse.ts";

export interface JudgeOptions extends CompareOptions, ExtractOptions {}

export interface Judgement {
  correct: boolean;
  status: "ok" | "unparsable";
}

interface Reading {
  readonly expression: Expression | null;
  /** The surest candidate, as it was written. */
  readonly text: string | null;
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
  if (expected.expression === null || given.expression === null) {
    return { correct: sameWriting(expected.text, given.text), status: "unparsable" };
  }
  const correct =
    equivalent(expected.expression, given.expression, options) || sameChoice(expected.text ?? "", given.text ?? "");
  return { correct, status: "ok" };
}

/** A gold letter against a choice that is answered with its content: "(D) 5", `\textbf{(D)}\ 5`. */
function sameChoice(gold: string, answer: string): boolean {
  const letter = /^\W*([A-J])\W*$/u.exec(normalize(gold).replace(/\\text|[{}]/gu, ""))?.[1];
  const chosen = /^\W*([A-J])[).:]\s*\S/u.exec(normalize(answer).replace(/\\text|[{}]/gu, ""))?.[1];
  return letter !== undefined && letter === chosen;
}

function read(text: string, options: JudgeOptions): Reading {
  const found = candidates(text, options);
  for (const candidate of found) {
    const expression = parse(candidate);
    if (expression !== null) return { expression, text: candidate };
  }
  return { expression: null, text: found[0] ?? null };
}

/** Equal to the letter apart from decoration: then it does not matter that we cannot read it. */
function sameWriting(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return false;
  const plain = (text: string): string => normalize(text).replace(/\s+/gu, "");
  return plain(a) === plain(b) && plain(a) !== "";
}
