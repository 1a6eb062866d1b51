/** Metrics of the run's parts for the line of a step: their state when the batch is with the trainer, and what they counted since the last line. */
import type { RlConfig } from "../../config/index.ts";
import type { LoopLag } from "../../monitors/index.ts";
import type { Gates } from "../curriculum/gates.ts";
import type { WeightWatcher } from "../engines/weight-watcher.ts";
import type { Evaluations } from "../evaluation/evaluations.ts";
import type { DispatchLimit } from "../scheduling/dispatch-limit.ts";
import type { GroupDispatcher } from "../scheduling/dispatcher.ts";
import type { Lifecycle } from "../scheduling/lifecycle.ts";
import type { Recycling } from "../scheduling/recycling.ts";
import type { Staleness } from "../scheduling/staleness.ts";
import type { TrainTasks } from "../scheduling/tasks.ts";
import type { LostRollouts } from "./lost-rollouts.ts";

export interface MeasuredParts {
  dispatcher: Pick<GroupDispatcher, "metrics">;
  evaluations: Pick<Evaluations, "metrics">;
  gates: Pick<Gates, "take">;
  lag: Pick<LoopLag, "take">;
  lifecycle: Pick<Lifecycle, "metrics">;
  limit: Pick<DispatchLimit, "metrics">;
  lost: Pick<LostRollouts, "take">;
  recycle: RlConfig["orchestrator"]["recycle"];
  recycling: Pick<Recycling, "metrics">;
  staleness: Staleness;
  tasks: Pick<TrainTasks, "metrics">;
  watcher: Pick<WeightWatcher, "metrics">;
}

export function stateMetrics(parts: MeasuredParts): Record<string, number> {
  const { dispatcher, evaluations, gates, lag, lifecycle, limit, lost, recycling, staleness, tasks, watcher } = parts;
  return {
    ...lifecycle.metrics(),
    // The newest batch is that of the step before.
    ...dispatcher.metrics(staleness.step - 1, staleness.ages),
    ...lost.take(),
    ...evaluations.metrics(),
    ...tasks.metrics(),
    ...gates.take(),
    ...limit.metrics(),
    ...watcher.metrics(),
    ...(parts.recycle === "off" ? {} : recycling.metrics()),
    ...lag.take(),
  };
}
