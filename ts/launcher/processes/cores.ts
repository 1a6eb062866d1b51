/** Shares the machine's cores among the parts of a run whose thread count is unset. */
import { availableParallelism } from "node:os";

import type { RlConfig } from "../../config/index.ts";

export interface CoreSplit {
  /** Threads of the trainer. */
  trainer: number;
  /** Threads of each inference server. */
  inference: number;
}

/**
 * The trainer gets half of the cores, the inference servers share the rest equally; each gets at least one, so few cores are shared.
 * A thread count that was set stays, and the other side gets the rest. In a run without inference servers (no replicas) the trainer gets all.
 *
 * @param cores the number of cores that this process may use, which `taskset` and container limits reduce
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

/** The run starts no inference servers. */
export function samplesElsewhere({ orchestrator }: Pick<RlConfig, "orchestrator">): boolean {
  return orchestrator.client.base_url.length > 0;
}

/** Sets unset thread counts to their share of the cores, of which inference servers on GPUs get none. */
export function withThreads(config: RlConfig, inferenceOnGpus = false): RlConfig {
  const { trainer, inference } = config;
  const replicas = samplesElsewhere(config) || inferenceOnGpus ? 0 : inference.replicas;
  const split = splitCores({ trainer: trainer.threads, inference: inference.threads, replicas });
  return {
    ...config,
    trainer: { ...trainer, threads: split.trainer },
    inference: { ...inference, threads: split.inference },
  };
}
