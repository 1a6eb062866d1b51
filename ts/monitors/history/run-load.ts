/** `run/now.json`: what a run is at between two of its steps, for who watches it. Replaced every second or so, never a history. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { ifThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";

export interface RunLoad {
  /** Of the batch being collected. */
  step: number;
  /** Version that the engines sample with; the batches from `version + 1` to `step - 1` are with the trainer. */
  version: number;
  /** What has ended of the batch, and how much makes one; above level 0 more than one batch may wait. */
  batch: { ready: number; size: number; unit: "rollouts" | "tokens" };
  rollouts_in_flight: number;
  groups_open: number;
  groups_queued: number;
  /** Rollouts of evaluations under way. */
  evaluating: number;
  /** Sums over the engines, and the share of the fullest KV cache in use; null while none says. */
  engines: { running: number; waiting: number; kv_usage: number } | null;
}

const pathOf = (runDir: string): string => join(runDir, "run", "now.json");

export async function writeRunLoad(runDir: string, load: RunLoad): Promise<void> {
  makeFolder(join(runDir, "run"), runDir);
  await atomicWriteJson(pathOf(runDir), load);
}

/** Null when nothing was said yet. Errors: PRL_IO. */
export async function readRunLoad(runDir: string): Promise<RunLoad | null> {
  const text = await ifThere(readFile(pathOf(runDir), "utf8"), pathOf(runDir));
  return text === null ? null : (JSON.parse(text) as RunLoad);
}
