/**
 * `prl rl --slurm`: gives the run its directory, writes the job's script and config there, and submits it.
 *
 * Nothing else happens on this machine: environments, models and interpreters are checked on the job's nodes, as at any start of a run.
 */
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";

import { placeOf, type Provenance, type RlConfig, tomlWithOrigins } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { atomicWriteFile, atomicWriteJson } from "../../files/atomic-write.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { selfCommand } from "../../self-command.ts";
import { writeRunKey } from "../clusters/run-key-file.ts";
import { placeRun } from "../clusters/run-place.ts";
import type { ResumeRequest } from "../run/resume-run.ts";
import { planRoles } from "./job-plan.ts";
import { JOB_FILES, renderJob } from "./job-script.ts";
import { hasLiveJob, type SubmittedJob } from "./run-job.ts";
import { cancelJob, type SlurmEnvironment, submitJob } from "./slurm-programs.ts";

export interface SubmitOptions {
  readonly provenance: Provenance;
  readonly env: SlurmEnvironment;
  /** The folder that relative paths of the job begin at. */
  readonly cwd: string;
  /** Continue an earlier run. */
  readonly resume: ResumeRequest | undefined;
  /** Write the files and submit nothing. */
  readonly dryRun: boolean;
}

export interface SubmittedRun {
  readonly run: string;
  readonly runDir: string;
  /** Path of the script. */
  readonly script: string;
  /** Null without a submission. */
  readonly job: SubmittedJob | null;
}

const SCRIPT_MODE = 0o755;

/** @throws PrlError `PRL_CONFIG_INVALID`, `PRL_RUN_EXISTS`, `PRL_RUN_UNKNOWN`, `PRL_RUN_LOCKED` while a job of the directory is not over, `PRL_SLURM`, `PRL_IO` */
export async function submitRun(config: RlConfig, options: SubmitOptions): Promise<SubmittedRun> {
  const { provenance, env, cwd, resume, dryRun } = options;
  const roles = planRoles(config, provenance);
  const refuse = (runDir: string) => refuseLiveJob(runDir, env);
  const { name, path } = await placeRun(config, { resume, verb: "submit", refuse });
  refuseMount(config, path, provenance);
  const folder = join(path, "slurm");
  makeFolder(folder);
  const resolved = { ...config, clean: false, run: { ...config.run, name } };
  const script = renderJob({
    config: resolved,
    roles,
    runDir: path,
    cwd,
    command: [selfCommand().command, ...selfCommand().args],
    resume: resume ?? null,
  });
  await rm(join(folder, JOB_FILES.end), { force: true });
  await atomicWriteFile(join(folder, JOB_FILES.config), tomlWithOrigins(resolved, new Map()));
  if (config.slurm.nodes > 1) await writeRunKey(join(folder, JOB_FILES.key));
  const file = join(folder, JOB_FILES.script);
  await atomicWriteFile(file, script);
  await chmod(file, SCRIPT_MODE);
  if (dryRun) return { run: name, runDir: path, script: file, job: null };
  const job = { ...(await submitJob(JOB_FILES.script, folder, env)), submitted: Date.now() / 1000 };
  await noteJob(join(folder, JOB_FILES.job), job, env);
  return { run: name, runDir: path, script: file, job };
}

/** A job that is not noted is cancelled: another one in its directory would not be refused. Errors: PRL_IO. */
async function noteJob(path: string, job: SubmittedJob, env: SlurmEnvironment): Promise<void> {
  try {
    await atomicWriteJson(path, job);
  } catch (cause) {
    const isCancelled = await cancelJob(job, env).then(
      () => true,
      () => false,
    );
    const then = isCancelled ? "it was cancelled" : `end it by scancel ${job.id}`;
    throw new PrlError("PRL_IO", `job ${job.id} was submitted and cannot be noted in ${path}: ${then}`, { cause });
  }
}

/** Two jobs in one directory would write over each other: no lock is seen from another node. */
async function refuseLiveJob(runDir: string, env: SlurmEnvironment): Promise<void> {
  if (!(await hasLiveJob(runDir, env))) return;
  const advice = "prl slurm status shows it; prl slurm cancel ends it";
  throw new PrlError("PRL_RUN_LOCKED", `a job of ${runDir} waits or works: ${advice}`);
}

/** The plugin separates mounts by commas and their parts by colons, and has no quotes. */
function refuseMount({ slurm }: RlConfig, runDir: string, provenance: Provenance): void {
  if (slurm.container_image === null || !/[,:]/u.test(runDir)) return;
  const text = `the run directory ${runDir} has a comma or a colon, so that it cannot be mounted: choose another output_dir`;
  throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(["slurm", "container_image"], provenance)}: ${text}`);
}
