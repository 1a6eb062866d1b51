/** Learning rates over a run's steps. */

import type { RlConfig } from "../config/index.ts";

type SchedulerConfig = RlConfig["trainer"]["scheduler"];

/**
 * The learning rate of a step (from 1): a linear warm-up to `lr`, then constant, or a linear (`linear`, `wsd`) or cosine descent to
 * `min_lr` over the last `decay_steps` of the run (all steps after the warm-up when unset).
 */
export function learningRate(step: number, lr: number, scheduler: SchedulerConfig, maxSteps: number | null): number {
  const { type, warmup_steps: warmup, min_lr: floor } = scheduler;
  if (step <= warmup) return (lr * step) / warmup;
  if (type === "constant" || maxSteps === null) return lr;
  const decay = scheduler.decay_steps ?? Math.max(1, maxSteps - warmup);
  const progress = Math.min(1, Math.max(0, (step - (maxSteps - decay)) / decay));
  const share = type === "cosine" ? (1 + Math.cos(Math.PI * progress)) / 2 : 1 - progress;
  return floor + (lr - floor) * share;
}
