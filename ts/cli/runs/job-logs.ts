/**
 * The logs of a run's Slurm job: that of its script (`job`), those of its roles, and those of the processes that a launcher among the roles
 * started. Of roles and processes it is the newest start.
 */
import { readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ifThere } from "../../files/file-presence.ts";
import { LogTail } from "./log-tail.ts";
import { isOf, type OnLogLine } from "./run-logs.ts";

const POLL_MS = 500;
const SUFFIX = ".log";
/** The job's script writes here; Slurm puts in the number of the job. */
const JOB = "job";

/** Path of each log by the name of its process, the script's first. */
export async function jobLogs(runDir: string, jobId: string): Promise<Map<string, string>> {
  const logs = new Map([[JOB, join(runDir, "slurm", `job-${jobId}${SUFFIX}`)]]);
  for (const link of [join(runDir, "slurm", "latest"), join(runDir, "logs", "latest")]) {
    const folder = await ifThere(realpath(link), link);
    const names = folder === null ? [] : ((await ifThere(readdir(folder), folder)) ?? []);
    for (const name of names.toSorted()) {
      if (name.endsWith(SUFFIX)) logs.set(name.slice(0, -SUFFIX.length), join(folder ?? "", name));
    }
  }
  return logs;
}

/**
 * Hands out the lines that are there, log by log, and then, with `follow`, new ones as long as `isLive` says so and `signal` is not aborted.
 *
 * @param role a component or one process of it; null: all
 */
export async function readJobLogs(
  job: { runDir: string; id: string; role: string | null },
  onLine: OnLogLine,
  follow: { readonly isLive: () => Promise<boolean>; readonly signal: AbortSignal } | null,
): Promise<void> {
  const tails = new Map<string, { process: string; tail: LogTail }>();
  for (;;) {
    // This comes first, so that what was written before the job ended is still read.
    const isLast = follow === null || follow.signal.aborted || !(await follow.isLive());
    for (const [process, path] of await jobLogs(job.runDir, job.id)) {
      if (isOf(job.role, process) && !tails.has(path)) tails.set(path, { process, tail: new LogTail(path) });
    }
    for (const { process, tail } of tails.values()) await tail.poll((line) => onLine(process, line));
    if (isLast) break;
    await sleep(POLL_MS, undefined, { signal: follow.signal }).catch(() => undefined);
  }
  for (const { process, tail } of tails.values()) await tail.end((line) => onLine(process, line));
}
