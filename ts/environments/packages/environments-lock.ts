/**
 * `environments.lock`: which environment packages a project has, in which version and with which bytes. `prl env install` writes it beside
 * the project's package.json.
 *
 * A package that Node finds in the `node_modules` of a folder with such a file is loaded only when it is the one in the file. A package that
 * is linked (installed by its folder) is under development, and is not locked. Nothing here imports a package.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { ifThere } from "../../files/file-presence.ts";
import { contentDigest } from "./content-digest.ts";
import type { EnvironmentPackage } from "./environment-package.ts";
import { installedTree } from "./installed-tree.ts";

export const LOCK_FILE = "environments.lock";
const FORMAT = 1;

/** One locked environment. */
export interface LockedPackage {
  readonly version: string;
  /** npm's digest of the archive; null where npm knows none (a folder, a git address). */
  readonly integrity: string | null;
  /** Digest of the installed files (`contentDigest`). */
  readonly content: string;
  /** Version and integrity of everything that it depends on, by place below `node_modules`. */
  readonly dependencies: Readonly<Record<string, string>>;
}

export type Locked = Readonly<Record<string, LockedPackage>>;

const schema = z.object({
  format: z.literal(FORMAT),
  environments: z.record(
    z.string(),
    z.object({
      version: z.string(),
      integrity: z.string().nullable(),
      content: z.string(),
      dependencies: z.record(z.string(), z.string()),
    }),
  ),
});

/** The project whose `node_modules` hold a folder; null for a folder that is in none. */
export function projectOf(dir: string): string | null {
  const [project, ...rest] = dir.split(/[/\\]node_modules[/\\]/u);
  return project === undefined || rest.length === 0 ? null : project;
}

/** The locked environments of a project; null when it has no such file. Throws PRL_ENVIRONMENT_UNLOCKED for a file that is damaged. */
export async function readLock(project: string): Promise<Locked | null> {
  const path = join(project, LOCK_FILE);
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  try {
    return lockedIn(text);
  } catch (cause) {
    const advice = "put it back as it was, or remove it and install the environments again";
    throw new PrlError("PRL_ENVIRONMENT_UNLOCKED", `${path} is damaged: ${advice}`, { cause });
  }
}

/** Reads the text of such a file. Throws what JSON and zod throw. */
export function lockedIn(text: string): Locked {
  return schema.parse(JSON.parse(text)).environments;
}

/** Replaces the file; entries are sorted, so that equal locks are equal files. */
export async function writeLock(project: string, locked: Locked): Promise<void> {
  await atomicWriteJson(join(project, LOCK_FILE), lockDocument(locked));
}

/** The content of such a file. */
export function lockDocument(locked: Locked): object {
  const environments = Object.fromEntries(Object.entries(locked).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { format: FORMAT, environments };
}

/** The packages that are installed now. */
export async function describeInstalled({
  name,
  version,
  dir,
}: Pick<EnvironmentPackage, "name" | "version" | "dir">): Promise<LockedPackage> {
  const { integrity, dependencies } = await installedTree(projectOf(dir), dir, name);
  return { version, integrity, content: await contentDigest(dir), dependencies };
}

/**
 * Refuses a package that is not the one that its project's `environments.lock` names; does nothing for a linked package or in a project
 * without such a file.
 *
 * @throws PrlError `PRL_ENVIRONMENT_UNLOCKED` saying what differs
 */
export async function assertLocked(found: EnvironmentPackage): Promise<void> {
  const project = projectOf(found.dir);
  const locked = project === null ? null : await readLock(project);
  if (project === null || locked === null) return;
  const expected = locked[found.name];
  const difference =
    expected === undefined ? "it is not there" : lockDifference(expected, await describeInstalled(found));
  if (difference === null) return;
  throw new PrlError(
    "PRL_ENVIRONMENT_UNLOCKED",
    `${found.name} in ${found.dir} is not what ${join(project, LOCK_FILE)} says (${difference}): prl env install ${found.name}@${expected?.version ?? found.version} brings both together`,
  );
}

/** How two states of a package differ, in words; null when they are the same. */
export function lockDifference(expected: LockedPackage, now: LockedPackage): string | null {
  if (expected.version !== now.version) return `version ${now.version} instead of ${expected.version}`;
  if (expected.integrity !== now.integrity) return `integrity ${now.integrity} instead of ${expected.integrity}`;
  if (expected.content !== now.content) return "its files were changed";
  const places = new Set([...Object.keys(expected.dependencies), ...Object.keys(now.dependencies)]);
  for (const place of [...places].toSorted()) {
    const [before, after] = [expected.dependencies[place] ?? "absent", now.dependencies[place] ?? "absent"];
    if (before !== after) return `its dependency ${place} is ${after} instead of ${before}`;
  }
  return null;
}
