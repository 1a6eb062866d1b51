/**
 * Makes a Python environment of `environments.ts` in prl's cache: a virtual environment with exactly the packages of its lock file
 * (`locks/*.txt`, `installations.ts`), each checked against its digest. `uv` does it when it is there, else `venv` and `pip` of `python3`.
 *
 * A file says for which lock file the folder was made: packages for another device would stand in the way, so their folder is removed. The
 * file written last says that the environment is whole; without it the next call goes on where this one was stopped, with what the
 * installer has in its own cache.
 */
import { spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

import { cacheDir } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { atomicWriteFile, atomicWriteJson } from "../files/atomic-write.ts";
import { ifThere, isThere } from "../files/file-presence.ts";
import { makeFolder } from "../files/make-folder.ts";
import { hasNvidiaDriver, NVIDIA_DRIVER } from "./driver.ts";
import { COMPLETE, environmentFolder, interpreterIn, lacking, probe, type PythonEnvironment } from "./environments.ts";
import { type Installation, installationOf, type PythonDevice, writeAlias } from "./installations.ts";

/** Sources and build output are equally deep below the package's folder. */
const LOCKS = fileURLToPath(new URL("../../ts/python/locks", import.meta.url));
/** Name of the lock file, written when the environment is made, before its first package. */
const BEGUN = "prl-installation";

export interface SetUpOptions {
  /** `cuda` demands a GPU's driver; `cpu` does not look for one; null: cuda where there is a driver. */
  device: PythonDevice | null;
  /** Package index; null: that of the installer's own settings. */
  indexUrl: string | null;
  signal: AbortSignal;
  /** Called with each line of news. */
  say: (text: string) => void;
  /** Folder of the cache. */
  root?: string;
  /** Runs a program; for tests. */
  run?: (command: string, args: readonly string[], how: Running) => Promise<void>;
}

interface Running {
  readonly signal: AbortSignal;
  /** Variables beside those of this process. */
  readonly env: Readonly<Record<string, string>>;
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
  const { indexUrl, signal, say, root = cacheDir(), run = runProgram } = options;
  const device = await checkedDevice(options.device);
  const installation = installationOf(name, device);
  if (installation.needsLinux && process.platform !== "linux") {
    throw new PrlError("PRL_PYTHON_SETUP", `there are no packages of ${name} for ${process.platform}: use Linux`);
  }
  const folder = environmentFolder(name, root);
  const interpreter = interpreterIn(folder);
  const lock = join(LOCKS, `${installation.lock}.txt`);
  const wanted = await readFile(lock, "utf8");
  const complete = join(folder, COMPLETE);
  if (await hasLock(complete, wanted)) {
    return { folder, interpreter, packages: (await probe(name, interpreter)).packages, isKept: true };
  }
  say(sizeText(folder, installation));
  makeFolder(join(root, "python"));
  await clearFolder(folder, installation);
  const uv = await onPath("uv");
  const checked = ["--require-hashes", ...(installation.ignoresLists ? ["--no-deps"] : [])];
  // The address of an index may have a password, which arguments would show to every user of the machine.
  const env: Record<string, string> = indexUrl === null ? {} : { PIP_INDEX_URL: indexUrl, UV_DEFAULT_INDEX: indexUrl };
  const how = { signal, env };
  if (!(await isThere(interpreter))) {
    if (uv === null) await run("python3", ["-m", "venv", folder], how);
    else await run(uv, ["venv", "--python", ">=3.11", "--no-python-downloads", folder], how);
  }
  await atomicWriteFile(join(folder, BEGUN), `${installation.lock}\n`);
  if (uv === null) {
    const quiet = ["--disable-pip-version-check", "--no-input"];
    await run(interpreter, ["-m", "pip", "install", ...quiet, ...checked, "-r", lock], how);
  } else {
    await run(uv, ["pip", "install", "--python", interpreter, ...checked, "-r", lock], how);
  }
  if (installation.alias !== null) await writeAlias(folder, installation.alias);
  const found = await probe(name, interpreter);
  const lacks = lacking(name, found);
  if (lacks.length > 0)
    throw new PrlError("PRL_PYTHON_SETUP", `${folder} has ${lacks.join(", ")} after the installation`);
  await atomicWriteJson(complete, { name, device, lock: wanted, ...found });
  return { folder, interpreter, packages: found.packages, isKept: false };
}

/** Errors: PRL_PYTHON_SETUP for a GPU without its driver. */
async function checkedDevice(device: PythonDevice | null): Promise<PythonDevice> {
  const hasDriver = await hasNvidiaDriver();
  if (device === "cuda" && !hasDriver) {
    throw new PrlError("PRL_PYTHON_SETUP", `there is no NVIDIA driver (${NVIDIA_DRIVER}): install it, or use --cpu`);
  }
  return device ?? (hasDriver ? "cuda" : "cpu");
}

/** The sizes of the download and of the environment. */
function sizeText(folder: string, { size, note }: Installation): string {
  const isLinux = process.platform === "linux";
  const there = isLinux ? size : "about 0.3 GB to download, 1.5 GB on the disk";
  return (
    `${folder}: ${there}; some 5 minutes at 100 Mbit/s and more.\n` +
    (isLinux && note !== null ? `${note}\n` : "") +
    "A call that was interrupted goes on where it was when it is repeated.\n"
  );
}

/** Removes what is no beginning of this installation, such as an environment that was stopped before it had its installer. */
async function clearFolder(folder: string, { lock }: Installation): Promise<void> {
  const begun = join(folder, BEGUN);
  const earlier = await ifThere(readFile(begun, "utf8"), begun);
  if (earlier?.trim() !== lock) await rm(folder, { recursive: true, force: true });
  await rm(join(folder, COMPLETE), { force: true });
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
async function runProgram(command: string, args: readonly string[], { signal, env }: Running): Promise<void> {
  const child = spawn(command, args, { stdio: ["ignore", 2, 2], signal, env: { ...process.env, ...env } });
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
