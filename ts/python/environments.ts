/**
 * Python environments that backends need: `<PRL_CACHE_DIR>/python/<name>`, made by `prl python setup <name>`, or an interpreter that the
 * config names. Nothing is installed while a run starts: what is missing is an error that names the command.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

import { cacheDir } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { isThere } from "../files/file-presence.ts";

/** Environments by name, with the oldest version of each package that they work with. */
export const PYTHON_ENVIRONMENTS = {
  // safetensors before 0.8 holds Python's lock while it writes: a rank that writes much would count as stopped.
  torch: { torch: "2.9", transformers: "5.0", safetensors: "0.8" },
  // From 0.32 on vLLM reports which weights sampled which tokens.
  vllm: { vllm: "0.32" },
} as const satisfies Record<string, Record<string, string>>;
export type PythonEnvironment = keyof typeof PYTHON_ENVIRONMENTS;

const OLDEST_PYTHON = "3.11";
const PROBE_MS = 60_000;
/** Versions come from the packages' metadata: nothing is imported, so it takes no time. */
const PROBE = `
import importlib.metadata, json, platform, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps({"python": platform.python_version(), "packages": {name: version(name) for name in sys.argv[1:]}}))
`;
const probeSchema = z.object({ python: z.string(), packages: z.record(z.string(), z.string().nullable()) });

/** The packages of an interpreter. */
export interface PythonProbe {
  /** Version of Python. */
  python: string;
  /** Versions of the packages; null: not installed. */
  packages: Record<string, string | null>;
}

/** The config that makes a run need an environment. */
export const NEEDED_BY: Readonly<Record<PythonEnvironment, string>> = {
  torch: 'trainer.backend = "torch"',
  vllm: 'inference.backend = "vllm"',
};

/** Folder of an environment in the cache; it may not exist. */
export function environmentFolder(name: PythonEnvironment, root: string = cacheDir()): string {
  return join(root, "python", name);
}

/** The interpreter of an environment in the cache; null when it is not set up. */
export async function cachedInterpreter(name: PythonEnvironment, root?: string): Promise<string | null> {
  const folder = environmentFolder(name, root);
  return (await isThere(join(folder, COMPLETE))) ? interpreterIn(folder) : null;
}

/** Written last: what was set up. */
export const COMPLETE = "prl-environment.json";

export function interpreterIn(folder: string): string {
  return join(folder, "bin", "python");
}

/**
 * The interpreter for an environment: `chosen`, or that of the cache. Errors: PRL_PYTHON_MISSING when it is not there or lacks packages, with
 * the command that makes it.
 */
export async function findInterpreter(name: PythonEnvironment, chosen: string | null, key: string): Promise<string> {
  const interpreter = chosen ?? (await cachedInterpreter(name));
  if (interpreter === null) {
    const advice = `make it with \`npx prl python setup ${name}\`, or name an interpreter of yours with ${key}`;
    throw new PrlError("PRL_PYTHON_MISSING", `the Python environment "${name}" is not set up: ${advice}`);
  }
  const lacks = lacking(name, await probe(name, interpreter));
  if (lacks.length === 0) return interpreter;
  const advice = `install them there, or make an environment with \`npx prl python setup ${name}\` and leave ${key} out`;
  throw new PrlError("PRL_PYTHON_MISSING", `${interpreter} has ${lacks.join(", ")}: ${advice}`);
}

/** Versions of an interpreter and its packages. Errors: PRL_PYTHON_MISSING when it cannot be run. */
export async function probe(name: PythonEnvironment, interpreter: string): Promise<PythonProbe> {
  try {
    const args = ["-c", PROBE, ...Object.keys(PYTHON_ENVIRONMENTS[name])];
    const { stdout } = await promisify(execFile)(interpreter, args, { timeout: PROBE_MS, killSignal: "SIGKILL" });
    return probeSchema.parse(JSON.parse(stdout));
  } catch (cause) {
    throw new PrlError("PRL_PYTHON_MISSING", `${interpreter} does not run as a Python interpreter`, { cause });
  }
}

/** Packages that are missing or too old, each with the version that is needed. */
export function lacking(name: PythonEnvironment, { python, packages }: PythonProbe): string[] {
  const needed = Object.entries(PYTHON_ENVIRONMENTS[name]).map(([what, oldest]) => ({
    what,
    oldest,
    found: packages[what] ?? null,
  }));
  return [{ what: "Python", oldest: OLDEST_PYTHON, found: python }, ...needed].flatMap(({ what, oldest, found }) => {
    if (found === null) return [`no ${what} (${oldest} or newer)`];
    return isOlder(found, oldest) ? [`${what} ${found} (${oldest} or newer is needed)`] : [];
  });
}

/** Compares major and minor version. */
function isOlder(found: string, oldest: string): boolean {
  return order(found, oldest) < 0;
}

/** Whether a version has a higher major or minor number. */
export function isNewerThan(found: string, newest: string): boolean {
  return order(found, newest) > 0;
}

function order(found: string, other: string): number {
  const [major = 0, minor = 0] = found.split(".").map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number);
  return major === otherMajor ? minor - otherMinor : major - otherMajor;
}
