/**
 * The orchestrator of a supervised run: brings the versions to evaluate to the engines, one after the other, and evaluates them.
 * These rollouts do not train. Their number at once follows the engines' metrics, as in an RL run.
 */
import { setMaxListeners } from "node:events";

import type { WeightFollower } from "../../transports/index.ts";
import type { EngineFleet } from "../engines/engine-fleet.ts";
import { type EvaluationContext, evaluatePolicy } from "./evaluation.ts";
import { routedWorkers } from "../engines/routed-workers.ts";
import { DispatchLimit } from "../scheduling/dispatch-limit.ts";
import { WeightWatcher } from "../engines/weight-watcher.ts";

export interface EvaluationsJob extends Omit<EvaluationContext, "permits"> {
  /** In the order in which they are published. */
  versions: readonly number[];
  engines: EngineFleet;
  weights: WeightFollower;
}

/** Rejects with the first error of a part, or the signal's reason. */
export async function runEvaluations(job: EvaluationsJob): Promise<void> {
  const failure = new AbortController();
  const signal = AbortSignal.any([job.signal, failure.signal]);
  setMaxListeners(0, signal);
  const { engines, weights, metrics } = job;
  // Nothing trains here: evaluations have the whole limit.
  const limit = new DispatchLimit({
    config: job.config,
    largestGroup: 0,
    engines,
    metrics,
    inFlight: () => 0,
    onFreed: () => undefined,
  });
  metrics.watch?.("rollouts_in_flight", "Rollouts being sampled or scored.", () => limit.permits.evaluating);
  const context = { ...job, signal, permits: limit.permits, workers: routedWorkers(job.workers, engines) };
  const watcher = new WeightWatcher(0, { weights, engines, metrics, signal });
  limit.start((error) => failure.abort(error));
  engines.start((error) => failure.abort(error));
  try {
    for (const version of job.versions) {
      await watcher.adopt(version);
      await evaluatePolicy(context, watcher.weights);
    }
  } catch (error) {
    // An aborted wait says only that it was aborted; the signal's reason says why.
    throw signal.aborted ? signal.reason : error;
  } finally {
    limit.stop();
    await engines.stop();
  }
}
