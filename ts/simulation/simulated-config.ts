/** The config of a simulated run: the given one without what costs nothing of what is simulated, or could not be simulated. */
import { algoBlock, curriculumBlock, type RlConfig } from "../config/index.ts";

export interface Scale {
  /** Rollouts of a batch. */
  readonly batchSize: number;
  /** Most rollouts at once. */
  readonly mostInFlight: number;
}

/** Every rollout trains: what is left out of a batch would depend on rewards, which are made up. */
const ALGO = algoBlock.parse({});
const CURRICULUM = curriculumBlock.parse({});

/** A run without an end, evaluations, filters, teachers and curricula, whose batches are counted in rollouts. */
export function simulatedConfig(config: RlConfig, { batchSize, mostInFlight }: Scale): RlConfig {
  const { orchestrator } = config;
  const { train } = orchestrator;
  return {
    ...config,
    max_steps: null,
    warm_start: null,
    orchestrator: {
      ...orchestrator,
      batch_size: batchSize,
      token_batch_size: null,
      max_inflight: mostInFlight,
      tasks_per_minute: null,
      filters: [],
      filter_zero_advantages: false,
      eval: null,
      train: {
        ...train,
        source: train.source.map((source) => ({ ...source, algo: ALGO, curriculum: CURRICULUM })),
      },
    },
  };
}
