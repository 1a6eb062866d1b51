/** The report of `prl env test` on one thing that it looked at. */
import type { Split } from "../../datasets/index.ts";

/** `stated`: a number without a bound. `not checked` is never a pass: `what` names what is missing. */
export type CheckStatus = "passed" | "failed" | "stated" | "not checked";

export interface CheckFailure {
  readonly split: Split | null;
  /** Key of the task; null: the failure concerns all. */
  readonly task: string | null;
  readonly message: string;
}

export interface CheckRow {
  readonly part: "package" | "environment" | "gate";
  readonly check: string;
  readonly status: CheckStatus;
  /** The values that were measured, or why none were. */
  readonly what: string;
  readonly failures: readonly CheckFailure[];
}

/** The next attempt, for a watcher that names code which never returns. */
export interface Attempt {
  readonly check: string;
  readonly split: Split | null;
  readonly task: string | null;
}
