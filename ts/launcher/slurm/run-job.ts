/**
 * The job of a run directory: what was submitted (`slurm/job.json`), how its last start ended by its own account (`slurm/end.json`), and
 * what Slurm says of it.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { JOB_FILES } from "./job-script.ts";
import { cancelJob, isLive, type JobFacts, jobFacts, type SlurmEnvironment } from "./slurm-programs.ts";

/** A cancelled job has Slurm's KillWait (30 s) to end, and an epilog. */
const CANCEL_DEADLINE_MS = 120_000;
const POLL_MS = 500;

const submittedSchema = z.strictObject({
  id: z.string().regex(/^\d+$/u),
  cluster: z.string().min(1).nullable(),
  /** Seconds since 1970. */
  submitted: z.number(),
});
export type SubmittedJob = z.output<typeof submittedSchema>;

const endSchema = z.object({
  job: z.string(),
  restarts: z.int().nonnegative(),
  reason: z.enum(["completed", "failed", "lost", "stopped", "requeued"]),
  role: z.string(),
  exit_code: z.int().nonnegative(),
  down_nodes: z.string(),
  time: z.number(),
});
/**
 * How a start of a job ended. `lost`: the role's end is not known, because its node or its step is gone. `down_nodes`: nodes of the job that
 * Slurm counted as down then.
 */
export type JobEnd = z.output<typeof endSchema>;

export interface RunJob {
  readonly job: SubmittedJob;
  /** Null when Slurm knows the job no longer. */
  readonly facts: JobFacts | null;
  /** Null while the job is in the queue or at work, and when it ended without a word. */
  readonly end: JobEnd | null;
}

/** Null for a directory from which no job was submitted. Errors: PRL_IO for a damaged file. */
export function submittedJob(runDir: string): Promise<SubmittedJob | null> {
  return readChecked(join(runDir, "slurm", JOB_FILES.job), submittedSchema);
}

/** @throws PrlError `PRL_RUN_UNKNOWN` for a run that was not submitted, `PRL_SLURM`, `PRL_IO` */
export async function readRunJob(runDir: string, env: SlurmEnvironment): Promise<RunJob> {
  const job = await requireJob(runDir);
  const facts = await jobFacts(job, env);
  const end = await readChecked(join(runDir, "slurm", JOB_FILES.end), endSchema);
  return { job, facts, end: end?.job === job.id ? end : null };
}

/** Whether the job of the directory waits or works. Errors: PRL_SLURM, PRL_IO. */
export async function hasLiveJob(runDir: string, env: SlurmEnvironment): Promise<boolean> {
  const job = await submittedJob(runDir);
  return job !== null && isLive(await jobFacts(job, env));
}

/**
 * Cancels the job and waits until it has ended. True: it was at work or waited; false: it had ended before.
 *
 * @throws PrlError `PRL_SLURM` when it has not ended within two minutes
 */
export async function cancelRunJob(runDir: string, env: SlurmEnvironment, signal: AbortSignal): Promise<boolean> {
  const job = await requireJob(runDir);
  if (!isLive(await jobFacts(job, env))) return false;
  await cancelJob(job, env);
  const end = performance.now() + CANCEL_DEADLINE_MS;
  while (isLive(await jobFacts(job, env))) {
    if (performance.now() > end) {
      const seconds = CANCEL_DEADLINE_MS / 1000;
      throw new PrlError("PRL_SLURM", `job ${job.id} was cancelled and has not ended within ${seconds} s: see squeue`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
  return true;
}

async function requireJob(runDir: string): Promise<SubmittedJob> {
  const job = await submittedJob(runDir);
  if (job !== null) return job;
  throw new PrlError("PRL_RUN_UNKNOWN", `no job was submitted from ${runDir}: prl rl <config> --slurm submits one`);
}

async function readChecked<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    const advice = "squeue shows whether the job is still there; scancel ends it; then remove the file";
    throw new PrlError("PRL_IO", `${path} is damaged: ${advice}`, { cause });
  }
}
