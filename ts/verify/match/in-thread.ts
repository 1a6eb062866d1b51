/** Runs untrusted regular expressions in a thread with a deadline. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { checkOptions, number, only } from "../../options.ts";
import { checkDeadline, DeadlineThread, LATE } from "../deadline-thread.ts";
import type { JsonProblem } from "./json-schema.ts";
import type { MatchJob, MatchResult } from "./worker.ts";

export interface MatchPatternOptions {
  /** JavaScript's flags; `u` is always set. Default none. */
  flags?: string;
  /** Whether the whole text has to match, or a part of it. Default "part". */
  mode?: "part" | "whole";
  /** Default 1000. */
  deadlineMs?: number;
}

export interface PatternVerdict {
  matched: boolean;
  /** Matches that do not overlap; for `whole` 0 or 1. */
  count: number;
  status: "ok" | "invalid_pattern" | "timeout";
}

const patternSchema = only<MatchPatternOptions>({
  flags: z.string().optional(),
  mode: z.enum(["part", "whole"]).optional(),
  deadlineMs: number.optional(),
});

let thread: DeadlineThread<MatchJob, MatchResult> | undefined;

/** Errors: PRL_VERIFY_OPTIONS for invalid flags or an invalid deadline. */
export async function matchPattern(
  pattern: string,
  text: string,
  options: MatchPatternOptions = {},
): Promise<PatternVerdict> {
  checkOptions("PRL_VERIFY_OPTIONS", "matchPattern", patternSchema, options);
  const { flags = "", mode = "part", deadlineMs = 1000 } = options;
  if (!/^[imsu]*$/u.test(flags)) {
    throw new PrlError("PRL_VERIFY_OPTIONS", `flags: expected some of i, m, s and u, got ${JSON.stringify(flags)}`);
  }
  const result = await inThread({ kind: "pattern", pattern, flags, mode, text }, deadlineMs);
  if (result === LATE) return { matched: false, count: 0, status: "timeout" };
  if (result.kind !== "pattern") throw new PrlError("PRL_VERIFY_FAILED", "the thread answered another question");
  return { matched: result.count > 0, count: result.count, status: result.status };
}

export interface SchemaVerdict {
  valid: boolean;
  /** At most ten reasons why it does not match. */
  problems: readonly JsonProblem[];
  status: "ok" | "not_json" | "timeout";
}

/**
 * Whether a text is JSON that a JSON Schema allows; a Markdown fence around it is removed. `validateJson` documents the known keywords and
 * the treatment of others. Patterns of the schema run in a thread with a deadline.
 *
 * Errors: PRL_VERIFY_OPTIONS for an invalid schema.
 */
export async function matchJsonSchema(
  schema: unknown,
  text: string,
  { deadlineMs = 1000 }: { deadlineMs?: number } = {},
): Promise<SchemaVerdict> {
  const result = await inThread({ kind: "schema", schema, text: unfenced(text) }, deadlineMs);
  if (result === LATE) return { valid: false, problems: [], status: "timeout" };
  if (result.kind !== "schema") throw new PrlError("PRL_VERIFY_FAILED", "the thread answered another question");
  if (result.status === "invalid_schema") throw new PrlError("PRL_VERIFY_OPTIONS", result.message);
  return {
    valid: result.status === "ok" && result.problems.length === 0,
    problems: result.problems,
    status: result.status,
  };
}

/** Without a Markdown fence around the whole. Not one pattern, which would read runs of line ends again and again. */
function unfenced(text: string): string {
  const whole = text.trim();
  const opening = /^```(?:json)?[^\S\n]*\n/iu.exec(whole)?.[0];
  if (opening === undefined || !whole.endsWith("```")) return text;
  const inside = whole.slice(opening.length, -"```".length);
  return inside.slice(inside.trimEnd().length).includes("\n") ? inside : text;
}

function inThread(job: MatchJob, deadlineMs: number): Promise<MatchResult | typeof LATE> {
  checkDeadline(deadlineMs);
  thread ??= new DeadlineThread(new URL("./worker.js", import.meta.url));
  return thread.run(job, deadlineMs);
}
