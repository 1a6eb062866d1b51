/**
 * Lines of `metrics.jsonl` that earlier processes of an attempt have written, for a process that takes their place and does some of their steps again: no
 * step gets a second line.
 */
import { join } from "node:path";

import { type Metrics, METRICS_FILE } from "./metrics.ts";
import { MetricsTail } from "./metrics-tail.ts";

/** The newest step that a component has logged in an attempt; null: none. Errors: PRL_IO. */
export async function lastLoggedStep(runDir: string, component: string, attempt: number): Promise<number | null> {
  let last: number | null = null;
  for await (const line of new MetricsTail(join(runDir, METRICS_FILE)).poll()) {
    if (line.component === component && line.attempt === attempt) last = Math.max(last ?? 0, line.step);
  }
  return last;
}

/** `metrics`, without the lines and events of steps up to `logged`; null: with all of them. */
export function metricsAfter(logged: number | null, metrics: Metrics): Metrics {
  if (logged === null) return metrics;
  return {
    ...metrics,
    log(step, values) {
      if (step > logged) metrics.log(step, values);
    },
    event(type, fields = {}) {
      const { step } = fields;
      if (typeof step !== "number" || step > logged) metrics.event(type, fields);
    },
  };
}
