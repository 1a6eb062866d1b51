/**
 * A folder that all test files of one run of vitest share: a cache of prl, so that a warm start or random weights are made once, and undisturbed
 * runs. It is made before the first test file and removed after the last one.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Without the prefix of prl, which refuses variables that it does not know. */
const VARIABLE = "TESTS_SHARED_DIR";

/** The global setup of vitest, whose workers inherit the environment. */
export default async function setup(): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), "prl-shared-"));
  process.env[VARIABLE] = dir;
  return () => rm(dir, { recursive: true, force: true });
}

/** @throws when this process was not started by vitest with tests/vitest.config.ts */
export function sharedFolder(): string {
  const dir = process.env[VARIABLE];
  if (dir === undefined) throw new Error(`${VARIABLE} is not set: run vitest with --config tests/vitest.config.ts`);
  return dir;
}
