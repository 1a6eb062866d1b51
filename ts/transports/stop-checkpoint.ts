/**
 * The last checkpoint of a run that is stopped: trainer and orchestrator agree on its step.
 *
 * The trainer ends the step that it is at, writes its half and says in `run/stopped-at.json` which step that is. The orchestrator, which ships nothing any
 * more, then writes its half of this step and joins both. Nothing is waited for beyond the launcher's deadline, which ends both processes.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { atomicWriteJson } from "../files/atomic-write.ts";
import { makeFolder } from "../files/make-folder.ts";
import { checkpointDir, type CheckpointWriter, MANIFEST_FILE } from "./checkpoints.ts";
import { waitForFile } from "./rollouts.ts";

/** The launcher ends the processes long before. */
const DEADLINE_MS = 3_600_000;

const stoppedSchema = z.strictObject({ attempt: z.int().positive(), step: z.int().nonnegative() });

/** A request to end with a checkpoint, from the trainer's side. */
export interface TrainerStop {
  /** Aborted when the launcher asks. */
  readonly asked: AbortSignal;
  /** Says that the trainer's half of this step is there, if it is not step 0, and resolves when the checkpoint is whole. Errors: PRL_DEADLINE, PRL_IO. */
  stoppedAt(step: number, signal: AbortSignal): Promise<void>;
}

/** The same from the orchestrator's side. */
export interface OrchestratorStop {
  readonly asked: AbortSignal;
  /** Resolves to the step at which the trainer has stopped. Errors: PRL_DEADLINE, PRL_IO. */
  trainerStep(signal: AbortSignal): Promise<number>;
}

export function trainerStop(runDir: string, { root, attempt }: CheckpointWriter, asked: AbortSignal): TrainerStop {
  return {
    asked,
    async stoppedAt(step, signal) {
      makeFolder(join(runDir, "run"));
      await atomicWriteJson(stoppedPath(runDir), { attempt, step });
      if (step === 0) return;
      const manifest = join(checkpointDir(root, step), MANIFEST_FILE);
      await waitForFile(manifest, DEADLINE_MS, signal, `the checkpoint of step ${step}`);
    },
  };
}

export function orchestratorStop(
  runDir: string,
  { attempt }: Pick<CheckpointWriter, "attempt">,
  asked: AbortSignal,
): OrchestratorStop {
  return {
    asked,
    async trainerStep(signal) {
      const path = stoppedPath(runDir);
      await waitForFile(path, DEADLINE_MS, signal, "the step at which the trainer stops");
      const stopped = await readStopped(path);
      if (stopped.attempt === attempt) return stopped.step;
      throw new PrlError("PRL_IO", `${path} is of attempt ${stopped.attempt}, not of ${attempt}: remove it`);
    },
  };
}

async function readStopped(path: string): Promise<z.output<typeof stoppedSchema>> {
  const text = await readFile(path, "utf8");
  try {
    return stoppedSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new PrlError("PRL_IO", `${path} does not say where the trainer has stopped: remove it`, { cause });
  }
}

function stoppedPath(runDir: string): string {
  return join(runDir, "run", "stopped-at.json");
}
