/**
 * Calls Slurm's programs: submits a job, asks for its state, cancels it. No shell sees the arguments, and every call ends within a minute.
 *
 * Slurm forgets an ended job after some minutes (MinJobAge). Accounting (sacct) is not asked, because many clusters have none.
 */
import { execFile } from "node:child_process";

import { messageOf, PrlError } from "../../errors.ts";

const DEADLINE_MS = 60_000;
const MOST_OUTPUT_BYTES = 16 * 1024 * 1024;
const UNKNOWN_JOB = /Invalid job id/i;
/** States of a job that has not ended; any other one is an end. */
const LIVE_STATES: ReadonlySet<string> = new Set([
  "CONFIGURING",
  "COMPLETING",
  "PENDING",
  "PREEMPTED",
  "REQUEUED",
  "REQUEUE_FED",
  "REQUEUE_HOLD",
  "RESIZING",
  "RESV_DEL_HOLD",
  "RUNNING",
  "SIGNALING",
  "SPECIAL_EXIT",
  "STAGE_OUT",
  "STOPPED",
  "SUSPENDED",
]);

export type SlurmEnvironment = Readonly<Record<string, string | undefined>>;

/** A submitted job; `cluster` is null for the cluster that the programs ask by themselves. */
export interface JobId {
  readonly id: string;
  readonly cluster: string | null;
}

/** The state of a job, as Slurm reports it. */
export interface JobFacts {
  /** RUNNING, PENDING, ... */
  readonly state: string;
  /** Why it is in this state; null: Slurm names nothing. */
  readonly reason: string | null;
  /** The nodes it has or had, as Slurm writes them: n[1-2]; null before it has any. */
  readonly nodes: string | null;
  readonly restarts: number;
  readonly exitCode: number;
  /** Number of the signal that ended it, 0 for none. */
  readonly signal: number;
  readonly runTime: string | null;
  readonly timeLimit: string | null;
}

/** Submits the script `file` of the folder `dir`, which is the job's folder for its own log. Errors: PRL_SLURM. */
export async function submitJob(file: string, dir: string, env: SlurmEnvironment): Promise<JobId> {
  const said = await call("sbatch", ["--parsable", file], env, dir);
  const [, id, cluster] = /^(\d+)(?:;([^\s;]+))?\s*$/u.exec(said) ?? [];
  if (id !== undefined) return { id, cluster: cluster ?? null };
  throw new PrlError("PRL_SLURM", `sbatch answered ${JSON.stringify(said.trim())}, which is no number of a job`);
}

/** Null for a job that Slurm does not know, or no longer. Errors: PRL_SLURM. */
export async function jobFacts(job: JobId, env: SlurmEnvironment): Promise<JobFacts | null> {
  try {
    return parseJob(await call("scontrol", ["show", "job", "--oneliner", ...ofCluster(job), job.id], env));
  } catch (error) {
    if (error instanceof PrlError && UNKNOWN_JOB.test(error.message)) return null;
    throw error;
  }
}

export function isLive(facts: JobFacts | null): boolean {
  return facts !== null && LIVE_STATES.has(facts.state);
}

/** Errors: PRL_SLURM. A job that has ended is not an error. */
export async function cancelJob(job: JobId, env: SlurmEnvironment): Promise<void> {
  await call("scancel", [...ofCluster(job), job.id], env);
}

/** Reads the line of `scontrol show job --oneliner`. Errors: PRL_SLURM. */
export function parseJob(text: string): JobFacts {
  const field = (name: string): string | null => {
    const value = new RegExp(`(?:^|\\s)${name}=(\\S+)`, "u").exec(text)?.[1] ?? null;
    return value === null || value === "(null)" || value === "None" ? null : value;
  };
  const state = field("JobState");
  if (state === null)
    throw new PrlError("PRL_SLURM", `scontrol answered without a state: ${text.trim().slice(0, 200)}`);
  const [exitCode = 0, signal = 0] = (field("ExitCode") ?? "0:0").split(":").map(Number);
  return {
    state,
    reason: field("Reason"),
    nodes: field("NodeList"),
    restarts: Number(field("Restarts") ?? "0"),
    exitCode,
    signal,
    runTime: field("RunTime"),
    timeLimit: field("TimeLimit"),
  };
}

function ofCluster({ cluster }: JobId): string[] {
  return cluster === null ? [] : [`--clusters=${cluster}`];
}

function call(program: string, args: readonly string[], env: SlurmEnvironment, cwd?: string): Promise<string> {
  const options = {
    env,
    timeout: DEADLINE_MS,
    killSignal: "SIGKILL" as const,
    maxBuffer: MOST_OUTPUT_BYTES,
    ...(cwd !== undefined && { cwd }),
  };
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (cause, stdout, stderr) => {
      if (cause === null) resolve(stdout);
      else reject(refusal(program, cause, stderr.trim()));
    });
  });
}

function refusal(program: string, cause: Error & { code?: unknown; killed?: boolean }, said: string): PrlError {
  if (cause.code === "ENOENT") {
    const advice = "run this on a machine of the cluster that has Slurm's programs, or give prl rl without --slurm";
    return new PrlError("PRL_SLURM", `there is no program ${program} on PATH: ${advice}`, { cause });
  }
  // Node ends the program then, too: its error has both.
  if (cause.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") {
    const most = `${MOST_OUTPUT_BYTES / 2 ** 20} MiB`;
    return new PrlError("PRL_SLURM", `${program} printed more than ${most}, which prl does not read`, { cause });
  }
  if (cause.killed === true) {
    return new PrlError("PRL_SLURM", `${program} did not answer within ${DEADLINE_MS / 1000} s`, { cause });
  }
  return new PrlError("PRL_SLURM", `${program} refused: ${said === "" ? messageOf(cause) : said}`, { cause });
}
