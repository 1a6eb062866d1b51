/** How the cores of the machine are shared by the parts of a run that leave their thread count unset. */
import { availableParallelism } from "node:os";

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
