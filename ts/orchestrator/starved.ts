/** Why nothing came together to train on. */
import type { EpisodeError } from "../environments/index.ts";
import { PrlError } from "../errors.ts";
import type { Group } from "./dispatcher.ts";

/** The first of any rollout. */
export function firstError(groups: readonly Group[]): EpisodeError | undefined {
  return groups.flatMap((group) => group.rollouts.flatMap(({ episode }) => episode.errors))[0];
}

/** @param where the step that waits, how many batches' worth of groups came to nothing, and the file that has the traces of `groups` */
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
