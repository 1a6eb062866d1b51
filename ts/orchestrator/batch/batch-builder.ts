/**
 * Turns the groups of a step into the trainer's batch, and keeps what that needs from step to step: custom functions, filters, the averages of
 * estimators, teachers' scores.
 *
 * `load` comes before the first batch. The result depends on the groups, their order and earlier batches, never on timing. The builder
 * knows nothing of how groups are chosen, and of where the batch goes.
 */
import type { RlConfig } from "../../config/index.ts";
import type { ReceivedEpisode } from "../../environments/internal.ts";
import type { EngineFleet } from "../engines/engine-fleet.ts";
import { loadFilters, type TraceFilter } from "../filters/index.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import { AdvantageEstimation, type BaselineState } from "./advantage-estimation.ts";
import { ReferenceScores } from "./reference-scores.ts";
import { buildTrainBatch, type TrainBatch, type TrainRanks } from "./train-batch.ts";

export interface BatchBuilderOptions {
  config: RlConfig;
  engines: Pick<EngineFleet, "take">;
  /** Name that the engines know the policy by. */
  modelName: string;
  /** Its tokenizer and template; `opsd` and teachers need them. */
  modelDir?: string | undefined;
  /** Averages that estimators continue from. */
  baselines?: BaselineState | undefined;
  /** Default: one rank. */
  trainRanks?: TrainRanks | undefined;
}

export class BatchBuilder {
  readonly #config: RlConfig;
  readonly #trainRanks: TrainRanks | undefined;
  readonly #estimation: AdvantageEstimation;
  readonly #references: ReferenceScores;
  #filters: TraceFilter[] = [];

  constructor({ config, engines, modelName, modelDir, baselines, trainRanks }: BatchBuilderOptions) {
    const sources = config.orchestrator.train.source;
    this.#config = config;
    this.#trainRanks = trainRanks;
    this.#estimation = new AdvantageEstimation(sources, baselines);
    this.#references = new ReferenceScores({ sources, engines, modelName, modelDir });
  }

  /** Loads what the user gave by path, and asks each teacher for a short score. Errors: those of the functions, and of `ReferenceScores.check`. */
  async load(signal: AbortSignal): Promise<void> {
    this.#filters = await loadFilters(this.#config.orchestrator.filters);
    await this.#estimation.load();
    await this.#references.check(signal);
  }

  /** The averages of estimators after the newest batch. */
  get baselines(): BaselineState {
    return this.#estimation.state;
  }

  /** The rollouts of a group of `source`, with teachers' scores where its algorithm needs them. */
  async score(source: string, rollouts: readonly ReceivedEpisode[], signal: AbortSignal): Promise<ReceivedEpisode[]> {
    return this.#references.score(source, rollouts, signal);
  }

  async build(groups: readonly Group[]): Promise<TrainBatch> {
    return buildTrainBatch(groups, {
      config: this.#config,
      estimation: this.#estimation,
      filters: this.#filters,
      trainRanks: this.#trainRanks,
      references: this.#references,
    });
  }

  async close(): Promise<void> {
    await this.#references.close();
  }
}
