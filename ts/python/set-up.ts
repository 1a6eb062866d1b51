/**
 * Makes a Python environment of `environments.ts` in prl's cache: a virtual environment with exactly the packages of its lock file
 * (`locks/<name>.txt`), each checked against its digest. `uv` does it when it is there, else `venv` and `pip` of `python3`.
 *
 * The last file written says that the environment is whole; without it the next call goes on where this one was stopped, with what the
 * installer has in its own cache.
 */
import { spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

import { cacheDir } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { atomicWriteJson } from "../files/atomic-write.ts";
import { isThere } from "../files/file-presence.ts";
import { makeFolder } from "../files/make-folder.ts";
import { COMPLETE, environmentFolder, interpreterIn, lacking, probe, type PythonEnvironment } from "./environments.ts";

/** Sources and build output are equally deep below the package's folder. */
const LOCKS = fileURLToPath(new URL("../../ts/python/locks", import.meta.url));
const DRIVER = "/proc/driver/nvidia/version";

export interface SetUpOptions {
  /** `cuda` demands a GPU's driver; `cpu` does not look for one. */
  device: "cpu" | "cuda";
  /** Package index; null: that of the installer's own settings. */
  indexUrl: string | null;
  signal: AbortSignal;
  /** Called with each line of news. */
  say: (text: string) => void;
  /** Folder of the cache. */
  root?: string;
  /** Runs a program; for tests. */
  run?: (command: string, args: readonly string[], signal: AbortSignal) => Promise<void>;
}

export interface MadeEnvironment {
  folder: string;
  interpreter: string;
  /** Versions of the packages that the backend needs. */
  packages: Record<string, string | null>;
  /** It was there already, with this lock file. */
  isKept: boolean;
}

/** Errors: PRL_PYTHON_SETUP when a program is missing or fails; PRL_IO. */
export async function setUpPython(name: PythonEnvironment, options: SetUpOptions): Promise<MadeEnvironment> {
  const { device, indexUrl, signal, say, root = cacheDir(), run = runProgram } = options;
  if (device === "cuda" && !(await isThere(DRIVER))) {
    throw new PrlError("PRL_PYTHON_SETUP", `there is no NVIDIA driver (${DRIVER}): install it, or use --cpu`);
  }
  const folder = environmentFolder(name, root);
  const interpreter = interpreterIn(folder);
  const lock = join(LOCKS, `${name}.txt`);
  const wanted = await readFile(lock, "utf8");
  const complete = join(folder, COMPLETE);
  if (await hasLock(complete, wanted)) {
    return { folder, interpreter, packages: (await probe(name, interpreter)).packages, isKept: true };
  }
  say(sizeText(folder));
  makeFolder(join(root, "python"));
  await rm(complete, { force: true });
  const uv = await onPath("uv");
  const index = indexUrl === null ? [] : ["--index-url", indexUrl];
  if (!(await isThere(interpreter))) {
    if (uv === null) await run("python3", ["-m", "venv", folder], signal);
    else await run(uv, ["venv", "--python", ">=3.11", "--no-python-downloads", folder], signal);
  }
  if (uv === null) {
    const quiet = ["--disable-pip-version-check", "--no-input"];
    await run(interpreter, ["-m", "pip", "install", ...quiet, "--require-hashes", ...index, "-r", lock], signal);
  } else {
    await run(uv, ["pip", "install", "--python", interpreter, "--require-hashes", ...index, "-r", lock], signal);
  }
  const found = await probe(name, interpreter);
  const lacks = lacking(name, found);
  if (lacks.length > 0)
    throw new PrlError("PRL_PYTHON_SETUP", `${folder} has ${lacks.join(", ")} after the installation`);
  await atomicWriteJson(complete, { name, device, lock: wanted, ...found });
  return { folder, interpreter, packages: found.packages, isKept: false };
}

/** What will be downloaded and written; on Linux the packages of the index compute on processors and on NVIDIA GPUs alike. */
function sizeText(folder: string): string {
  const size =
    process.platform === "linux"
      ? "about 3 GB to download, 6 GB on the disk"
      : "about 0.3 GB to download, 1.5 GB on the disk";
  return (
    `${folder}: ${size}; some 5 minutes at 100 Mbit/s and more.\n` +
    "A call that was interrupted goes on where it was when it is repeated.\n"
  );
}

async function hasLock(complete: string, wanted: string): Promise<boolean> {
  if (!(await isThere(complete))) return false;
  const { lock } = JSON.parse(await readFile(complete, "utf8")) as { lock?: unknown };
  return lock === wanted;
}

async function onPath(program: string): Promise<string | null> {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter).filter((part) => part !== "")) {
    if (await isThere(join(folder, program))) return join(folder, program);
  }
  return null;
}

/** Its output goes to standard error. */
async function runProgram(command: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  const child = spawn(command, args, { stdio: ["ignore", 2, 2], signal });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  }).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new PrlError("PRL_PYTHON_SETUP", `cannot run ${command}: install Python 3.11 or newer, or uv`, { cause });
  });
  if (code === 0) return;
  throw new PrlError("PRL_PYTHON_SETUP", `${command} ${args.join(" ")} failed (exit code ${code}); it said why above`);
}
