/**
 * The orchestrator's half of a checkpoint: everything that the batches after step `s` follow from beside the weights.
 *
 * It is taken when version `s` is on the engines and before anything is dispatched under it. Rollouts that were under way or waited are not
 * in it, only their tasks: they are sampled again, under the weights that the run goes on with. At level 0 there are none, and the run goes
 * on exactly as it would have.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { atomicWriteJson } from "../monitors/index.ts";
import { type CheckpointWriter, writeHalf } from "../transports/index.ts";

const STATE_FILE = "state.json";
const count = z.int().nonnegative();

const stateSchema = z.strictObject({
  /** Batches trained: the policy version that the run goes on with. */
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
  worth: z.record(z.string(), z.record(z.string(), z.number())),
  /** Groups that were opened. */
  opened: count,
  /** What lengths are expected from, where batches are counted in tokens. */
  admission: z.strictObject({ units: z.number().nonnegative(), rollouts: z.number().nonnegative() }),
  /** Tasks to begin with, in their order. */
  pending: z.array(
    z.strictObject({
      source: z.string(),
      task: z.strictObject({ key: z.string(), hash: z.string(), data: z.unknown() }),
      epoch: count,
      groupSize: z.int().positive(),
      scoresGroups: z.boolean(),
    }),
  ),
});
export type OrchestratorState = z.output<typeof stateSchema>;

export async function writeOrchestratorState(writer: CheckpointWriter, state: OrchestratorState): Promise<void> {
  await writeHalf(writer, state.step, "orchestrator", (dir) => atomicWriteJson(join(dir, STATE_FILE), state));
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
