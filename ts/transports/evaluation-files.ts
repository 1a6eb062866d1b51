/**
 * The files of an evaluation, in `rollouts/step_<version>/eval/`: `<source>.jsonl` has the episodes of a source and exists when all of them have ended. The
 * other files let an evaluation that was interrupted go on.
 */
import { readdir, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../errors.ts";
import { ifThere, isMissing, isThere } from "../files/file-presence.ts";
import { rolloutsDir } from "./rollouts.ts";

const STEP = /^step_(\d+)$/;

export const EVALUATIONS_FOLDER = "eval";
const ENDED = ".jsonl";
const EARLIER = ".earlier";

export interface EvaluationFiles {
  readonly folder: string;
  /** All episodes, in the order of tasks and rollouts; the file exists when all have ended. */
  readonly ended: string;
  /** Episodes that have ended while others have not. */
  readonly part: string;
  /** `ended` of an attempt that had come further than the checkpoint to which the run went back. */
  readonly earlier: string;
  /** The file that says which evaluation these episodes belong to. */
  readonly key: string;
}

export function evaluationFiles(runDir: string, version: number, source: string): EvaluationFiles {
  const folder = join(rolloutsDir(runDir, version), EVALUATIONS_FOLDER);
  const ended = join(folder, `${source}${ENDED}`);
  return { folder, ended, part: `${ended}.part`, earlier: ended + EARLIER, key: join(folder, `${source}.key.json`) };
}

/**
 * Removes the rollouts of evaluations up to `version`, except those of the newest `keep` versions; null removes none. None of these evaluations may be under way.
 * Errors: PRL_IO.
 */
export async function pruneEvaluations(runDir: string, version: number, keep: number | null): Promise<void> {
  if (keep === null) return;
  const root = join(runDir, "rollouts");
  const steps = ((await ifThere(readdir(root), root)) ?? [])
    .map((name) => Number(STEP.exec(name)?.[1] ?? Number.NaN))
    .filter((step) => step <= version)
    .toSorted((a, b) => b - a);
  let kept = 0;
  for (const step of steps) {
    const dir = rolloutsDir(runDir, step);
    const folder = join(dir, EVALUATIONS_FOLDER);
    if (!(await isThere(folder)) || ++kept <= keep) continue;
    try {
      await rm(folder, { recursive: true, force: true });
      if ((await readdir(dir)).length === 0) await rmdir(dir);
    } catch (cause) {
      // The trainer may remove the rest of the step at the same moment.
      if (!isMissing(cause)) throw new PrlError("PRL_IO", `cannot delete ${folder}`, { cause });
    }
  }
}

/**
 * Removes the files of a step that the run will make again. Rollouts of evaluations stay, because an evaluation of the same weights goes on from them, but readers
 * of the run find no evaluation any more. Errors: PRL_IO.
 */
export async function clearStep(stepDir: string): Promise<void> {
  const folder = join(stepDir, EVALUATIONS_FOLDER);
  const evaluations = (await ifThere(readdir(folder), folder)) ?? [];
  try {
    for (const name of await readdir(stepDir)) {
      if (name !== EVALUATIONS_FOLDER || evaluations.length === 0)
        await rm(join(stepDir, name), { recursive: true, force: true });
    }
    for (const name of evaluations.filter((one) => one.endsWith(ENDED)))
      await rename(join(folder, name), join(folder, name + EARLIER));
    if (evaluations.length === 0) await rm(stepDir, { recursive: true, force: true });
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot clear ${stepDir}`, { cause });
  }
}
