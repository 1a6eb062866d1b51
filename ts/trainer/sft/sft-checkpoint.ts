/**
 * Checkpoints of the supervised stage: weights, optimizer, and how far the data are read. A run that continues from one ends with the
 * weights of an uninterrupted run.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { type Metrics } from "../../monitors/index.ts";
import type { TrainerBackend } from "../backend/backend.ts";
import {
  type CheckpointRules,
  type CheckpointWriter,
  isCheckpointStep,
  joinHalves,
  pruneCheckpoints,
  writeHalf,
} from "../../transports/index.ts";
import type { SftPosition } from "./sft-data.ts";

const DATA_FILE = "data.json";
/** The half is already written when the join begins. */
const JOIN_DEADLINE_MS = 60_000;

const positionSchema = z.strictObject({
  taken: z.int().nonnegative(),
  rows: z.int().positive().nullable(),
  digest: z.string(),
});

export interface SftCheckpoints extends CheckpointWriter {
  rules: CheckpointRules & { save_async: boolean };
}

/** The start of a resumed training: the last finished step, and the folder with its half of the checkpoint. */
export interface SftStart {
  step: number;
  dir: string;
}

/** Reads from the trainer's half of a checkpoint how far the data were read. Errors: PRL_CHECKPOINT_CORRUPT. */
export async function readSftPosition(dir: string): Promise<SftPosition> {
  const path = join(dir, DATA_FILE);
  try {
    return positionSchema.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (cause) {
    throw new PrlError("PRL_CHECKPOINT_CORRUPT", `${path} does not say how far the data were read`, { cause });
  }
}

/** Writes checkpoints beside the training: the weights must not change before `saved` resolves. */
export class SftSaver {
  /** Resolves when the newest checkpoint is written; rejects when that failed. */
  saved: Promise<void> = Promise.resolve();
  readonly #checkpoints: SftCheckpoints;
  readonly #metrics: Metrics;
  readonly #signal: AbortSignal;

  constructor(checkpoints: SftCheckpoints, metrics: Metrics, signal: AbortSignal) {
    this.#checkpoints = checkpoints;
    this.#metrics = metrics;
    this.#signal = signal;
  }

  /** Writes a checkpoint when the rules want one at this step; with `save_async = false` it is whole when this returns. */
  async afterStep(step: number, maxSteps: number, trainer: TrainerBackend, position: SftPosition): Promise<void> {
    if (!isCheckpointStep(step, this.#checkpoints.rules, maxSteps)) return;
    await this.saved;
    this.saved = this.#write(step, trainer, { ...position });
    // Its rejection is handled where it is awaited.
    this.saved.catch(() => undefined);
    if (!this.#checkpoints.rules.save_async) await this.saved;
  }

  async #write(step: number, trainer: TrainerBackend, position: SftPosition): Promise<void> {
    const startedAt = performance.now();
    await writeHalf(this.#checkpoints, step, "trainer", async (dir) => {
      await trainer.saveCheckpoint(dir);
      await atomicWriteJson(join(dir, DATA_FILE), position);
    });
    const options = { deadlineMs: JOIN_DEADLINE_MS, signal: this.#signal, isSupervised: true };
    await joinHalves(this.#checkpoints, step, options);
    const pruned = await pruneCheckpoints(this.#checkpoints.root, step, this.#checkpoints.rules);
    this.#metrics.event("checkpoint", { step, pruned, seconds: (performance.now() - startedAt) / 1000 });
  }
}
