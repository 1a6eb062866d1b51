/** The messages between `prl env test` or `prl env dev` and the child that runs the environment's code, over the channel that Node gives a child. */
import type { Attempt, CheckRow, EnvironmentOrigin } from "../../environments/internal.ts";
import type { SampleRollout } from "./sample-rollouts.ts";

/** The model that plays sample rollouts. */
export interface ModelAddress {
  readonly url: string;
  readonly model: string;
  /** Environment variable that holds the key. */
  readonly keyVariable: string | null;
}

export interface EnvironmentQuestion {
  /** Path of a module or of a package's folder, or an id. */
  readonly name: string;
  /** The folder from which the name is seen. */
  readonly from: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Tasks of each split for the checks; null: as many as suit the environment. */
  readonly tasks: number | null;
  readonly seed: number;
  readonly deadlineMs: number;
  /** Whether the gate is tried too. */
  readonly gate: boolean;
  /** Number of sample rollouts. */
  readonly samples: number;
  /** Null: gold replies are shown instead of rollouts. */
  readonly model: ModelAddress | null;
}

export interface EnvironmentFound {
  readonly name: string;
  readonly version: string;
  readonly origin: EnvironmentOrigin;
  readonly needsSandbox: boolean;
}

export type EnvironmentAnswer =
  | { readonly type: "found"; readonly environment: EnvironmentFound }
  | { readonly type: "begins"; readonly attempt: Attempt }
  | { readonly type: "row"; readonly row: CheckRow }
  | { readonly type: "sample"; readonly sample: SampleRollout }
  | { readonly type: "done" };
