/** Files of the cache that several processes may want to make: one process makes each. */
import { mkdir, open, rm, stat, utimes } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ifThere } from "../files/file-presence.ts";

/** How often a holder shows that it is alive. */
const HEARTBEAT_MS = 2_000;
/** A holder that was silent for this long counts as dead. */
const DEAD_MS = 15_000;
const POLL_MS = 100;

/**
 * Does `work` while no other process does it under the same lock file. Waits as long as the holder is alive; the holder's own waits
 * have deadlines.
 */
export async function exclusively<Result>(
  lock: string,
  signal: AbortSignal | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  await mkdir(dirname(lock), { recursive: true });
  while (!(await take(lock))) {
    signal?.throwIfAborted();
    if (!(await isDead(lock)) || !(await bury(lock))) await sleep(POLL_MS * (0.5 + Math.random()));
  }
  const heart = setInterval(() => void utimes(lock, new Date(), new Date()).catch(() => undefined), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heart);
    await rm(lock, { force: true });
  }
}

async function isDead(lock: string): Promise<boolean> {
  const seen = await ifThere(stat(lock), lock);
  return seen !== null && Date.now() - seen.mtimeMs > DEAD_MS;
}

/**
 * Removes the lock of a dead holder; false when another process is about to. Of those that have seen the old lock only one looks again and removes it:
 * the others would remove the lock of a new holder.
 */
async function bury(lock: string): Promise<boolean> {
  const grave = `${lock}.dead`;
  if (!(await take(grave))) {
    if (await isDead(grave)) await rm(grave, { force: true });
    return false;
  }
  try {
    if (await isDead(lock)) await rm(lock, { force: true });
    return true;
  } finally {
    await rm(grave, { force: true });
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    const handle = await open(lock, "wx");
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
