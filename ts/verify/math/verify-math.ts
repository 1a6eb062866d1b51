/** Mathematical answers: compares two, and finds the answer in a text. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { checkOptions, number, only } from "../../options.ts";
import { checkDeadline, DeadlineThread, LATE } from "../deadline-thread.ts";
import type { ExtractOptions } from "./answer-text/extract.ts";
import type { Judgement } from "./judge.ts";
import type { Pair } from "./worker.ts";

export interface VerifyMathOptions {
  /** Places where answers are searched. Default: everywhere. */
  targets?: ExtractOptions["targets"];
  /** Decimal digits in which a rounded number has to agree, absolutely and relatively. Default 6. */
  precision?: number;
  /** Symbols have to have the same names. Default true. */
  strict?: boolean;
  /** An inequality may stand for a gold interval. Default true. */
  allowSetRelations?: boolean;
  /** Whether a box comes before every phrase, in the usual order, or never. Default "normal". */
  boxedPriority?: ExtractOptions["boxedPriority"];
  /** Time for one pair. Default 2000. */
  deadlineMs?: number;
}

/** `unparsable`: gold or answer is no mathematics that we know; then `correct` says whether they are written alike. */
export interface MathVerdict {
  correct: boolean;
  status: Judgement["status"] | "timeout";
}

const TARGETS: ExtractOptions["targets"] = ["boxed", "phrase", "latex", "number", "whole"];
const PRIORITIES: readonly ExtractOptions["boxedPriority"][] = ["first", "normal", "never"];
const optionsSchema = only<VerifyMathOptions>({
  targets: z.unknown().optional(),
  precision: number.optional(),
  strict: z.boolean().optional(),
  allowSetRelations: z.boolean().optional(),
  boxedPriority: z.unknown().optional(),
  deadlineMs: number.optional(),
});
let thread: DeadlineThread<Pair, Judgement> | undefined;

/**
 * Whether `answer` equals `gold` in meaning. Both are texts: plain, LaTeX, with a box, or a whole reply. It runs in a separate thread,
 * never longer than `deadlineMs`, and never rejects for what the texts contain.
 *
 * Errors: PRL_VERIFY_OPTIONS for an option that is out of range.
 */
export async function verifyMath(gold: string, answer: string, options: VerifyMathOptions = {}): Promise<MathVerdict> {
  checkOptions("PRL_VERIFY_OPTIONS", "verifyMath", optionsSchema, options);
  const { targets = TARGETS, precision = 6, strict = true, allowSetRelations = true } = options;
  const { boxedPriority = "normal", deadlineMs = 2000 } = options;
  if (!Number.isInteger(precision) || precision < 0 || precision > 15) {
    throw new PrlError("PRL_VERIFY_OPTIONS", `precision: expected a whole number from 0 to 15, got ${precision}`);
  }
  if (!Array.isArray(targets) || targets.length === 0 || targets.some((target) => !TARGETS.includes(target))) {
    throw new PrlError(
      "PRL_VERIFY_OPTIONS",
      `targets: expected a list of some of ${TARGETS.join(", ")}, got ${JSON.stringify(targets)}`,
    );
  }
  if (!PRIORITIES.includes(boxedPriority)) {
    throw new PrlError(
      "PRL_VERIFY_OPTIONS",
      `boxedPriority: expected one of ${PRIORITIES.join(", ")}, got ${JSON.stringify(boxedPriority)}`,
    );
  }
  checkDeadline(deadlineMs);
  thread ??= new DeadlineThread(new URL("./worker.js", import.meta.url));
  const judgeOptions = { targets, precision, strict, allowSetRelations, boxedPriority };
  const judgement = await thread.run({ gold, answer, options: judgeOptions }, deadlineMs);
  return judgement === LATE ? { correct: false, status: "timeout" } : judgement;
}
