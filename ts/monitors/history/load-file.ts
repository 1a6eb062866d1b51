/** `run/load.json`: how many rollouts the orchestrator has under way, for the launcher, which starts env workers for them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";

export interface LoadFile {
  /** Rollouts under way and waiting. */
  rollouts: number;
  /** Rollouts under way by worker (`env-worker-0`), retired workers included. */
  workers: Record<string, number>;
}

const loadSchema = z.object({ rollouts: z.number(), workers: z.record(z.string(), z.number()) });

const pathOf = (runDir: string): string => join(runDir, "run", "load.json");

export async function writeLoad(runDir: string, load: LoadFile): Promise<void> {
  await atomicWriteJson(pathOf(runDir), load);
}

/** Null when nothing was published yet. Errors: PRL_IO when the file cannot be read or has other content. */
export async function readLoad(runDir: string): Promise<LoadFile | null> {
  const path = pathOf(runDir);
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  try {
    return loadSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new PrlError("PRL_IO", `${path} is not the load of an orchestrator: remove it, it is written again`, {
      cause,
    });
  }
}
