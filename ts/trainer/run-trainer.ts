/**
 * The trainer of a run: waits for batches, trains, publishes weights.
 *
 * Steps count from 1; batch `s` trains v(s-1) into v(s). The start-up weights v0 are published before the first batch is waited for.
 * It knows the formats of design section 6 and no algorithm beyond the loss.
 */

import { lossOptions, optimOptions, type RlConfig } from "../config/index.ts";
import type { Metrics } from "../monitors/index.ts";
import { openTrainer, type Trainer } from "../native/index.ts";
import type { RolloutReceiver, WeightSender } from "../transports/index.ts";
import { canaryTokenIds, scoreCanary } from "./canary.ts";
import { learningRate } from "./schedule.ts";

/** A step's batch waits for rollouts, which may be slow; beyond this the orchestrator is taken for dead. */
const BATCH_DEADLINE_MS = 6 * 3_600_000;

export interface TrainerJob {
  modelDir: string;
  config: RlConfig["trainer"];
  /** Null trains until the signal. */
  maxSteps: number | null;
  rollouts: RolloutReceiver;
  weights: WeightSender;
  metrics: Metrics;
  signal: AbortSignal;
  /** Called when v0 is published. */
  onReady: (info: { isa: string; dtype: string; version: number }) => Promise<void>;
}

/** Trains until `maxSteps` or the signal. */
export async function runTrainer(job: TrainerJob): Promise<void> {
  const { config, metrics, signal } = job;
  const trainer = await openTrainer(job.modelDir, {
    dtype: config.dtype,
    threads: config.threads ?? 0,
    loss: lossOptions(config.loss),
    optim: optimOptions(config.optim),
    activations: config.activations,
  });
  const canaryIds = canaryTokenIds(trainer.vocabSize, config.seq_len);
  try {
    await publish(trainer, 0, canaryIds, job.weights);
    await job.onReady({ isa: trainer.isa, dtype: config.dtype, version: 0 });
    for (let step = 1; step <= (job.maxSteps ?? Infinity); step++) {
      const startedAt = performance.now();
      const batch = await job.rollouts.receive(step, 0, { deadlineMs: BATCH_DEADLINE_MS, signal });
      const receivedAt = performance.now();
      const { metrics: lossMetrics } = await trainer.forwardBackward({ ...batch, onPolicyVersion: step - 1 });
      const lr = learningRate(step, config.optim.lr, config.scheduler, job.maxSteps);
      const { gradNorm } = await trainer.step({ lr });
      const trainedAt = performance.now();
      await publish(trainer, step, canaryIds, job.weights, { full: step === job.maxSteps });
      const publishedAt = performance.now();
      const seconds = (from: number, to: number) => (to - from) / 1000;
      metrics.log(step, {
        ...lossMetrics,
        "optim/lr": lr,
        "optim/grad_norm": gradNorm,
        "perf/throughput": batch.inputIds.length / seconds(receivedAt, trainedAt),
        "time/wait_for_batch": seconds(startedAt, receivedAt),
        "time/forward_backward": seconds(receivedAt, trainedAt),
        "time/broadcast_weights": seconds(trainedAt, publishedAt),
        "time/step": seconds(startedAt, publishedAt),
      });
    }
    await job.weights.delivered(signal);
  } finally {
    await Promise.all([job.rollouts.close(), job.weights.close()]);
    await trainer.close();
  }
}

async function publish(
  trainer: Trainer,
  version: number,
  canaryIds: Uint32Array,
  weights: WeightSender,
  options: { full?: boolean } = {},
): Promise<void> {
  const canary = await scoreCanary(trainer, canaryIds);
  await weights.publish(version, (dir) => trainer.save(dir), canary, options);
}
