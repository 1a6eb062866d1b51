/** Reports what the run is doing during a step: every second to the display, and in `events.jsonl` when the step is long. */
import { setTimeout as sleep } from "node:timers/promises";

import { type Metrics, type RunLoad, writeRunLoad } from "../../monitors/index.ts";
import type { SamplingBudget } from "../scheduling/sampling-budget.ts";
import type { BatchQueue } from "../batch/batch-queue.ts";
import type { Lifecycle } from "../scheduling/lifecycle.ts";
import type { DispatchLimit } from "../scheduling/dispatch-limit.ts";
import type { Staleness } from "../scheduling/staleness.ts";
import type { WeightWatcher } from "../engines/weight-watcher.ts";

/** `eventMs`: a longer step writes an event each time this much has passed. */
const TIMES = { intervalMs: 1_000, eventMs: 10_000 };

export interface LoadSources {
  staleness: Pick<Staleness, "step">;
  watcher: Pick<WeightWatcher, "version">;
  budget: Pick<SamplingBudget, "batchSize" | "unit">;
  queue: Pick<BatchQueue, "units" | "size">;
  lifecycle: Pick<Lifecycle, "inFlight" | "open">;
  limit: Pick<DispatchLimit, "permits" | "engines">;
}

export function loadOf({ staleness, watcher, budget, queue, lifecycle, limit }: LoadSources): RunLoad {
  return {
    step: staleness.step,
    version: watcher.version,
    batch: { ready: queue.units, size: budget.batchSize, unit: budget.unit },
    rollouts_in_flight: lifecycle.inFlight,
    groups_open: lifecycle.open,
    groups_queued: queue.size,
    evaluating: limit.permits.evaluating,
    engines: limit.engines,
  };
}

/** Reports until the signal is aborted. Rejects with PRL_IO. */
export async function reportLoad(
  { runDir, metrics }: { runDir: string; metrics: Metrics },
  load: () => RunLoad,
  signal: AbortSignal,
  { intervalMs, eventMs } = TIMES,
): Promise<void> {
  let said = "";
  let since = { step: -1, at: 0 };
  while (!signal.aborted) {
    const now = load();
    const text = JSON.stringify(now);
    if (text !== said) await writeRunLoad(runDir, now);
    said = text;
    const at = performance.now();
    if (now.step !== since.step) since = { step: now.step, at };
    else if (at - since.at >= eventMs) {
      since.at = at;
      metrics.event("load", { ...now });
    }
    await sleep(intervalMs, undefined, { signal }).catch(() => undefined);
  }
}
