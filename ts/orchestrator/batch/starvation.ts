/**
 * Counts what was sampled in vain since the last batch, says when that is too much for the run to go on, and explains why the groups
 * gave nothing to train on.
 *
 * Two counts begin anew with each batch that is shipped: batches without a sample, and the units of groups that were dropped for having no
 * reward or no signal.
 */
import { join } from "node:path";
import type { EpisodeError } from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { atomicWriteFile } from "../../files/atomic-write.ts";
import { rolloutsDir } from "../../transports/index.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import type { Staleness } from "../scheduling/staleness.ts";
import { traceLines } from "../metrics/trace-lines.ts";

/** The first error of any rollout. */
export function firstError(groups: readonly Group[]): EpisodeError | undefined {
  return groups.flatMap((group) => group.rollouts.flatMap(({ episode }) => episode.errors))[0];
}

/** This many batches' worth of groups in a row without anything to train end the run. */
const MAX_EMPTY_BATCHES = 10;

export interface StarvationOptions {
  runDir: string;
  /** Units of a batch. */
  batchSize: number;
  staleness: Pick<Staleness, "step">;
}

export class Starvation {
  readonly #options: StarvationOptions;
  #emptyBatches = 0;
  #units = 0;

  constructor(options: StarvationOptions) {
    this.#options = options;
  }

  /** A batch has nothing to train on. True when it is one too many. */
  emptyBatch(): boolean {
    this.#emptyBatches += 1;
    return this.#emptyBatches === MAX_EMPTY_BATCHES;
  }

  /** A group of so many units was dropped that trains nothing. True when it is one too many. */
  fruitless(units: number): boolean {
    this.#units += units;
    return this.#units >= this.#options.batchSize * MAX_EMPTY_BATCHES;
  }

  /** A batch is with the trainer. */
  shipped(): void {
    this.#emptyBatches = 0;
    this.#units = 0;
  }

  /** The error that ends the run; it names a file with the traces of these groups. */
  async explain(groups: readonly Group[]): Promise<PrlError> {
    const { runDir, staleness } = this.#options;
    const { step } = staleness;
    const dir = rolloutsDir(runDir, step);
    makeFolder(dir, runDir);
    const file = join(dir, "starved.jsonl");
    await atomicWriteFile(file, traceLines(groups, []));
    return starved(groups, { step, batches: MAX_EMPTY_BATCHES, file });
  }
}

/** @param where the step that waits, how many batches' worth of groups gave nothing, and the file with the traces of `groups` */
export function starved(
  groups: readonly Group[],
  { step, batches, file }: { step: number; batches: number; file: string },
): PrlError {
  const example = firstError(groups);
  const isAlone = groups.every(({ rollouts }) => rollouts.length === 1);
  const why =
    example === undefined
      ? isAlone
        ? "a group of one rollout has nothing to be compared with, so its advantage is 0: raise group_size, or take another algorithm"
        : "every group's rewards were all equal, so no advantage differs from 0: make the task easier or harder, or groups larger"
      : `rollouts fail, the last one with [${example.code}] ${example.message}`;
  return new PrlError(
    "PRL_ORCHESTRATOR_STARVED",
    `step ${step}: ${batches} batches' worth of groups gave nothing to train on: ${why}; see the traces in ${file}`,
  );
}
