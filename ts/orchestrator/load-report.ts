/** Says what the run is at while a step goes on: every second for who watches it, and in `events.jsonl` when the step is a long one. */
import { setTimeout as sleep } from "node:timers/promises";

import { type Metrics, type RunLoad, writeRunLoad } from "../monitors/index.ts";

/** `eventMs`: a step that lasts longer leaves an event each time. */
const TIMES = { intervalMs: 1_000, eventMs: 10_000 };

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
