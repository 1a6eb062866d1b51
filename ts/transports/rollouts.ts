/**
 * Batches on their way from the orchestrator to the trainer's ranks.
 *
 * A batch is identified by (run, attempt, step, rank). The filesystem transport writes `rollouts/step_<s>/rank_<r>.safetensors` in the
 * run directory: temp file, fsync, rename, so a file that exists is whole; its digest is checked when it is read.
 */

import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PrlError } from "../errors.ts";
import { readBatch, writeBatch, type Batch } from "../native/index.ts";

export interface RolloutTransport {
  /** Durable when it resolves. One batch per rank. */
  send(step: number, batches: readonly Batch[], envNames: readonly string[]): Promise<void>;
  /** Waits for the batch of a step; PRL_DEADLINE when it does not come in time. */
  receive(step: number, rank: number, options: { deadlineMs: number; signal: AbortSignal }): Promise<Batch>;
}

const POLL_MS = 4;

/** Folder of a step's batch and traces. */
export function rolloutsDir(runDir: string, step: number): string {
  return join(runDir, "rollouts", `step_${step}`);
}

export function filesystemRollouts(runDir: string, runId: string, attempt: number): RolloutTransport {
  const file = (step: number, rank: number) => join(rolloutsDir(runDir, step), `rank_${rank}.safetensors`);
  return {
    async send(step, batches, envNames) {
      for (const [rank, batch] of batches.entries()) {
        await writeBatch(file(step, rank), batch, { runId, attempt, step, rank, envNames: [...envNames] });
      }
    },
    async receive(step, rank, { deadlineMs, signal }) {
      const path = file(step, rank);
      await waitForFile(path, deadlineMs, signal, `the batch of step ${step} for rank ${rank}`);
      const { batch, key } = await readBatch(path);
      if (key.runId !== runId || key.step !== step || key.rank !== rank) {
        const found = `run ${key.runId}, step ${key.step}, rank ${key.rank}`;
        throw new PrlError(
          "PRL_BATCH_INVALID",
          `${path} says that it is ${found}: it is not the batch its name promises`,
        );
      }
      return batch;
    },
  };
}

/** Waits until a file exists. `what` names it in the error. */
export async function waitForFile(path: string, deadlineMs: number, signal: AbortSignal, what: string): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await exists(path))) {
    if (Date.now() > end) {
      throw new PrlError("PRL_DEADLINE", `${what} did not come within ${Math.round(deadlineMs / 1000)} s (${path})`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw new PrlError("PRL_IO", `cannot look for ${path}`, { cause: error });
  }
}
