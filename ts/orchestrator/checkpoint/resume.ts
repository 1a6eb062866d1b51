/**
 * The orchestrator's half of a checkpoint: everything besides the weights that decides the batches after step `s`.
 *
 * It is taken when version `s` is on the engines and before anything is dispatched under it. Of rollouts that were under way or waited it
 * holds only the tasks: they are sampled again, under the weights that the run continues with. At level 0 there are none, and the run
 * continues exactly as without the stop.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { type Metrics, syncHistory } from "../../monitors/index.ts";
import {
  type CheckpointRules,
  type CheckpointWriter,
  hasHalf,
  isCheckpointStep,
  isJoined,
  joinHalves,
  newestJoined,
  pruneCheckpoints,
  unjoinedSteps,
  writeHalf,
} from "../../transports/index.ts";
import { noProgress, progressSchema } from "./progress.ts";

const STATE_FILE = "state.json";
/** The trainer's half of a checkpoint is written while the next batch is sampled; a large model takes a while. */
const DEADLINE_MS = 3_600_000;
const count = z.int().nonnegative();

/** Averages of estimators. */
export const averagesSchema = z.record(z.string(), z.record(z.string(), z.number()));

export const taskSchema = z.strictObject({
  source: z.string(),
  task: z.strictObject({ key: z.string(), hash: z.string(), data: z.unknown() }),
  epoch: count,
  groupSize: z.int().positive(),
  scoresGroups: z.boolean(),
});

export const stateSchema = z.strictObject({
  /** Batches trained: the policy version that the run continues with. */
  step: count,
  tasks: z.strictObject({
    drawn: count,
    sources: z.record(
      z.string(),
      z.strictObject({
        pages: z.strictObject({ after: z.string().nullable(), consumed: count, epoch: count }),
        drawn: z
          .strictObject({
            drawn: count,
            tasks: z.record(z.string(), z.strictObject({ epoch: count, mean: z.number().optional() })),
          })
          .optional(),
      }),
    ),
  }),
  worth: averagesSchema,
  /** A checkpoint of an earlier release has no progress: counting begins there. */
  progress: progressSchema.default(noProgress),
  /** Groups that were opened. */
  opened: count,
  /** Sums that expected lengths are computed from, where batches are counted in tokens. */
  admission: z.strictObject({ units: z.number().nonnegative(), rollouts: z.number().nonnegative() }),
  /** Tasks to begin with, in their order. */
  pending: z.array(taskSchema),
});
export type OrchestratorState = z.output<typeof stateSchema>;

export interface SaverOptions {
  checkpoints: CheckpointWriter & { rules: CheckpointRules };
  maxSteps: number | null;
  metrics: Metrics;
  /** Its metrics and events are durable before a checkpoint exists. */
  runDir: string;
  signal: AbortSignal;
}

/** Writes this half and joins it with the trainer's half when that is there, one checkpoint after the other, beside the run. */
export class CheckpointSaver {
  /** Resolves when the newest checkpoint is saved; rejects when that failed. */
  saved: Promise<void> = Promise.resolve();
  /** Resolves when this half of the newest checkpoint is durable; rejects when that failed. */
  written: Promise<void> = Promise.resolve();
  readonly #options: SaverOptions;

  constructor(options: SaverOptions) {
    this.#options = options;
  }

  /** Whether the config wants a checkpoint at this step. */
  isDue(step: number): boolean {
    const { checkpoints, maxSteps } = this.#options;
    return isCheckpointStep(step, checkpoints.rules, maxSteps);
  }

  save(state: OrchestratorState): void {
    const startedAt = performance.now();
    const written = this.written.then(() => this.#write(state));
    // `saved` rejects with the same error.
    written.catch(() => undefined);
    this.written = written;
    this.saved = this.saved.then(async () => {
      await written;
      await this.#join(state.step, startedAt);
    });
  }

  /** Joins the checkpoints whose half an earlier process of the attempt has written. */
  async joinEarlier(): Promise<void> {
    const startedAt = performance.now();
    for (const step of await unjoinedSteps(this.#options.checkpoints))
      this.saved = this.saved.then(() => this.#join(step, startedAt));
  }

  /** A half of this attempt stays: the process that wrote it may have joined it, and then no older checkpoint may be left. */
  async #write(state: OrchestratorState): Promise<void> {
    const { checkpoints } = this.#options;
    if ((await hasHalf(checkpoints, state.step, "orchestrator")) || (await this.#isPassed(state.step))) return;
    await writeHalf(checkpoints, state.step, "orchestrator", (dir) => atomicWriteJson(join(dir, STATE_FILE), state));
  }

  /**
   * Whether a newer checkpoint is whole: this one was joined and removed before, by the process that this one replaces. It follows the versions since
   * its snapshot again, and the trainer does not write their halves again.
   */
  async #isPassed(step: number): Promise<boolean> {
    return step < (await newestJoined(this.#options.checkpoints.root));
  }

  async #join(step: number, startedAt: number): Promise<void> {
    const { checkpoints, metrics, runDir, signal } = this.#options;
    if ((await isJoined(checkpoints, step)) || (await this.#isPassed(step))) return;
    await joinHalves(checkpoints, step, { deadlineMs: DEADLINE_MS, signal, beforeJoin: () => syncHistory(runDir) });
    const pruned = await pruneCheckpoints(checkpoints.root, step, checkpoints.rules);
    metrics.event("checkpoint", { step, pruned, seconds: (performance.now() - startedAt) / 1000 });
  }
}

/** The state in a checkpoint's folder. Errors: PRL_CHECKPOINT_CORRUPT. */
export async function readOrchestratorState(checkpoint: string): Promise<OrchestratorState> {
  const path = join(checkpoint, "orchestrator", STATE_FILE);
  try {
    return stateSchema.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (cause) {
    throw new PrlError("PRL_CHECKPOINT_CORRUPT", `${path} cannot be read as the orchestrator's state`, { cause });
  }
}
