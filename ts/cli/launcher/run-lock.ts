/**
 * One launcher per run directory: `run/lock.json` names the process that has it.
 *
 * A lock whose process is gone is nobody's. A process number that another program has by now is told by the time at which it started.
 */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { atomicWriteJson } from "../../monitors/index.ts";

const lockSchema = z.object({ pid: z.int().positive(), started: z.string() });
/** Of /proc/<pid>/stat, counted behind the command's closing bracket: when the process started, in clock ticks since boot. */
const START_FIELD = 19;

/** @throws PrlError `PRL_RUN_LOCKED` naming the process that uses the run directory */
export async function assertUnlocked(runDir: string): Promise<void> {
  const pid = await lockHolder(runDir);
  if (pid === null || pid === process.pid) return;
  throw new PrlError(
    "PRL_RUN_LOCKED",
    `the run directory ${runDir} is in use by a live run, process ${pid}: wait for it, end it, or choose another name with --run.name`,
  );
}

/**
 * The live process that has the run directory, null when there is none.
 *
 * @throws PrlError `PRL_IO` when the lock cannot be read
 */
export async function lockHolder(runDir: string): Promise<number | null> {
  const lock = await readLock(runDir);
  return lock !== null && (await startOf(lock.pid)) === lock.started ? lock.pid : null;
}

/** Takes the directory; `run/` must be there. */
export async function takeLock(runDir: string): Promise<void> {
  await assertUnlocked(runDir);
  await atomicWriteJson(lockPath(runDir), { pid: process.pid, started: (await startOf(process.pid)) ?? "" });
}

export async function releaseLock(runDir: string): Promise<void> {
  await rm(lockPath(runDir), { force: true });
}

function lockPath(runDir: string): string {
  return join(runDir, "run", "lock.json");
}

async function readLock(runDir: string): Promise<z.output<typeof lockSchema> | null> {
  try {
    return lockSchema.parse(JSON.parse(await readFile(lockPath(runDir), "utf8")));
  } catch (error) {
    if (isMissing(error)) return null;
    throw new PrlError("PRL_IO", `${lockPath(runDir)} cannot be read: delete it if no run uses the directory`, {
      cause: error,
    });
  }
}

/** Null when there is no such process. */
async function startOf(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_FIELD] ?? "";
  } catch (error) {
    if (isMissing(error)) return null;
    throw new PrlError("PRL_IO", `cannot look at process ${pid}`, { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR" || code === "ESRCH";
}
