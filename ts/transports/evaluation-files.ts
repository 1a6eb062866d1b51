/**
 * The files of an evaluation, in `rollouts/step_<version>/eval/`: `<source>.jsonl` has the episodes of a source and exists when all of them have ended. The
 * other files let an evaluation that was interrupted go on.
 */
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { rolloutsDir } from "./rollouts.ts";

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
