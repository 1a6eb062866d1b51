/** Runs the built `prl` as a user would, in a separate process and folder. */

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { sharedFolder } from "./runs/shared-folder.ts";

export const ROOT = resolve(import.meta.dirname, "../..");
/** The command as it is installed. */
export const MAIN = join(ROOT, "bundle/cli/main.js");
/** Shorter than a test's, so that the output of a process that hangs is in the message. */
const DEADLINE_MS = 200_000;

export interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  finished: Promise<Finished>;
}

/**
 * A folder for one test, with what it needs to start `prl` in it.
 *
 * @param cache "shared": that of all test files, so that a warm start is made once; "empty": for tests that look into the cache or damage it
 */
export async function workspace(
  cache: "shared" | "empty" = "shared",
): Promise<{ dir: string; cache: string; remove: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), "prl-e2e-"));
  return {
    dir,
    cache: join(cache === "empty" ? dir : sharedFolder(), "cache"),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

export interface StartOptions {
  cwd: string;
  cache: string;
  env?: Record<string, string>;
  /** Killed after that. Default: 200 s. */
  deadlineMs?: number;
  /** File of the command. Default: the one that is installed. */
  main?: string;
}

export function start(args: string[], options: StartOptions): Running {
  const { cwd, cache, env = {}, deadlineMs = DEADLINE_MS, main = MAIN } = options;
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...process.env, PRL_CACHE_DIR: cache, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
  const finished = new Promise<Finished>((done, fail) => {
    let [stdout, stderr] = ["", ""];
    child.stdout?.on("data", (chunk) => (stdout += String(chunk)));
    child.stderr?.on("data", (chunk) => (stderr += String(chunk)));
    child.on("error", fail);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      done({ code, signal, stdout, stderr });
    });
  });
  return { child, finished };
}

export function prl(args: string[], options: Parameters<typeof start>[1]): Promise<Finished> {
  return start(args, options).finished;
}

export async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, "utf8")) as T;
}

export async function readJsonLines<T>(path: string): Promise<T[]> {
  const text = await readFile(path, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

/** Process ids of the run's children, from their ready files. */
export async function childPids(runDir: string): Promise<Record<string, number>> {
  const pids: Record<string, number> = {};
  for (const name of await readdir(join(runDir, "run")).catch(() => [])) {
    // The lock is the launcher's, which is not a child and pins itself to its cores only after it has the lock.
    if (!name.endsWith(".json") || name.startsWith("lock-")) continue;
    // A process that ends removes its file.
    const ready = await readJson<{ pid?: number }>(join(runDir, "run", name)).catch(() => null);
    if (typeof ready?.pid === "number") pids[name.replace(/\.json$/, "")] = ready.pid;
  }
  return pids;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
