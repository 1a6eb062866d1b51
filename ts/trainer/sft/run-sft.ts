/**
 * The supervised stage: cross-entropy on data or on an environment's own demonstrations.
 *
 * Batches go through the same packing and the same trainer as in RL: bin after bin, whose gradients add up to those of the step.
 */

import type { SftConfig } from "../../config/index.ts";
import { withEnds } from "../../async/with-ends.ts";
import { PrlError } from "../../errors.ts";
import type { Metrics } from "../../monitors/index.ts";
import { type Batch, buildBatchAsync, packSequences, type Sample } from "../../native/index.ts";
import { loadRenderer, loadTokenizer } from "../../renderers/index.ts";
import { type BackendJob, traceDirOf } from "../backend/backend.ts";
import { openBackend } from "../backend/open-backend.ts";
import { checkpointDisk } from "../checkpoint-disk.ts";
import { learningRate } from "../schedule.ts";
import { readSftPosition, type SftCheckpoints, SftSaver, type SftStart } from "./sft-checkpoint.ts";
import type { SftPublisher } from "./sft-evaluations.ts";
import { openSftData, type SftData } from "./sft-data.ts";
import { peakMemory, trainMetrics } from "../train-metrics.ts";
import { TrainSteps } from "../train-step.ts";
import { stepSpeeds } from "../utilization.ts";
import { validate } from "./sft-validation.ts";

export interface SftJob {
  /** Checkpoint to start from, tokenizer included. */
  modelDir: string;
  /** The model that the run began with: every saved folder gets its tokenizer. */
  baseDir: string;
  /** Folder that gets the trained checkpoint. */
  outDir: string;
  /** Gets the trace of `config.profile_step`. */
  profileDir: string;
  config: SftConfig;
  /** Settings of checkpoints; absent: none are written. */
  checkpoints?: SftCheckpoints | undefined;
  /** Publishes versions for evaluation; absent: there are no evaluations. */
  publisher?: SftPublisher | undefined;
  /** The checkpoint whose weights `modelDir` holds; absent: step 1 comes first. */
  start?: SftStart | undefined;
  metrics: Metrics;
  /** Aborted: the training ends with a checkpoint after the step that it is at. Absent: it is never asked to. */
  endAsked?: AbortSignal;
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
  const trainer = await openBackend(backendJob(job));
  const { ranks } = trainer;
  const startStep = job.start?.step ?? 0;
  const result: SftResult = { steps: startStep, loss: Number.NaN, tokens: 0 };
  const saver = job.checkpoints === undefined ? null : new SftSaver(job.checkpoints, metrics, signal);
  const steps = new TrainSteps(trainer, metrics);
  let data: SftData | null = null;
  const train = async (): Promise<SftResult> => {
    const position = job.start === undefined ? null : await readSftPosition(job.start.dir);
    data = await openSftData(config, encoding, signal, position);
    if (config.val?.eval_on_start === true && startStep === 0)
      metrics.log(0, await validate(trainer, config, encoding, signal));
    await job.publisher?.afterStep(startStep, trainer, signal);
    for (let step = startStep + 1; step <= config.max_steps; step++) {
      signal.throwIfAborted();
      const startedAt = performance.now();
      const { samples, counts } = await data.next(config.data.batch_size);
      const layout = { seqLen: binTokens, padTokenId: tokenizer.padTokenId ?? 0, ranks };
      const batches = await batchesOf(samples, layout, step);
      const tokens = batches.reduce((sum, { inputIds }) => sum + inputIds.length, 0);
      const lr = learningRate(step, config.optim.lr, config.scheduler, config.max_steps);
      const readAt = performance.now();
      const { loss, metrics: stepMetrics } = await steps.take(
        step,
        { batches, onPolicyVersion: null, traceDir: traceDirOf(step, config.profile_step, job.profileDir) },
        lr,
        saver?.saved ?? Promise.resolve(),
      );
      const trainedAt = performance.now();
      const seconds = (from: number, to: number): number => (to - from) / 1000;
      const isValidated = config.val !== null && (step % config.val.interval === 0 || step === config.max_steps);
      const validation = isValidated ? await validate(trainer, config, encoding, signal) : {};
      const publishedFrom = performance.now();
      await job.publisher?.afterStep(step, trainer, signal);
      const publishedAt = performance.now();
      const isAsked = saver !== null && job.endAsked?.aborted === true && step < config.max_steps;
      // A run that goes on from the checkpoint evaluates this version, and no earlier one.
      if (isAsked) await job.publisher?.evaluatedBefore(step, signal);
      await saver?.prepare(step, isAsked ? step : config.max_steps, trainer, { ...data.position });
      const savedAt = performance.now();
      metrics.log(step, {
        ...trainMetrics(stepMetrics, []),
        ...counts,
        "loss/mean": loss,
        "loss/perplexity": Math.exp(loss),
        "optim/lr": lr,
        "perf/throughput": tokens / seconds(startedAt, trainedAt),
        ...stepSpeeds(trainer.accelerators, batches, seconds(readAt, trainedAt)),
        "perf/peak_memory": stepMetrics["perf/peak_memory"] ?? peakMemory(),
        "progress/num_samples": data.position.taken,
        "time/load_data": seconds(startedAt, readAt),
        "time/forward_backward": seconds(readAt, trainedAt),
        "time/broadcast_weights": seconds(publishedFrom, publishedAt),
        "time/save_ckpt": seconds(publishedAt, savedAt),
        "time/step": seconds(startedAt, savedAt),
        ...validation,
        ...(job.checkpoints === undefined ? {} : await checkpointDisk(job.checkpoints.root)),
      });
      await saver?.finish();
      result.steps = step;
      result.loss = loss;
      result.tokens += tokens;
      if (isAsked) {
        await saver.saved;
        return result;
      }
    }
    await saver?.saved;
    await trainer.save(outDir);
    return result;
  };
  return withEnds(train, [async () => saver?.saved, () => trainer.close(), async () => data?.close()]);
}

interface Layout {
  /** Tokens of a bin. */
  seqLen: number;
  padTokenId: number;
  ranks: number;
}

/** The batch of each rank. Errors: PRL_PACKING_INPUT without samples. */
async function batchesOf(samples: readonly Sample[], layout: Layout, step: number): Promise<Batch[]> {
  if (samples.length === 0) throw new PrlError("PRL_PACKING_INPUT", `step ${step} of the SFT stage has no samples`);
  const lengths = samples.map((sample) => sample.tokenIds.length);
  const { seqLen, ranks } = layout;
  return buildBatchAsync(samples, packSequences(lengths, { seqLen, ranks }), layout);
}

function backendJob({ modelDir, baseDir, config, start }: SftJob): BackendJob {
  const { model, seed, backend, ranks, parallel, python, threads, compile, activations, optim } = config;
  const { rank_timeout_s, call_timeout_s } = config;
  const { lora, name, dtype, base_dtype: baseDtype } = model;
  return {
    model: { lora, name, baseDir, modelDir, seed, isResumed: start !== undefined },
    dtype,
    baseDtype,
    referenceDir: null,
    loss: null,
    settings: {
      backend,
      ranks,
      parallel,
      python,
      threads,
      compile,
      activations,
      optim,
      rank_timeout_s,
      call_timeout_s,
    },
  };
}
