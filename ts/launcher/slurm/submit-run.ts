/**
 * `prl rl --slurm`: gives the run its directory, writes the job's script and config there, and submits it.
 *
 * Nothing else happens on this machine: environments, models and interpreters are checked on the job's nodes, as at any start of a run.
 */
import { randomBytes } from "node:crypto";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { placeOf, type Provenance, type RlConfig, tomlWithOrigins } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { atomicWriteFile, atomicWriteJson } from "../../files/atomic-write.ts";
import { isThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { selfCommand } from "../../self-command.ts";
import { newestRun, type ResumeRequest } from "../run/resume-run.ts";
import { prepareRunDirectory } from "../run/run-directory.ts";
import { planRoles } from "./job-plan.ts";
import { JOB_FILES, renderJob } from "./job-script.ts";
import { hasLiveJob, type SubmittedJob } from "./run-job.ts";
import { type SlurmEnvironment, submitJob } from "./slurm-programs.ts";

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

const KEY_BYTES = 32;
/** Readable for the user alone. */
const KEY_MODE = 0o600;
const SCRIPT_MODE = 0o755;

/** @throws PrlError `PRL_CONFIG_INVALID`, `PRL_RUN_EXISTS`, `PRL_RUN_UNKNOWN`, `PRL_RUN_LOCKED` while a job of the directory is not over, `PRL_SLURM` */
export async function submitRun(config: RlConfig, options: SubmitOptions): Promise<SubmittedRun> {
  const { provenance, env, cwd, resume, dryRun } = options;
  const roles = planRoles(config, provenance);
  const { name, path } = await directoryOf(config, options);
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
  if (config.slurm.nodes > 1) await writeKey(join(folder, JOB_FILES.key));
  const file = join(folder, JOB_FILES.script);
  await atomicWriteFile(file, script);
  await chmod(file, SCRIPT_MODE);
  if (dryRun) return { run: name, runDir: path, script: file, job: null };
  const job = { ...(await submitJob(JOB_FILES.script, folder, env)), submitted: Date.now() / 1000 };
  await atomicWriteJson(join(folder, JOB_FILES.job), job);
  return { run: name, runDir: path, script: file, job };
}

async function directoryOf(config: RlConfig, { env, resume }: SubmitOptions): Promise<{ name: string; path: string }> {
  const { output_dir: outputDir, clean } = config;
  const environments = config.orchestrator.train.source.map((source) => source.name);
  if (resume === undefined) {
    if (config.run.name !== null) await refuseLiveJob(resolve(outputDir, config.run.name), env);
    const { name } = config.run;
    const place = { name, outputDir, environments, model: config.model.name, clean };
    return prepareRunDirectory(place);
  }
  if (clean) throw new PrlError("PRL_CLI_USAGE", "--resume goes on with what --clean would delete: give one of them");
  const name = config.run.name ?? (await newestRun(config, environments));
  const path = resolve(outputDir, name);
  if (!(await isThere(path))) {
    throw new PrlError("PRL_RUN_UNKNOWN", `there is no run ${path} to resume: submit it without --resume`);
  }
  await refuseLiveJob(path, env);
  return { name, path };
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

/** The key of the control routes of the inference servers. An earlier one stays, for a job that is started again. */
async function writeKey(path: string): Promise<void> {
  if (await isThere(path)) return;
  await writeFile(path, randomBytes(KEY_BYTES).toString("hex"), { mode: KEY_MODE, flag: "wx" });
}
