/**
 * `--resume` of a trainer or an orchestrator without a launcher: both get the same checkpoint and the same number of the attempt.
 *
 * The first of the two removes the files that the attempt makes again, and notes itself in `run/attempt.json`; the
 * other one finds it alive there and joins. A part that finds its own place taken, or the other's process gone, begins another attempt. When
 * the two have different run directories, on different machines, both count the same as long as both are started again each time; otherwise
 * `--attempt` gives the number. Inference servers and env workers hold no state of a run: they are started, or stay, as they are.
 */
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

import type { RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import {
  assertSameReference,
  checkpointRoot,
  clearLaterSteps,
  findResumedRun,
  type ResumeRequest,
} from "../run/resume-run.ts";
import { assertUnlocked, processStart, releaseLock, takeLock } from "../../files/run-lock.ts";

/** The parts that hold state of a run. */
export type ResumablePart = "trainer" | "orchestrator";

export interface StandaloneResume {
  /** Null: the run begins again at step 0. */
  checkpoint: { step: number; dir: string } | null;
  /** As in `ResumedRun`. */
  runId: string;
  attempt: number;
}

const FILE = "attempt.json";
/** Name in `run/` of the lock that is held while the attempt is determined. */
const JOINING = "joining";
const memberSchema = z.strictObject({ pid: z.int().positive(), started: z.string() });
const attemptSchema = z.strictObject({
  attempt: z.int().positive(),
  step: z.int().nonnegative(),
  trainer: memberSchema.optional(),
  orchestrator: memberSchema.optional(),
});
type Attempt = z.output<typeof attemptSchema>;

/** How long the other part may take to clear files. */
const LOCK_PATIENCE_MS = 30_000;
const LOCK_POLL_MS = 50;

/**
 * Finds the checkpoint and the attempt, and clears what comes after the checkpoint, once for both parts.
 *
 * @throws PrlError those of `findResumedRun`, `PRL_RUN_LOCKED` when a run uses the directory, `PRL_CLI_USAGE` when both are not of one step
 */
export async function resumeStandalone(
  part: ResumablePart,
  config: RlConfig,
  runDir: string,
  { request, attempt: asked }: { request: ResumeRequest; attempt: number | null },
): Promise<StandaloneResume> {
  const name = basename(runDir);
  const { checkpoint, runId } = await findResumedRun("rl", config, runDir, request);
  // Only the trainer checks the reference: the orchestrator does not read its weights, and its machine may not have the folder. The run's own start, which may have
  // to be trained first, is compared where the trainer opens it.
  if (part === "trainer" && checkpoint !== null) await assertSameReference(config, checkpoint);
  const step = checkpoint?.step ?? 0;
  const root = checkpointRoot(config, runDir, name);
  const own = { pid: process.pid, started: (await processStart(process.pid)) ?? "" };
  // The orchestrator holds the run's own lock while it runs.
  const joining = join(runDir, "run", JOINING);
  await lockPatiently(joining);
  try {
    const path = join(runDir, "run", FILE);
    const noted = await readAttempt(path);
    const other = part === "trainer" ? noted?.orchestrator : noted?.trainer;
    if (noted !== null && noted[part] === undefined && other !== undefined && (await isAlive(other))) {
      if (noted.step !== step || (asked ?? noted.attempt) !== noted.attempt) {
        const there = `continues from step ${noted.step} as attempt ${noted.attempt}`;
        throw new PrlError(
          "PRL_CLI_USAGE",
          `the other part of ${runDir} ${there}: give both the same --resume and --attempt`,
        );
      }
      await atomicWriteJson(path, { ...noted, [part]: own });
      return { checkpoint, runId, attempt: noted.attempt };
    }
    await assertUnlocked(runDir);
    const attempt = asked ?? Math.max(checkpoint?.attempt ?? 1, noted?.attempt ?? 0) + 1;
    await clearLaterSteps(runDir, root, step, isKept);
    await atomicWriteJson(path, { attempt, step, [part]: own });
    return { checkpoint, runId, attempt };
  } finally {
    await releaseLock(joining);
  }
}

/** Keeps ready files of serving processes, which may have been started before: the orchestrator checks which of them exist. */
function isKept(name: string): boolean {
  return name === JOINING || name.startsWith("inference-") || name.startsWith("env-worker-");
}

async function lockPatiently(dir: string): Promise<void> {
  const end = performance.now() + LOCK_PATIENCE_MS;
  for (;;) {
    try {
      await takeLock(dir);
      return;
    } catch (error) {
      const isTaken = error instanceof PrlError && error.code === "PRL_RUN_LOCKED";
      if (!isTaken || performance.now() > end) throw error;
      await sleep(LOCK_POLL_MS);
    }
  }
}

/** The step that an attempt of the run goes on from; null while its parts have not found it. Errors: PRL_IO. */
export async function attemptBegan(runDir: string, attempt: number): Promise<number | null> {
  const noted = await readAttempt(join(runDir, "run", FILE));
  return noted?.attempt === attempt ? noted.step : null;
}

async function readAttempt(path: string): Promise<Attempt | null> {
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  try {
    return attemptSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new PrlError("PRL_IO", `${path} is malformed: delete it when no part of the run is at work`, { cause });
  }
}

async function isAlive({ pid, started }: { pid: number; started: string }): Promise<boolean> {
  return (await processStart(pid)) === started;
}
