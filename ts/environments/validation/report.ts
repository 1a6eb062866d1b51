/** Options and report of the validation of an environment. */
import type { Split } from "../../datasets/index.ts";

export interface ValidateOptions {
  /** Number of tasks of each split to check. Default 100. */
  tasks?: number;
  seed?: number;
  /** Longest that one task's check, one score or one rollout may take. Default 60 s. */
  deadlineMs?: number;
  signal?: AbortSignal;
}

/** `gold`, `wrong` and `free` are checked only where the environment has a `validate`. */
export const CHECKS = ["tasks", "gold", "wrong", "deterministic", "rollouts", "duplicates", "overlap", "free"] as const;
export type ValidationCheck = (typeof CHECKS)[number];

export interface ValidationFailure {
  readonly check: ValidationCheck;
  readonly split: Split;
  /** Key of the task; null: the failure concerns the whole split. */
  readonly task: string | null;
  readonly message: string;
}

export interface ValidationReport {
  /** Number of tasks that were checked. */
  readonly tasks: Readonly<Record<Split, number>>;
  /** Checks in which nothing failed. */
  readonly passed: readonly ValidationCheck[];
  readonly failures: readonly ValidationFailure[];
  /** Remarks about things that may be intended. */
  readonly notes: readonly string[];
  /** Rates in this process, one call after the other: tasks read, replies scored, rollouts run with a policy that answers at once. */
  readonly perSecond: { readonly tasks: number; readonly scores: number; readonly rollouts: number };
}
