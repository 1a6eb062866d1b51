/** How the cores of the machine are shared by the parts of a run that leave their thread count unset. */
import { availableParallelism } from "node:os";

import type { RlConfig } from "../../config/index.ts";

export interface CoreSplit {
  /** Threads of the trainer. */
  trainer: number;
  /** Threads of each inference server. */
  inference: number;
}

/**
 * Half of the cores to the trainer, the rest to the inference servers in equal parts; at least one each, so few cores are shared.
 * A thread count that was set stands, and the other side gets what it leaves. Without servers of its own (no replicas) the run's trainer gets all.
 *
 * @param cores what this process may run on, which `taskset` and container limits reduce
 */
export function splitCores(
  wanted: { trainer: number | null; inference: number | null; replicas: number },
  cores: number = availableParallelism(),
): CoreSplit {
  if (wanted.replicas === 0) return { trainer: wanted.trainer ?? cores, inference: wanted.inference ?? cores };
  const trainer =
    wanted.trainer ??
    Math.max(1, wanted.inference === null ? Math.floor(cores / 2) : cores - wanted.inference * wanted.replicas);
  const inference = wanted.inference ?? Math.max(1, Math.floor((cores - trainer) / wanted.replicas));
  return { trainer, inference };
}

/** The run has no inference servers of its own. */
export function samplesElsewhere({ orchestrator }: Pick<RlConfig, "orchestrator">): boolean {
  return orchestrator.client.base_url.length > 0;
}

/** Thread counts that are unset get their share of the cores. */
export function withThreads(config: RlConfig): RlConfig {
  const { trainer, inference } = config;
  const replicas = samplesElsewhere(config) ? 0 : inference.replicas;
  const split = splitCores({ trainer: trainer.threads, inference: inference.threads, replicas });
  return {
    ...config,
    trainer: { ...trainer, threads: split.trainer },
    inference: { ...inference, threads: split.inference },
  };
}
