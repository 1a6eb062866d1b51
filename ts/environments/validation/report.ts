/** What is looked at when an environment is validated, and what is found. */
import type { Split } from "../../datasets/index.ts";

export interface ValidateOptions {
  /** Tasks of each split that are looked at. Default 100. */
  tasks?: number;
  seed?: number;
  /** Longest that one task's check, one score or one rollout may take. Default 60 s. */
  deadlineMs?: number;
  signal?: AbortSignal;
}

/** `gold`, `wrong` and `free` are looked at only where the environment has a `validate`. */
export const CHECKS = ["tasks", "gold", "wrong", "deterministic", "rollouts", "duplicates", "overlap", "free"] as const;
export type ValidationCheck = (typeof CHECKS)[number];

export interface ValidationFailure {
  readonly check: ValidationCheck;
  readonly split: Split;
  /** Null: it is about the whole split. */
  readonly task: string | null;
  readonly message: string;
}

export interface ValidationReport {
  /** Tasks that were looked at. */
  readonly tasks: Readonly<Record<Split, number>>;
  /** Checks in which nothing failed. */
  readonly passed: readonly ValidationCheck[];
  readonly failures: readonly ValidationFailure[];
  /** What is worth knowing and may be meant so. */
  readonly notes: readonly string[];
  /** Of this process, one after the other: tasks read, replies scored, rollouts run with a policy that answers at once. */
  readonly perSecond: { readonly tasks: number; readonly scores: number; readonly rollouts: number };
}
