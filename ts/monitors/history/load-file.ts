/** `run/load.json`: how many rollouts the orchestrator has under way, for the launcher, which starts env workers for them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { isMissing } from "../../files/file-presence.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";

export interface LoadFile {
  /** Rollouts under way and waiting. */
  rollouts: number;
  /** Rollouts under way by worker (`env-worker-0`), retired workers included. */
  workers: Record<string, number>;
}

const pathOf = (runDir: string): string => join(runDir, "run", "load.json");

export async function writeLoad(runDir: string, load: LoadFile): Promise<void> {
  await atomicWriteJson(pathOf(runDir), load);
}

/** Null when nothing was published yet. */
export async function readLoad(runDir: string): Promise<LoadFile | null> {
  try {
    return JSON.parse(await readFile(pathOf(runDir), "utf8")) as LoadFile;
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw cause;
  }
}
