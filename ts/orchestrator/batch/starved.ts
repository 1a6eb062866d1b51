/** Explains why the groups gave nothing to train on. */
import { join } from "node:path";
import type { EpisodeError } from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { atomicWriteFile } from "../../files/atomic-write.ts";
import { rolloutsDir } from "../../transports/index.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import { traceLines } from "../metrics/trace-lines.ts";

/** The first error of any rollout. */
export function firstError(groups: readonly Group[]): EpisodeError | undefined {
  return groups.flatMap((group) => group.rollouts.flatMap(({ episode }) => episode.errors))[0];
}

/** The error that ends a run with nothing to train on; it names a file with the traces of these groups. */
export async function starvedWithTraces(
  groups: readonly Group[],
  { step, batches, runDir }: { step: number; batches: number; runDir: string },
): Promise<PrlError> {
  const dir = rolloutsDir(runDir, step);
  makeFolder(dir, runDir);
  const file = join(dir, "starved.jsonl");
  await atomicWriteFile(file, traceLines(groups, []));
  return starved(groups, { step, batches, file });
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
