/**
 * How long batches and training traces stay in `rollouts/`: `rollout_transport.keep`, for runs that would fill their disk.
 *
 * Only batches that a checkpoint covers are deleted: a trainer that takes the place of a lost one trains the batches since the newest checkpoint again. So
 * a batch that is still awaited, or one that a resumed run cuts anew, is never touched.
 * Evaluations stay: they have a limit of their own (`pruneEvaluations`), and one of an old version may still be written.
 */
import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { newestJoined } from "./checkpoints.ts";
import { EVALUATIONS_FOLDER } from "./evaluation-files.ts";

const STEP = /^step_(\d+)$/;

/**
 * Deletes files of steps up to `trained` in the run directory's `rollouts/`, except the newest `keep` and those after the newest checkpoint in the folder
 * `checkpoints`; a `keep` of null deletes nothing. Errors: PRL_IO.
 */
export async function pruneRollouts(
  runDir: string,
  trained: number,
  keep: number | null,
  checkpoints: string,
): Promise<void> {
  if (keep === null) return;
  const root = join(runDir, "rollouts");
  const last = Math.min(trained - keep, await newestJoined(checkpoints));
  for (const name of (await ifThere(readdir(root), root)) ?? []) {
    const step = STEP.exec(name)?.[1];
    if (step !== undefined && Number(step) <= last) await prune(join(root, name));
  }
}

async function prune(dir: string): Promise<void> {
  const names = (await ifThere(readdir(dir), dir)) ?? [];
  const gone = names.filter((name) => name !== EVALUATIONS_FOLDER);
  try {
    for (const name of gone) await rm(join(dir, name), { recursive: true, force: true });
    if (gone.length === names.length) await rmdir(dir);
  } catch (cause) {
    // Trainer and orchestrator of one run directory both call this, and an evaluation may just begin.
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code !== "ENOENT" && code !== "ENOTEMPTY")
      throw new PrlError("PRL_IO", `cannot delete what is in ${dir}`, { cause });
  }
}
