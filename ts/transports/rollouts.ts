/**
 * Batches on their way from the orchestrator to the trainer's ranks.
 *
 * A batch is identified by (run, attempt, step, rank). The filesystem transport writes `rollouts/step_<s>/rank_<r>.safetensors` in the
 * run directory: temp file, fsync, rename, so a file that exists is whole; its digest and its key are checked when it is read. A sender that
 * commits its own state with a batch writes the files beside their places first, and moves them there when the state is durable.
 */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PrlError } from "../errors.ts";
import { moveFile } from "../files/atomic-write.ts";
import { ifThere, isThere } from "../files/file-presence.ts";
import { makeDurableFolder } from "../files/make-folder.ts";
import { readBatch, writeBatch, type Batch, type BatchKey, type PackedBatch } from "../native/index.ts";

/** The orchestrator's end. */
export interface RolloutSender {
  /**
   * Ships the batches of a step, one per rank; when it resolves, they survive the end of this process. `commit` is called when all of them are
   * durable and none is visible to the trainer; when it rejects, none becomes visible.
   */
  send(
    step: number,
    batches: readonly (Batch | PackedBatch)[],
    envNames: readonly string[],
    commit?: () => Promise<void>,
  ): Promise<void>;
  /**
   * Ends what an earlier process of the attempt has left: batches up to `committed` are made visible, later ones are removed. Called before the
   * first `send`.
   */
  recover(committed: number): Promise<void>;
  close(): Promise<void>;
}

export interface ReceivedBatch extends Batch {
  /** Names that its `envIds` index. */
  envNames: readonly string[];
  /** The file that holds it; absent: it is in memory only. */
  path?: string;
}

/** The trainer's end. */
export interface RolloutReceiver {
  /**
   * Waits for the batch of a step. Errors: PRL_DEADLINE when it does not come in time, PRL_BATCH_INVALID when it is of another run,
   * attempt, step or rank, does not match its digest, or is no safetensors file.
   */
  receive(step: number, rank: number, options: { deadlineMs: number; signal: AbortSignal }): Promise<ReceivedBatch>;
  close(): Promise<void>;
}

const POLL_MS = 4;

/** Folder of a step's batch and traces. */
export function rolloutsDir(runDir: string, step: number): string {
  return join(runDir, "rollouts", `step_${step}`);
}

function batchFile(runDir: string, step: number, rank: number): string {
  return join(rolloutsDir(runDir, step), `rank_${rank}.safetensors`);
}

/** Whether the batches of a step are in the run directory, one for each rank. They are not looked into. */
export async function hasBatches(runDir: string, step: number, ranks: number): Promise<boolean> {
  for (let rank = 0; rank < ranks; rank++) if (!(await isThere(batchFile(runDir, step, rank)))) return false;
  return true;
}

export function filesystemRollouts(runDir: string, runId: string, attempt: number): RolloutSender & RolloutReceiver {
  const file = (step: number, rank: number) => batchFile(runDir, step, rank);
  return {
    async send(step, batches, envNames, commit) {
      await makeDurableFolder(rolloutsDir(runDir, step), runDir);
      const staged = commit !== undefined;
      for (const [rank, batch] of batches.entries()) {
        const path = staged ? stagedFile(runDir, step, rank) : file(step, rank);
        await writeBatch(path, batch, { runId, attempt, step, rank, envNames: [...envNames] });
      }
      await commit?.();
      if (!staged) return;
      for (const rank of batches.keys()) await moveFile(stagedFile(runDir, step, rank), file(step, rank));
    },
    async recover(committed) {
      for (const rank of await stagedRanks(runDir, committed))
        await moveFile(stagedFile(runDir, committed, rank), file(committed, rank));
      // Batches are sent one after the other, so only the next one can be staged besides.
      for (const rank of await stagedRanks(runDir, committed + 1))
        await rm(stagedFile(runDir, committed + 1, rank), { force: true });
    },
    async receive(step, rank, { deadlineMs, signal }) {
      const path = file(step, rank);
      await waitForFile(path, deadlineMs, signal, `the batch of step ${step} for rank ${rank}`);
      const { batch, key } = await readSound(path);
      const found = nameOf(key);
      const wanted = nameOf({ runId, attempt, step, rank });
      if (found !== wanted) {
        throw new PrlError(
          "PRL_BATCH_INVALID",
          `${path} holds the batch of ${found}, not that of ${wanted}: remove it`,
        );
      }
      return { ...batch, envNames: key.envNames, path };
    },
    close: async () => {},
  };
}

const STAGED = /^staged_rank_(\d+)\.safetensors$/;

/** Where a batch waits until it is committed. */
function stagedFile(runDir: string, step: number, rank: number): string {
  return join(rolloutsDir(runDir, step), `staged_rank_${rank}.safetensors`);
}

/** Ranks whose batches of the step wait. */
async function stagedRanks(runDir: string, step: number): Promise<number[]> {
  const dir = rolloutsDir(runDir, step);
  const names = (await ifThere(readdir(dir), dir)) ?? [];
  return names.flatMap((name) => STAGED.exec(name)?.[1] ?? []).map(Number);
}

/**
 * A file that arrives at the trainer was written by the run, so a truncated file is PRL_BATCH_INVALID, not a mistake of the user
 * (PRL_WEIGHTS_FORMAT).
 */
async function readSound(path: string): ReturnType<typeof readBatch> {
  try {
    return await readBatch(path);
  } catch (error) {
    if (!(error instanceof PrlError) || error.code !== "PRL_WEIGHTS_FORMAT") throw error;
    throw new PrlError("PRL_BATCH_INVALID", error.message, { cause: error.cause });
  }
}

function nameOf({ runId, attempt, step, rank }: Omit<BatchKey, "envNames">): string {
  return `run ${runId}, attempt ${attempt}, step ${step}, rank ${rank}`;
}

/** Waits until a file exists; PRL_DEADLINE, which names it as `what`, when it does not come in time. An abort rejects at once. */
export async function waitForFile(path: string, deadlineMs: number, signal: AbortSignal, what: string): Promise<void> {
  const end = performance.now() + deadlineMs;
  signal.throwIfAborted();
  while (!(await isThere(path))) {
    if (performance.now() > end) {
      throw new PrlError("PRL_DEADLINE", `${what} did not come within ${Math.round(deadlineMs / 1000)} s (${path})`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}
