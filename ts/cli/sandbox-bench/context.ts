/** Shared by all scenarios of the bench. */

import { PrlError } from "../../errors.ts";
import type { RunResult, SandboxPool } from "../../sandbox/index.ts";
import type { Report } from "./report.ts";
import { expectOutput, type Floor } from "./rivals.ts";

/** Everything that a scenario may use. */
export interface Bench {
  readonly pool: SandboxPool;
  readonly floor: Floor;
  /** The interpreter whose numpy is measured. */
  readonly python: string;
  /** Names for `runRival`. */
  readonly rivals: readonly string[];
  /** Samples per contender of a latency. */
  readonly rounds: number;
  readonly quick: boolean;
  readonly report: Report;
  readonly signal: AbortSignal;
  /** Resident memory of the daemon's process. */
  readonly residentBytes: () => number;
}

/** Errors: PRL_SANDBOX_BENCH unless the program exited with 0 and wrote exactly this. */
export function outputOf(result: RunResult, output: string): void {
  if (result.cause !== "EXITED") {
    throw new PrlError(
      "PRL_SANDBOX_BENCH",
      `a run ended with ${result.cause}: ${result.reason} ${result.detail ?? ""}`,
    );
  }
  expectOutput("ours", result.stdout.toString(), output, result.exitCode === 0);
}
