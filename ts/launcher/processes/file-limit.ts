/** The limit of open files, which every rollout's connection counts against. */
import { messageOf, PrlError } from "../../errors.ts";
import { raiseFileLimit } from "../../native/index.ts";

/** Below this a run with many rollouts in flight may fail with EMFILE. */
export const COMFORTABLE_OPEN_FILES = 4096;

/** Raises the soft limit to the hard one, for this process and all that it starts; returns a warning when even that is low, else null. */
export async function raisedFileLimitWarning(raise: typeof raiseFileLimit = raiseFileLimit): Promise<string | null> {
  let limits: { soft: number; hard: number };
  try {
    limits = await raise();
  } catch (error) {
    // A missing addon would stop the run a moment later, so it is reported with its fix; a limit that cannot be raised is only a warning.
    if (error instanceof PrlError && error.code === "PRL_NATIVE_MISSING") throw error;
    return `the limit of open files could not be raised: ${messageOf(error)}`;
  }
  if (limits.soft >= COMFORTABLE_OPEN_FILES) return null;
  return `only ${limits.soft} open files are allowed (hard limit ${limits.hard}): raise it with "ulimit -n ${COMFORTABLE_OPEN_FILES}"`;
}
