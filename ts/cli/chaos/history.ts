/**
 * The committed history of a run, read from its directory: for equal component, step and kind of line the last attempt counts, as
 * ARCHITECTURE.md says of `metrics.jsonl`.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { METRICS_FILE, type MetricsLine, MetricsTail } from "../../monitors/index.ts";
import { openSafetensors } from "../../native/index.ts";
import { ifThere, isThere } from "../../files/file-presence.ts";
import { parseObject } from "../runs/json-lines.ts";

/** Numbers that depend on the machine, not on what is learnt. */
const OF_THE_MACHINE =
  /^(time|timing|perf|event_loop_lag|dispatcher|concurrency|inference|watcher|system)\/|timing|_ms|loop/u;

const WARM_START = "sft";

/** Lines of metrics without those that a later attempt voids. */
export async function committedLines(runDir: string): Promise<{ lines: MetricsLine[]; malformed: number }> {
  const tail = new MetricsTail(join(runDir, METRICS_FILE));
  const all: MetricsLine[] = [];
  for await (const line of tail.poll()) all.push(line);
  const last = new Map<string, number>();
  for (const line of all) last.set(kindOf(line), Math.max(last.get(kindOf(line)) ?? 0, line.attempt));
  return { lines: all.filter((line) => line.attempt === last.get(kindOf(line))), malformed: tail.malformed };
}

/** Component, step, and whether it is an evaluation's line. */
function kindOf(line: MetricsLine): string {
  const isEvaluation = Object.keys(line).some((key) => key.startsWith("eval/"));
  return `${line.component} ${line.step} ${isEvaluation ? "eval" : "step"}`;
}

/**
 * What a run came to, as lines that are equal for equal runs: digests of batches and of the final weights, numbers of each step. Without the steps of a
 * warm start, which a later run takes from the cache: weights and batches depend on it.
 */
export async function resultOf(runDir: string, steps: number): Promise<ReadonlyMap<string, string>> {
  const result = new Map<string, string>();
  for (let step = 1; step <= steps; step++) result.set(`batch ${step}`, (await batchDigest(runDir, step)) ?? "missing");
  const manifest = join(runDir, `weights/step_${steps}/manifest.json`);
  const text = await ifThere(readFile(manifest, "utf8"), manifest);
  const digest = parseObject(text ?? "")?.["digest"];
  result.set(`weights ${steps}`, typeof digest === "string" ? digest : "missing");
  const { lines } = await committedLines(runDir);
  for (const { time: _time, attempt: _attempt, component, step, ...values } of lines) {
    const kept = Object.entries(values).filter(([key]) => !OF_THE_MACHINE.test(key));
    if (kept.length === 0 || component === WARM_START) continue;
    const key = `metrics of ${component} ${step}`;
    const texts = [result.get(key), JSON.stringify(kept.toSorted(([a], [b]) => (a < b ? -1 : 1)))];
    result.set(
      key,
      texts
        .filter((one) => one !== undefined)
        .toSorted()
        .join("\n"),
    );
  }
  return result;
}

/** The digest that a batch names; null when its file is not there. */
async function batchDigest(runDir: string, step: number): Promise<string | null> {
  const path = join(runDir, `rollouts/step_${step}/rank_0.safetensors`);
  if (!(await isThere(path))) return null;
  const file = await openSafetensors(path);
  try {
    return file.metadata["digest"] ?? null;
  } finally {
    file.close();
  }
}
