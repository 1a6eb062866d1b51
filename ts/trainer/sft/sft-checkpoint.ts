/**
 * Checkpoints of the supervised stage: weights, optimizer, and how far the data are read. A run that continues from one ends with the
 * weights of an uninterrupted run.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { type Metrics, syncHistory } from "../../monitors/index.ts";
import type { TrainerBackend } from "../backend/backend.ts";
import {
  type CheckpointRules,
  type CheckpointWriter,
  isCheckpointStep,
  joinHalves,
  prepareHalf,
  pruneCheckpoints,
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
  /** Its metrics and events are durable before a checkpoint exists. */
  runDir: string;
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
  #prepared: PreparedCheckpoint | null = null;

  constructor(checkpoints: SftCheckpoints, metrics: Metrics, signal: AbortSignal) {
    this.#checkpoints = checkpoints;
    this.#metrics = metrics;
    this.#signal = signal;
  }

  /**
   * Begins to write the checkpoint when the rules want one at this step; with `save_async = false` its files are written when this returns. It exists only
   * after `finish`.
   */
  async prepare(step: number, maxSteps: number, trainer: TrainerBackend, position: SftPosition): Promise<void> {
    if (!isCheckpointStep(step, this.#checkpoints.rules, maxSteps)) return;
    await this.saved;
    const startedAt = performance.now();
    const files = prepareHalf(this.#checkpoints, step, "trainer", async (dir) => {
      await trainer.saveCheckpoint(dir);
      await atomicWriteJson(join(dir, DATA_FILE), position);
    });
    this.#prepared = { step, startedAt, files };
    this.#save(files.then(() => undefined));
    if (!this.#checkpoints.rules.save_async) await files;
  }

  /** Lets the prepared checkpoint exist, if there is one. It is called when the step is logged: a run that continues from it does not log the step. */
  async finish(): Promise<void> {
    const prepared = this.#prepared;
    if (prepared === null) return;
    this.#prepared = null;
    this.#save(this.#finish(prepared));
    if (!this.#checkpoints.rules.save_async) await this.saved;
  }

  async #finish({ step, startedAt, files }: PreparedCheckpoint): Promise<void> {
    const end = await files;
    await end();
    const beforeJoin = () => syncHistory(this.#checkpoints.runDir);
    const options = { deadlineMs: JOIN_DEADLINE_MS, signal: this.#signal, isSupervised: true, beforeJoin };
    await joinHalves(this.#checkpoints, step, options);
    const pruned = await pruneCheckpoints(this.#checkpoints.root, step, this.#checkpoints.rules);
    this.#metrics.event("checkpoint", { step, pruned, seconds: (performance.now() - startedAt) / 1000 });
  }

  #save(saved: Promise<void>): void {
    this.saved = saved;
    // Its rejection is handled where it is awaited.
    saved.catch(() => undefined);
  }
}

/** A checkpoint whose files are being written. */
interface PreparedCheckpoint {
  step: number;
  startedAt: number;
  /** Resolves when they are written, to what makes the half exist. */
  files: ReturnType<typeof prepareHalf>;
}
