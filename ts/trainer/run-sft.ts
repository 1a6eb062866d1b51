/**
 * The supervised stage: cross-entropy on an environment's own demonstrations.
 *
 * Only completion tokens and the end-of-sequence token after them carry loss. Batches go through the same packing and the same trainer
 * as in RL.
 */

import type { SftConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { loadEnvironment } from "../environments/index.ts";
import type { Metrics } from "../monitors/index.ts";
import { buildBatch, openTrainer, packSequences, type Sample } from "../native/index.ts";
import { loadTokenizer, type Tokenizer } from "../renderers/index.ts";
import { learningRate } from "./schedule.ts";

export interface SftJob {
  /** Checkpoint to start from, tokenizer included. */
  modelDir: string;
  /** Folder that gets the trained checkpoint. */
  outDir: string;
  config: SftConfig;
  metrics: Metrics;
  signal: AbortSignal;
}

export interface SftResult {
  steps: number;
  /** Of the last step, mean over completion tokens. */
  loss: number;
  /** Trained on, prompts included. */
  tokens: number;
}

/** Trains `config.max_steps` steps and writes a Hugging Face folder. */
export async function runSft({ modelDir, outDir, config, metrics, signal }: SftJob): Promise<SftResult> {
  const environment = (await loadEnvironment(config.data.env)).configure(config.data.env.args);
  const pairs = environment.demonstrations(config.seed)[Symbol.iterator]();
  const tokenizer = await loadTokenizer(modelDir);
  const trainer = await openTrainer(modelDir, {
    dtype: config.dtype,
    threads: config.threads ?? 0,
    optim: config.optim,
    activations: config.activations,
  });
  const result: SftResult = { steps: 0, loss: Number.NaN, tokens: 0 };
  try {
    for (let step = 1; step <= config.max_steps; step++) {
      signal.throwIfAborted();
      const startedAt = performance.now();
      const samples: Sample[] = [];
      while (samples.length < config.data.batch_size) {
        const { value, done } = pairs.next();
        if (done === true)
          throw new PrlError(
            "PRL_ENVIRONMENT_INVALID",
            `${environment.name}: the demonstrations ended at step ${step}`,
          );
        samples.push(demonstrationSample(value.prompt, value.completion, tokenizer, config.seq_len));
      }
      const plan = packSequences(
        samples.map((sample) => sample.tokenIds.length),
        { seqLen: config.seq_len },
      );
      const [batch] = buildBatch(samples, plan, { seqLen: config.seq_len, padTokenId: tokenizer.padTokenId ?? 0 });
      if (batch === undefined) throw new PrlError("PRL_PACKING_INPUT", `step ${step} of the SFT stage has no samples`);
      const { loss, metrics: lossMetrics } = await trainer.forwardBackward(batch);
      const lr = learningRate(step, config.optim.lr, config.scheduler, config.max_steps);
      const { gradNorm } = await trainer.step({ lr });
      const seconds = (performance.now() - startedAt) / 1000;
      const throughput = batch.inputIds.length / seconds;
      metrics.log(step, {
        ...lossMetrics,
        loss,
        "optim/lr": lr,
        "optim/grad_norm": gradNorm,
        "perf/throughput": throughput,
        "time/step": seconds,
      });
      result.steps = step;
      result.loss = loss;
      result.tokens += batch.inputIds.length;
    }
    await trainer.save(outDir);
    return result;
  } finally {
    await trainer.close();
  }
}

/** One demonstration as a sample: loss on the completion and its end-of-sequence token, the prompt as context. */
function demonstrationSample(prompt: string, completion: string, tokenizer: Tokenizer, seqLen: number): Sample {
  const promptIds = tokenizer.encode(prompt);
  const completionIds = tokenizer.encode(completion);
  const eos = tokenizer.eosTokenId === null ? [] : [tokenizer.eosTokenId];
  const tokenIds = Uint32Array.from([...promptIds, ...completionIds, ...eos]);
  if (tokenIds.length > seqLen) {
    const length = `${tokenIds.length} tokens`;
    throw new PrlError(
      "PRL_PACKING_INPUT",
      `a demonstration has ${length}, more than seq_len ${seqLen}: raise seq_len or shorten it`,
    );
  }
  const ceWeights = new Float32Array(tokenIds.length).fill(1, Math.max(1, promptIds.length));
  return {
    tokenIds,
    mask: new Uint8Array(tokenIds.length),
    logprobs: new Float32Array(tokenIds.length),
    advantages: new Float32Array(tokenIds.length),
    temperature: 1,
    envId: 0,
    policyVersionSpans: Uint32Array.of(0, 0xffffffff),
    ceWeights,
  };
}
