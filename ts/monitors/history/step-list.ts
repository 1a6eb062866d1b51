/** Steps that are kept while a run goes on: all of them with their main numbers, only the newest ones with every metric. */
import type { SftStep } from "./run-event.ts";
import type { RlStep } from "./run-history.ts";

/** A step has tens of kilobytes of metrics, which are in `metrics.jsonl`; a run has tens of thousands of steps. */
const WITH_METRICS = 64;

/** Appends `step`; the one that is now too old keeps only its main numbers. */
export function keepStep<S extends RlStep | SftStep>(steps: S[], step: S): void {
  steps.push(step);
  const index = steps.length - 1 - WITH_METRICS;
  const old = steps[index];
  if (old !== undefined && "metrics" in old) steps[index] = { ...old, metrics: { trainer: {}, orchestrator: {} } };
}
