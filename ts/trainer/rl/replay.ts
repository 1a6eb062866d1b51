/**
 * A trainer that takes the place of a lost one within the attempt trains some steps again: those since the newest half of a checkpoint that the lost one has
 * finished, from the batches that are still there.
 *
 * Everything follows from the run directory. The trainer publishes a version before it logs the step, and logs the step before its half of the
 * checkpoint exists, so nothing can be missing that would not be done again. Steps up to the newest visible version are trained without a second
 * version, line or half, and at that version the weights are compared with what was published and taken over: they can be served in full, and the next version builds
 * on them. The orchestrator and the servers notice nothing.
 */
import { join } from "node:path";

import { messageOf, PrlError } from "../../errors.ts";
import { lastLoggedStep } from "../../monitors/index.ts";
import {
  checkpointDir,
  type CheckpointWriter,
  hasBatches,
  newestVersion,
  newestWholeHalf,
  verifyHalf,
  type WeightSender,
} from "../../transports/index.ts";
import type { TrainerBackend } from "../backend/backend.ts";

/** The state with which a trainer begins. */
export interface TrainerStart {
  /** Steps that it has trained. */
  step: number;
  /** The folder that has it. */
  modelDir: string;
}

/** The work of the earlier processes of the attempt. */
export interface EarlierWork {
  /** The newest version that is visible. */
  published: { version: number; digest: string };
  /** The newest step whose metrics are logged; null: none in this attempt. */
  logged: number | null;
}

/** The state to begin with, and what is done already. */
export interface TakenOver extends EarlierWork {
  start: TrainerStart;
}

export interface TakeOverOptions {
  runDir: string;
  /** Component of the trainer in the metrics. */
  component: string;
  checkpoints: CheckpointWriter;
  /** The state with which the attempt began. */
  begun: TrainerStart;
  /** Batches of a step. */
  ranks: number;
}

/**
 * Reads the traces of the trainers before this one in the attempt; null when they have published nothing, so that no step is trained again.
 *
 * @throws PrlError `PRL_TRAIN_REPLAY` when the steps since the state to begin with cannot be trained again: a batch is gone, or that state is damaged
 */
export async function takeOver(options: TakeOverOptions): Promise<TakenOver | null> {
  const { runDir, component, checkpoints, begun, ranks } = options;
  const published = await newestVersion(runDir).catch((cause: unknown) => {
    throw cannotReplay(`the newest published version cannot be read: ${messageOf(cause)}`, cause);
  });
  if (published === null || published.version < begun.step) return null;
  const { version, digest } = published;
  const half = await newestWholeHalf(checkpoints, "trainer", { after: begun.step, upTo: version });
  if (half === null && begun.step > 0) await assertWhole(checkpoints, begun.step);
  const start =
    half === null ? begun : { step: half, modelDir: join(checkpointDir(checkpoints.root, half), "trainer") };
  for (let step = start.step + 1; step <= version; step++) {
    if (await hasBatches(runDir, step, ranks)) continue;
    throw cannotReplay(
      `${runDir} has no batch of step ${step} any more, and steps ${start.step + 1} to ${version} would have to be trained again`,
    );
  }
  const logged = await lastLoggedStep(runDir, component, checkpoints.attempt);
  return { start, published: { version, digest }, logged };
}

async function assertWhole({ root }: CheckpointWriter, step: number): Promise<void> {
  try {
    await verifyHalf(root, step, "trainer");
  } catch (cause) {
    throw cannotReplay(`the state of step ${step} is not whole any more: ${messageOf(cause)}`, cause);
  }
}

/** The error of a trainer that cannot do the steps of an earlier one again. */
export function cannotReplay(message: string, cause?: unknown): PrlError {
  return new PrlError("PRL_TRAIN_REPLAY", message, { cause });
}

/**
 * Goes on from the newest published version with weights that were trained again: their digest must be the published one.
 *
 * @throws PrlError `PRL_TRAIN_DIFFERS`; `PRL_TRAIN_REPLAY` with PyTorch, which promises no equal bits
 */
export async function takeOverWeights(
  trainer: Pick<TrainerBackend, "save">,
  { version, digest }: EarlierWork["published"],
  { weights, backend }: { weights: Pick<WeightSender, "takeOver">; backend: "engine" | "torch" },
): Promise<void> {
  await weights.takeOver(version, async (dir) => {
    const found = await trainer.save(dir);
    if (found.digest === digest) return found;
    const what = `version ${version}, trained again, has digest ${found.digest}, and ${digest} was published`;
    if (backend === "torch") throw cannotReplay(`${what}: PyTorch computes other bits from run to run`);
    throw new PrlError(
      "PRL_TRAIN_DIFFERS",
      `${what}: the same batches must give the same bits, so the machine or this program is at fault; go on with --resume`,
    );
  });
}
