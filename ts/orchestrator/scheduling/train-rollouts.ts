/**
 * Samples and scores the rollouts of training groups: what the dispatcher asks for, without its bookkeeping.
 *
 * A rollout comes back once, as a result or as an error; retries are inside. It knows no batches and cancels nothing.
 */
import type { RlConfig } from "../../config/index.ts";
import type { ReceivedEpisode } from "../../environments/internal.ts";
import type { ReferenceScores } from "../batch/reference-scores.ts";
import type { WeightWatcher } from "../engines/weight-watcher.ts";
import type { EnvWorkers } from "../env-workers/env-workers.ts";
import type { Group } from "./dispatcher.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Recycling } from "./recycling.ts";
import { runRollout, scoreRollouts } from "./rollouts.ts";
import type { Staleness } from "./staleness.ts";
import { trainRequest } from "./train-request.ts";

export interface TrainRolloutsOptions {
  config: RlConfig;
  /** Name that the inference servers know the model by. */
  modelName: string;
  workers: EnvWorkers;
  /** Counts the retries. */
  lifecycle: Pick<Lifecycle, "retried">;
  /** Knows what a rollout continues from. */
  recycling: Pick<Recycling, "partial">;
  references: Pick<ReferenceScores, "score">;
  staleness: Pick<Staleness, "step">;
  watcher: Pick<WeightWatcher, "newest">;
}

export class TrainRollouts {
  readonly #options: TrainRolloutsOptions;

  constructor(options: TrainRolloutsOptions) {
    this.#options = options;
  }

  /** Resolves with an errored episode when the rollout failed or was cancelled. */
  async run(group: Group, sample: number, signal: AbortSignal): Promise<ReceivedEpisode> {
    const { config, lifecycle, modelName, recycling, staleness, watcher, workers } = this.#options;
    const partial = recycling.partial(group.task, sample);
    const request = trainRequest(config, group, sample, { modelName, step: staleness.step, partial });
    return runRollout(workers, request, signal, {
      newestVersion: () => watcher.newest,
      onRetry: () => lifecycle.retried(),
    });
  }

  /** The rollouts of a group with the rewards that compare them and the teachers' scores. */
  async score({ task: begun }: Group, rollouts: ReceivedEpisode[], signal: AbortSignal): Promise<ReceivedEpisode[]> {
    const { config, references, workers } = this.#options;
    const { source, task, scoresGroups } = begun;
    const deadline_ms = config.orchestrator.request_timeout_s * 1000;
    const request = { env: source, split: "train" as const, task, deadline_ms };
    const scored = scoresGroups ? await scoreRollouts(workers, request, rollouts, signal) : rollouts;
    return references.score(source, scored, signal);
  }
}
