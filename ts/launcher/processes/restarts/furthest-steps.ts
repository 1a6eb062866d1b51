/**
 * How far the run has come, by the lines of metrics that its processes write: whether a process that was lost had been of use.
 *
 * Only a step beyond all earlier ones counts, so that steps which are done again after a loss are no progress. Trainer, orchestrator and supervised
 * training write their own lines. Env workers, inference servers and sandbox daemons are of use when the orchestrator comes further: it ships what they
 * have made.
 */
import type { MetricsLine } from "../../../monitors/index.ts";

const ORCHESTRATOR = "orchestrator";
const WITH_LINES: ReadonlySet<string> = new Set(["trainer", "sft", ORCHESTRATOR]);

export class FurthestSteps {
  readonly #steps = new Map<string, number>();

  note({ component, step }: Pick<MetricsLine, "component" | "step">): void {
    if (step > this.of(component)) this.#steps.set(component, step);
  }

  /** The furthest step that a process of this kind had a part in; -1: none. */
  of(component: string): number {
    return this.#steps.get(WITH_LINES.has(component) ? component : ORCHESTRATOR) ?? -1;
  }
}
