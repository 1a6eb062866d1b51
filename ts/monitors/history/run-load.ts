/** `run/now.json`: the load of a run between two of its steps, for watching it. It is replaced about every second and has no history. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { ifThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";

export interface RunLoad {
  /** Step of the batch being collected. */
  step: number;
  /** Version that the engines sample with; the batches from `version + 1` to `step - 1` are with the trainer. */
  version: number;
  /** The completed part of the batch, and its full size; above level 0 more than one batch may wait. */
  batch: { ready: number; size: number; unit: "rollouts" | "tokens" };
  rollouts_in_flight: number;
  groups_open: number;
  groups_queued: number;
  /** Rollouts of evaluations under way. */
  evaluating: number;
  /** Sums over the engines, and the share of the fullest KV cache in use; null while no engine reports. */
  engines: { running: number; waiting: number; kv_usage: number } | null;
}

const pathOf = (runDir: string): string => join(runDir, "run", "now.json");

export async function writeRunLoad(runDir: string, load: RunLoad): Promise<void> {
  makeFolder(join(runDir, "run"), runDir);
  await atomicWriteJson(pathOf(runDir), load);
}

/** Null when nothing was written yet. Errors: PRL_IO. */
export async function readRunLoad(runDir: string): Promise<RunLoad | null> {
  const text = await ifThere(readFile(pathOf(runDir), "utf8"), pathOf(runDir));
  return text === null ? null : (JSON.parse(text) as RunLoad);
}
