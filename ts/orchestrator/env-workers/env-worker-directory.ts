/**
 * The env workers of a run by their ready files, which come and go with the processes: the launcher starts, replaces and retires them.
 *
 * A worker whose file is removed gets no more rollouts and ends those that it has. In the other direction, the amount of work is published for the
 * launcher (`LoadFile`). Both happen twice a second, and much more often while rollouts wait for a worker.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { type LoadFile, readReadyFile, writeLoad } from "../../monitors/index.ts";
import type { EnvWorkerAddress } from "./env-worker-set.ts";

const INTERVAL_MS = 500;
const WAITING_INTERVAL_MS = 25;
const COMPONENT = "env-worker";
const READY_FILE = /^env-worker-(\d+)\.json$/u;

/** The workers with a ready file. Errors: PRL_IO. */
export async function readyEnvWorkers(runDir: string): Promise<EnvWorkerAddress[]> {
  const dir = join(runDir, "run");
  const indices = (await readdir(dir)).flatMap((file) => READY_FILE.exec(file)?.[1] ?? []).sort();
  const found = await Promise.all(
    indices.map(async (index): Promise<EnvWorkerAddress[]> => {
      const url = (await readReadyFile(runDir, COMPONENT, Number(index)))?.url;
      return url === undefined ? [] : [{ name: `${COMPONENT}-${index}`, url }];
    }),
  );
  return found.flat();
}

/** Keeps the workers of a run up to date and publishes its load until the signal is aborted. Rejects with PRL_IO. */
export async function followEnvWorkers(
  runDir: string,
  workers: { update: (addresses: readonly EnvWorkerAddress[]) => void; load: () => LoadFile; readonly waiting: number },
  signal: AbortSignal,
): Promise<void> {
  let published = "";
  while (!signal.aborted) {
    workers.update(await readyEnvWorkers(runDir));
    const load = workers.load();
    const text = JSON.stringify(load);
    if (text !== published) await writeLoad(runDir, load);
    published = text;
    await sleep(workers.waiting > 0 ? WAITING_INTERVAL_MS : INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}
