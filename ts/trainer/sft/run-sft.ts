/**
 * The supervised stage: cross-entropy on data or on an environment's own demonstrations.
 *
 * Batches go through the same packing and the same trainer as in RL: bin after bin, whose gradients add up to those of the step.
 */

import { optimOptions, type SftConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { Metrics } from "../../monitors/index.ts";
import { buildBatchAsync, openTrainer, packSequences, type Trainer, weightDtype } from "../../native/index.ts";
import { loadRenderer, loadTokenizer } from "../../renderers/index.ts";
import { adapterOptions } from "../adapter-options.ts";
import { checkpointDisk } from "../checkpoint-disk.ts";
import { learningRate } from "../schedule.ts";
import { restoreSft, type SftCheckpoints, SftSaver, type SftStart } from "./sft-checkpoint.ts";
import type { SftPublisher } from "./sft-evaluations.ts";
import { openSftData, type SftData } from "./sft-data.ts";
import { peakMemory, trainMetrics } from "../train-metrics.ts";
import { TrainSteps } from "../train-step.ts";
import { validate } from "./sft-validation.ts";

export interface SftJob {
  /** Checkpoint to start from, tokenizer included. */
  modelDir: string;
  /** The model that the run began with: every saved folder gets its tokenizer. */
  baseDir: string;
  /** Folder that gets the trained checkpoint. */
  outDir: string;
  config: SftConfig;
  /** Settings of checkpoints; absent: none are written. */
  checkpoints?: SftCheckpoints | undefined;
  /** Publishes versions for evaluation; absent: there are no evaluations. */
  publisher?: SftPublisher | undefined;
  /** The checkpoint whose weights `modelDir` holds; absent: step 1 comes first. */
  start?: SftStart | undefined;
  metrics: Metrics;
  signal: AbortSignal;
}

export interface SftResult {
  steps: number;
  /** Mean loss of the last step over completion tokens. */
  loss: number;
  /** Tokens trained on, prompts included. */
  tokens: number;
}

/** Trains `config.max_steps` steps and writes a Hugging Face folder. */
export async function runSft(job: SftJob): Promise<SftResult> {
  const { modelDir, outDir, config, metrics, signal } = job;
  const [tokenizer, renderer] = await Promise.all([loadTokenizer(modelDir), loadRenderer(modelDir)]);
  const encoding = { tokenizer, renderer };
  const binTokens = config.data.micro_batch_tokens ?? config.seq_len;
  const trainer = await openSftTrainer(job);
  const startStep = job.start?.step ?? 0;
  const result: SftResult = { steps: startStep, loss: Number.NaN, tokens: 0 };
  const saver = job.checkpoints === undefined ? null : new SftSaver(job.checkpoints, metrics, signal);
  const steps = new TrainSteps(trainer, metrics);
  let data: SftData | null = null;
  try {
    const position = job.start === undefined ? null : await restoreSft(trainer, job.start);
    data = await openSftData(config, encoding, signal, position);
    if (config.val?.eval_on_start === true && startStep === 0)
      metrics.log(0, await validate(trainer, config, encoding, signal));
    await job.publisher?.afterStep(startStep, trainer, signal);
    for (let step = startStep + 1; step <= config.max_steps; step++) {
      signal.throwIfAborted();
      const startedAt = performance.now();
      const { samples, counts } = await data.next(config.data.batch_size);
      const plan = packSequences(
        samples.map((sample) => sample.tokenIds.length),
        { seqLen: binTokens },
      );
      const layout = { seqLen: binTokens, padTokenId: tokenizer.padTokenId ?? 0 };
      const [batch] = await buildBatchAsync(samples, plan, layout);
      if (batch === undefined) throw new PrlError("PRL_PACKING_INPUT", `step ${step} of the SFT stage has no samples`);
      const lr = learningRate(step, config.optim.lr, config.scheduler, config.max_steps);
      const readAt = performance.now();
      const { loss, metrics: stepMetrics } = await steps.take(step, batch, lr, saver?.saved ?? Promise.resolve());
      const trainedAt = performance.now();
      const seconds = (from: number, to: number): number => (to - from) / 1000;
      const isValidated = config.val !== null && (step % config.val.interval === 0 || step === config.max_steps);
      const validation = isValidated ? await validate(trainer, config, encoding, signal) : {};
      const publishedFrom = performance.now();
      await job.publisher?.afterStep(step, trainer, signal);
      const publishedAt = performance.now();
      await saver?.afterStep(step, config.max_steps, trainer, data.position);
      const savedAt = performance.now();
      metrics.log(step, {
        ...trainMetrics(stepMetrics, []),
        ...counts,
        "loss/mean": loss,
        "loss/perplexity": Math.exp(loss),
        "optim/lr": lr,
        "perf/throughput": batch.inputIds.length / seconds(startedAt, trainedAt),
        "perf/peak_memory": peakMemory(),
        "progress/num_samples": data.position.taken,
        "time/load_data": seconds(startedAt, readAt),
        "time/forward_backward": seconds(readAt, trainedAt),
        "time/broadcast_weights": seconds(publishedFrom, publishedAt),
        "time/save_ckpt": seconds(publishedAt, savedAt),
        "time/step": seconds(startedAt, savedAt),
        ...validation,
        ...(job.checkpoints === undefined ? {} : await checkpointDisk(job.checkpoints.root)),
      });
      result.steps = step;
      result.loss = loss;
      result.tokens += batch.inputIds.length;
    }
    await saver?.saved;
    await trainer.save(outDir);
    return result;
  } finally {
    await Promise.allSettled([saver?.saved]);
    await Promise.all([trainer.close(), data?.close()]);
  }
}

/** The trainer of all weights, or of an adapter. */
async function openSftTrainer({ modelDir, config, ...job }: SftJob): Promise<Trainer> {
  const baseDir = job.baseDir ?? modelDir;
  const { name, lora: block, dtype } = config.model;
  const isResumed = job.start !== undefined;
  const { dir, lora } = adapterOptions({ lora: block, name, baseDir, modelDir, seed: config.seed, isResumed });
  return openTrainer(dir, {
    dtype: await weightDtype(dtype, baseDir),
    ...(lora !== undefined && { lora }),
    threads: config.threads ?? 0,
    optim: optimOptions(config.optim),
    activations: config.activations,
    companions: job.baseDir,
  });
}
