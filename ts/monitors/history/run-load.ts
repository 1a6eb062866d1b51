/** `run/now.json`: the load of a run between two of its steps, for watching it. It is replaced about every second and has no history. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";

const runLoadSchema = z.object({
  /** Step of the batch being collected. */
  step: z.number(),
  /** Version that the engines sample with; the batches from `version + 1` to `step - 1` are with the trainer. */
  version: z.number(),
  /** The completed part of the batch, and its full size; above level 0 more than one batch may wait. */
  batch: z.object({ ready: z.number(), size: z.number(), unit: z.enum(["rollouts", "tokens"]) }),
  rollouts_in_flight: z.number(),
  groups_open: z.number(),
  groups_queued: z.number(),
  /** Rollouts of evaluations under way. */
  evaluating: z.number(),
  /** Sums over the engines, and the share of the fullest KV cache in use; null while no engine reports. */
  engines: z.object({ running: z.number(), waiting: z.number(), kv_usage: z.number() }).nullable(),
});
export type RunLoad = z.output<typeof runLoadSchema>;

const pathOf = (runDir: string): string => join(runDir, "run", "now.json");

export async function writeRunLoad(runDir: string, load: RunLoad): Promise<void> {
  makeFolder(join(runDir, "run"), runDir);
  await atomicWriteJson(pathOf(runDir), load);
}

/** Null when nothing was written yet. Errors: PRL_IO when the file cannot be read or has other content. */
export async function readRunLoad(runDir: string): Promise<RunLoad | null> {
  const path = pathOf(runDir);
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  try {
    return runLoadSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new PrlError("PRL_IO", `${path} is not the load of a run: remove it, it is written again`, { cause });
  }
}
