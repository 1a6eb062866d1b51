/**
 * The logs of a run's newest attempt, `logs/latest/<component>-<index>.log`: lists them, reads them and follows them.
 */
import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { nearest } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { isMissing } from "../../files/file-presence.ts";
import { lockHolder } from "../../files/run-lock.ts";
import { runDirectories } from "./find-runs.ts";
import { LogTail } from "./log-tail.ts";

const POLL_MS = 250;
const SUFFIX = ".log";

/** `process` is the file's name without `.log`, `inference-1`. */
export type OnLogLine = (process: string, line: string) => void;

/** The run that was started last; null when none has logs. */
export async function newestRun(outputDir: string): Promise<string | null> {
  let newest: { path: string; time: number } | null = null;
  for (const path of await runDirectories(outputDir)) {
    const time = await linkedAt(join(path, "logs", "latest"));
    if (time !== null && (newest === null || time > newest.time)) newest = { path, time };
  }
  return newest?.path ?? null;
}

/** Names of the processes that have a log, sorted; none when the run has no logs. */
export async function processesOf(runDir: string): Promise<string[]> {
  try {
    const files = await readdir(join(runDir, "logs", "latest"));
    return files
      .filter((file) => file.endsWith(SUFFIX))
      .map((file) => file.slice(0, -SUFFIX.length))
      .toSorted();
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw new PrlError("PRL_IO", `cannot list the logs of ${runDir}`, { cause });
  }
}

/** `inference` names all of its processes, `inference-1` one of them; null: every process. */
export function isOf(component: string | null, process: string): boolean {
  return component === null || process === component || process.replace(/-\d+$/, "") === component;
}

/** @throws PrlError `PRL_CLI_USAGE` naming the components of the run when this is none of them */
export function checkComponent(runDir: string, component: string | null, processes: readonly string[]): void {
  if (component === null || processes.some((process) => isOf(component, process))) return;
  const near = nearest(component, processes);
  throw new PrlError(
    "PRL_CLI_USAGE",
    `the run ${basename(runDir)} has no log of ${JSON.stringify(component)}, only of ${processes.join(", ")}` +
      (near === null ? "" : `; did you mean ${near}?`),
  );
}

/** Reads every line, one process after the other. */
export async function readLogs(runDir: string, component: string | null, onLine: OnLogLine): Promise<void> {
  for (const process of await processesOf(runDir)) {
    if (!isOf(component, process)) continue;
    const tail = new LogTail(logPath(join(runDir, "logs", "latest"), process));
    const take = (line: string): void => onLine(process, line);
    await tail.poll(take);
    await tail.end(take);
  }
}

/**
 * Hands out existing and new lines until no process holds the run any more or `signal` is aborted. Processes may join, and a new attempt may
 * replace the one that is followed.
 */
export async function followLogs(
  runDir: string,
  component: string | null,
  onLine: OnLogLine,
  signal: AbortSignal,
): Promise<void> {
  const tails = new Map<string, { process: string; tail: LogTail }>();
  for (;;) {
    // This comes first, so that what was written before the run ended is still read.
    const isLive = (await lockHolder(runDir)) !== null;
    const folder = await latestFolder(runDir);
    for (const process of folder === null ? [] : await processesOf(runDir)) {
      const path = logPath(folder ?? "", process);
      if (isOf(component, process) && !tails.has(path)) tails.set(path, { process, tail: new LogTail(path) });
    }
    for (const { process, tail } of tails.values()) await tail.poll((line) => onLine(process, line));
    if (!isLive || signal.aborted) break;
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
  for (const { process, tail } of tails.values()) await tail.end((line) => onLine(process, line));
}

function logPath(folder: string, process: string): string {
  return join(folder, process + SUFFIX);
}

/** Where `logs/latest` leads. */
async function latestFolder(runDir: string): Promise<string | null> {
  try {
    return await realpath(join(runDir, "logs", "latest"));
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw new PrlError("PRL_IO", `cannot find the logs of ${runDir}`, { cause });
  }
}

async function linkedAt(path: string): Promise<number | null> {
  try {
    return (await lstat(path)).mtimeMs;
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw new PrlError("PRL_IO", `cannot look at ${path}`, { cause });
  }
}
