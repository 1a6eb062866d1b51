/**
 * One launcher per run directory: `run/lock-<pid>.json` names a process that holds the directory, or wants it.
 *
 * A process that wants the directory first writes its own file and then reads the others: of two at the same moment at least one sees the other and
 * withdraws, so they never both hold it. A file whose process is gone does not count. A process number that another program has by now is recognised
 * by the time at which the process started.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { isMissing } from "./file-presence.ts";
import { makeDurableFolder } from "./make-folder.ts";
import { atomicWriteJson } from "./atomic-write.ts";

const lockSchema = z.object({
  pid: z.int().positive(),
  started: z.string(),
  /** False while it is not known whether another one wants the directory too. */
  held: z.boolean().default(true),
});
type Lock = z.output<typeof lockSchema>;

const LOCK_FILE = /^lock-\d+\.json$/;
/** Field of /proc/<pid>/stat, counted behind the command's closing bracket: when the process started, in clock ticks since boot. */
const START_FIELD = 19;
/** The state, in the first of those fields, of a process that its parent has not waited for. */
const ENDED = "Z";
/** Two processes that withdrew for each other try again, each after a random pause. */
const TRIES = 20;
const LONGEST_PAUSE_MS = 100;

/** Directories that this process holds. */
const held = new Set<string>();

/** True for the files of this module in `run/`, half-written ones included. */
export function isLockFile(name: string): boolean {
  return /^\.?lock-\d+\.json/.test(name);
}

/** @throws PrlError `PRL_RUN_LOCKED` naming the process that uses the run directory */
export async function assertUnlocked(runDir: string): Promise<void> {
  const pid = await lockHolder(runDir);
  if (pid !== null) throw locked(runDir, pid);
}

/**
 * The live process that holds the run directory, null when there is none.
 *
 * @throws PrlError `PRL_IO` when a lock cannot be read
 */
export async function lockHolder(runDir: string): Promise<number | null> {
  return (await liveLocks(runDir)).find((lock) => lock.held)?.pid ?? null;
}

/**
 * Takes the directory, which must exist.
 *
 * @throws PrlError `PRL_RUN_LOCKED` when another process holds it, or this one does for another run
 */
export async function takeLock(runDir: string): Promise<void> {
  if (held.has(runDir)) throw locked(runDir, process.pid);
  held.add(runDir);
  try {
    await makeDurableFolder(join(runDir, "run"));
    await contend(runDir);
  } catch (error) {
    await releaseLock(runDir);
    throw error;
  }
}

export async function releaseLock(runDir: string): Promise<void> {
  if (held.delete(runDir)) await rm(entryPath(runDir), { force: true });
}

async function contend(runDir: string): Promise<void> {
  const own = { pid: process.pid, started: (await processStart(process.pid)) ?? "" };
  let rival: Lock | undefined;
  for (let tried = 0; tried < TRIES; tried++) {
    await atomicWriteJson(entryPath(runDir), { ...own, held: false });
    rival = (await liveLocks(runDir)).find(({ pid }) => pid !== process.pid);
    if (rival === undefined) {
      await atomicWriteJson(entryPath(runDir), { ...own, held: true });
      await sweep(runDir);
      return;
    }
    await rm(entryPath(runDir), { force: true });
    if (rival.held) break;
    await sleep(Math.random() * LONGEST_PAUSE_MS);
  }
  throw locked(runDir, rival?.pid ?? 0);
}

function locked(runDir: string, pid: number): PrlError {
  return new PrlError(
    "PRL_RUN_LOCKED",
    `the run directory ${runDir} is in use by a live run, process ${pid}: wait for it, end it, or choose another name with --run.name`,
  );
}

function entryPath(runDir: string): string {
  return join(runDir, "run", `lock-${process.pid}.json`);
}

/** Removes files of processes that are gone. */
async function sweep(runDir: string): Promise<void> {
  const live = new Set((await liveLocks(runDir)).map(({ pid }) => `lock-${pid}.json`));
  for (const name of await readdir(join(runDir, "run"))) {
    if (LOCK_FILE.test(name) && !live.has(name)) await rm(join(runDir, "run", name), { force: true });
  }
}

/** Locks of live processes. */
async function liveLocks(runDir: string): Promise<Lock[]> {
  const dir = join(runDir, "run");
  const names = await readdir(dir).catch((error: unknown) => {
    if (isGone(error)) return [];
    throw new PrlError("PRL_IO", `${dir} cannot be listed`, { cause: error });
  });
  const locks = await Promise.all(
    names.filter((name) => LOCK_FILE.test(name)).map((name) => readLock(join(dir, name))),
  );
  const live = await Promise.all(
    locks.map(async (lock) => (lock !== null && (await processStart(lock.pid)) === lock.started ? [lock] : [])),
  );
  return live.flat();
}

async function readLock(path: string): Promise<Lock | null> {
  try {
    return lockSchema.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (error) {
    if (isGone(error)) return null;
    throw new PrlError("PRL_IO", `${path} cannot be read: delete it if no run uses the directory`, { cause: error });
  }
}

/** When a process was started, as the kernel counts; null when there is no such process, or it has ended and its parent has not waited for it. */
export async function processStart(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === ENDED ? null : (fields[START_FIELD] ?? "");
  } catch (error) {
    if (isGone(error)) return null;
    throw new PrlError("PRL_IO", `cannot look at process ${pid}`, { cause: error });
  }
}

/** Whether the file is gone, also a file in /proc whose process ended while it was read. */
function isGone(error: unknown): boolean {
  return isMissing(error) || (error instanceof Error && "code" in error && error.code === "ESRCH");
}
