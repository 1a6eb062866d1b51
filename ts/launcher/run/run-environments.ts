/**
 * `configs/environments.lock` of a run: the environment packages that it uses, with their bytes. A resumed run has to have the same.
 *
 * A package that is linked (installed by its folder), a module by its path and a built-in environment are not in it.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import {
  describeInstalled,
  LOCK_FILE,
  type Locked,
  lockDifference,
  lockDocument,
  lockedIn,
  projectOf,
} from "../../environments/run-start.ts";
import { PrlError } from "../../errors.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { ifThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import type { EnvironmentRecord } from "../checks/check-environments.ts";

/**
 * Writes the packages of a run's environments into its `configs`. With `isResumed` those that an earlier attempt wrote
 * are compared first; an environment that is new in this attempt is compared with nothing. A run without packages has no such file.
 *
 * @throws PrlError `PRL_RUN_DRIFT` naming the package and what differs
 */
export async function lockEnvironments(
  runDir: string,
  environments: readonly Pick<EnvironmentRecord, "origin">[],
  isResumed: boolean,
): Promise<void> {
  const path = join(runDir, "configs", LOCK_FILE);
  const now = await packagesOf(environments);
  const earlier = isResumed ? await earlierLock(path) : null;
  if (earlier !== null) assertSame(earlier, now, runDir);
  if (earlier === null && Object.keys(now).length === 0) return;
  makeFolder(join(runDir, "configs"));
  await atomicWriteJson(path, lockDocument(now));
}

async function packagesOf(environments: readonly Pick<EnvironmentRecord, "origin">[]): Promise<Locked> {
  const packages: Record<string, Locked[string]> = {};
  for (const { origin } of environments) {
    if (origin.kind !== "package" || origin.name in packages || projectOf(origin.dir) === null) continue;
    packages[origin.name] = await describeInstalled(origin);
  }
  return packages;
}

async function earlierLock(path: string): Promise<Locked | null> {
  const text = await ifThere(readFile(path, "utf8"), path);
  try {
    return text === null ? null : lockedIn(text);
  } catch (cause) {
    const advice = "put it back as it was, or start the run again with --clean, which deletes all of it";
    throw new PrlError("PRL_RUN_DRIFT", `${path} is damaged, so the environments cannot be compared: ${advice}`, {
      cause,
    });
  }
}

function assertSame(earlier: Locked, now: Locked, runDir: string): void {
  for (const [name, found] of Object.entries(now)) {
    const before = earlier[name];
    const difference = before === undefined ? null : lockDifference(before, found);
    if (before === undefined || difference === null) continue;
    throw new PrlError(
      "PRL_RUN_DRIFT",
      `${runDir}: the environment package ${name} is not the one of the run that is resumed (${difference}): prl env install ${name}@${before.version} brings it back, or start a new run`,
    );
  }
}
