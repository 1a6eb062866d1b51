/** The part of a run that more GPUs would not help: the loads of its parts, and the part whose load is highest. */
import type { RunMeasures } from "./run-measures.ts";

/** Shares of what a part can do, 0 to 1; the orchestrator's may be more, because its work costs no virtual time. */
export interface Loads {
  /** Time in which the trainer trains. */
  readonly trainer: number;
  /** Sequences that run, of those that the servers hold. */
  readonly inference: number;
  /** Time in which a version is on its way from the trainer to the servers. */
  readonly weights: number;
  readonly env_workers: number;
  /** CPU seconds of the orchestrator in a second, on its one core. */
  readonly orchestrator: number;
}

/** `waits`: no part has work all the time; steps wait for the longest rollouts, or trainer and servers for one another. */
export type Limit = keyof Loads | "waits";

/** A part counts as saturated from this share on: the rest goes to the beginnings and ends of steps. */
const SATURATED = 0.7;
const ENOUGH_PER_GPU = 2 / 3;

export interface Capacity {
  /** Sequences of the mean length that a server holds. */
  readonly sequences: number;
  /** CPU seconds of the orchestrator for the request and the answer of a rollout, which are not simulated. */
  readonly exchangeSeconds: number;
}

export function loadsOf(measures: RunMeasures, { sequences, exchangeSeconds }: Capacity): Loads {
  const { seconds, steps, rollouts, cpu_per_rollout: cpu } = measures;
  return {
    trainer: measures.training,
    inference: Math.min(1, measures.running / sequences),
    weights: Math.min(1, measures.publishing + (measures.spreading * steps) / seconds),
    env_workers: measures.environments,
    orchestrator: ((cpu + exchangeSeconds) * rollouts) / seconds,
  };
}

export function limitOf(loads: Loads): Limit {
  const [[name, load] = ["trainer", 0] as const] = (Object.entries(loads) as [keyof Loads, number][]).toSorted(
    ([, a], [, b]) => b - a,
  );
  return load >= SATURATED ? name : "waits";
}

/** The first of the points, in the order of their GPUs, with less than two thirds of the best throughput per GPU; null when none has. */
export function saturatedAt(
  points: readonly { readonly gpus: number; readonly tokensPerSecond: number }[],
): number | null {
  let best = 0;
  for (const { gpus, tokensPerSecond } of points) {
    const perGpu = tokensPerSecond / gpus;
    if (perGpu < ENOUGH_PER_GPU * best) return gpus;
    best = Math.max(best, perGpu);
  }
  return null;
}
