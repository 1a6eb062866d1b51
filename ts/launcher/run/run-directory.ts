/**
 * The run directory: its name, its lock, its fixed parts.
 *
 * A run never writes into another run's directory: one that holds more than `configs/`, `slurm/`, `kubernetes/` and `ssh/` is refused, or emptied first with `clean`, and
 * only when it lies inside `output_dir`.
 */
import { createHash, randomBytes } from "node:crypto";
import { readdir, rm, symlink } from "node:fs/promises";
import { basename, join, resolve, sep } from "node:path";

import { PrlError } from "../../errors.ts";
import { makeDurableFolder, makeFolder, makePrivateFolder } from "../../files/make-folder.ts";
import { assertUnlocked, isLockFile, releaseLock, takeLock } from "../../files/run-lock.ts";

/** Everything that the name and the place of a run directory depend on. */
export interface RunPlace {
  /** `run.name`; null: a name is made. */
  name: string | null;
  outputDir: string;
  /** Names of the training sources. */
  environments: readonly string[];
  /** Folder or name of the model. */
  model: string;
  /** Empty the directory first. */
  clean: boolean;
  /** Take its lock first. */
  hold?: boolean;
}

export interface RunDirectory {
  /** Name of the run, the last part of `path`. */
  name: string;
  /** Absolute path. */
  path: string;
  /** Number of launches in the directory, this one included. */
  attempt: number;
  /** This run holds the lock already. */
  isHeld?: boolean;
}

const RUN_NAME_DIGIT_BYTES = 4;
/** A file name has at most 255 bytes, and a made-up one ends with eight digits. */
const LONGEST_PREFIX = 200;
const DIGEST_DIGITS = 8;
/** Entries that are there before a run begins: its config, and the scripts that a cluster starts it with. */
const TOLERATED = new Set(["configs", "slurm", "kubernetes", "ssh"]);

/** `<envs>--<model>--<8 hex>`, lower-case, only characters that are safe in file names. */
export function madeUpRunName(environments: readonly string[], model: string, digits: string = randomDigits()): string {
  return runNamePrefix(environments, model) + digits;
}

/** Prefix of the made-up names of runs with these environments and this model; the end of a long one is a digest of the whole. */
export function runNamePrefix(environments: readonly string[], model: string): string {
  const unique = [...new Set(environments)];
  const whole = `${unique.map(fileNamePart).join("-")}--${fileNamePart(basename(model))}--`;
  if (whole.length <= LONGEST_PREFIX) return whole;
  const digest = createHash("sha256").update(whole).digest("hex").slice(0, DIGEST_DIGITS);
  return `${whole.slice(0, LONGEST_PREFIX - DIGEST_DIGITS - "---".length)}-${digest}--`;
}

function randomDigits(): string {
  return randomBytes(RUN_NAME_DIGIT_BYTES).toString("hex");
}

function fileNamePart(text: string): string {
  const part = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[-.]+|-+$/g, "");
  return part === "" ? "unnamed" : part;
}

/**
 * Names the run, checks that its directory may be used, and makes `configs/` in it.
 *
 * @throws PrlError `PRL_RUN_LOCKED`; `PRL_RUN_EXISTS` when it is not empty and `clean` is off, or lies outside `output_dir` and `clean` is on.
 */
export async function prepareRunDirectory(place: RunPlace): Promise<RunDirectory> {
  const name = place.name ?? madeUpRunName(place.environments, place.model);
  const outputDir = resolve(place.outputDir);
  const path = resolve(outputDir, name);
  await assertUnlocked(path);
  if (place.clean) assertInside(path, outputDir);
  await listIfThere(path);
  const hold = place.hold ?? false;
  // Prompts, replies and configs are for this user alone.
  await makePrivateFolder(path);
  if (hold) await takeLock(path);
  return whileHeld(path, async () => {
    if (place.clean) await emptyDirectory(path, hold);
    else await refuseWhatIsThere(path);
    await makeDurableFolder(join(path, "configs"));
    return { name, path, attempt: 1, isHeld: hold };
  });
}

/** Locks the directory and runs `work`; the lock stays unless the work fails. */
export async function whileHeld<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await releaseLock(path);
    throw error;
  }
}

async function refuseWhatIsThere(path: string): Promise<void> {
  const entries = (await listIfThere(path)).filter((entry) => !TOLERATED.has(entry));
  const isLocksOnly = entries.includes("run") && (await listIfThere(join(path, "run"))).every(isLockFile);
  const inTheWay = isLocksOnly ? entries.filter((entry) => entry !== "run") : entries;
  if (inTheWay.length === 0) return;
  throw new PrlError(
    "PRL_RUN_EXISTS",
    `the run directory ${path} already holds ${inTheWay.toSorted().slice(0, 4).join(", ")}${inTheWay.length > 4 ? ", ..." : ""}: ` +
      "choose another name with --run.name, go on with --resume, or delete what is there with --clean",
  );
}

/**
 * Makes the folders that a run writes to, and `logs/latest`, and locks the directory.
 *
 * @throws PrlError `PRL_RUN_LOCKED`, `PRL_IO`
 */
export async function openRunDirectory({ path, attempt, isHeld }: RunDirectory): Promise<{ logs: string }> {
  if (isHeld !== true) await takeLock(path);
  const logs = join(path, "logs", `attempt_${attempt}`);
  try {
    makeFolder(logs, path);
    await rm(join(path, "logs", "latest"), { force: true });
    await symlink(basename(logs), join(path, "logs", "latest"));
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot prepare the run directory ${path}`, { cause });
  }
  return { logs };
}

function assertInside(path: string, outputDir: string): void {
  if (path.startsWith(outputDir.endsWith(sep) ? outputDir : outputDir + sep)) return;
  throw new PrlError("PRL_RUN_EXISTS", `--clean deletes only inside output_dir: ${path} is not in ${outputDir}`);
}

/** Deletes everything except, where the directory is held, the lock. */
async function emptyDirectory(path: string, isHeld: boolean): Promise<void> {
  const all = await listIfThere(path);
  const entries = all.filter((entry) => !isHeld || entry !== "run");
  const inRun = isHeld ? (await listIfThere(join(path, "run"))).filter((entry) => !isLockFile(entry)) : [];
  try {
    for (const entry of [...entries, ...inRun.map((name) => join("run", name))]) {
      await rm(join(path, entry), { recursive: true, force: true });
    }
  } catch (cause) {
    throw new PrlError("PRL_IO", `--clean cannot delete what is in ${path}`, { cause });
  }
}

async function listIfThere(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "ENOENT") return [];
    if (code === "ENOTDIR") {
      throw new PrlError("PRL_RUN_EXISTS", `${path} cannot be a run directory: it is, or lies below, a file`, {
        cause,
      });
    }
    throw new PrlError("PRL_IO", `cannot use ${path} as a run directory`, { cause });
  }
}
