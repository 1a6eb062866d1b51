/** `[orchestrator]`: the process that schedules rollouts, computes advantages, packs batches and runs evaluations. */
import { z } from "zod";
import { algoBlock } from "./algo.ts";
import { concurrencyBlock } from "./concurrency.ts";
import { curriculumBlock } from "./curriculum.ts";
import { engineClientBlock } from "./engine-client.ts";
import { filterBlock } from "./filters.ts";
import { remoteEnvWorkersBlock } from "./remote-env-workers.ts";
import { samplingOfAll, samplingOfOne } from "../sampling.ts";
import {
  automatic,
  environmentBlock,
  MOST_PROCESSES,
  modelBlock,
  numExamples,
  outputDir,
  seconds,
  seed,
  seqLen,
  sourceName,
} from "../fields.ts";

/** All rollouts of a batch, and all under way, are in memory together. */
const MOST_ROLLOUTS = 1_048_576;
const LEAST_RATE = 0.01;

const maxCompletionTokens = z
  .int()
  .positive()
  .nullable()
  .default(null)
  .describe("Most tokens of one completion; unset: as many as seq_len leaves after the prompt");

const trainSampling = z
  .strictObject({
    temperature: z
      .number()
      .gt(0, "training samples need a temperature above 0: greedy samples have no log-probability to train on")
      .max(2)
      .default(1)
      .describe(
        "Sampling temperature, above 0 and up to 2; training samples have no top_p and top_k, so that sampler and trainer agree",
      ),
    max_completion_tokens: maxCompletionTokens,
  })
  .prefault({})
  .describe("Sampling of training rollouts");

const evalSampling = z
  .strictObject({
    ...samplingOfAll,
    max_completion_tokens: maxCompletionTokens,
  })
  .prefault({})
  .describe("Sampling of evaluations");

const trainSource = z.strictObject({
  name: sourceName,
  ratio: z
    .number()
    .positive()
    .default(1)
    .describe("Weight of this source among all training sources: its share is the weight over their sum"),
  group_size: z.int().positive().nullable().default(null).describe("Rollouts per task; unset: orchestrator.group_size"),
  algo: algoBlock
    .nullable()
    .default(null)
    .describe("How this source's rewards become advantages; unset: orchestrator.algo"),
  curriculum: curriculumBlock,
  env: environmentBlock,
});

const evalSource = z.strictObject({
  name: sourceName,
  env: environmentBlock,
  num_examples: numExamples
    .nullable()
    .default(null)
    .describe("Tasks to run; -1: all; unset: orchestrator.eval.num_examples"),
  group_size: z
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe("Rollouts per task; unset: orchestrator.eval.group_size"),
  sampling: z
    .strictObject({
      ...samplingOfOne,
      max_completion_tokens: maxCompletionTokens,
    })
    .prefault({})
    .describe("Sampling of this source; keys that are unset come from orchestrator.eval.sampling"),
});

export const evalBlock = z
  .strictObject({
    interval: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe("Steps between evaluations; unset: evaluations at the start and the end only"),
    eval_at_start: z.boolean().default(true).describe("Evaluate the policy before the first step"),
    num_examples: numExamples.default(-1).describe("Tasks per source; -1: all"),
    group_size: z.int().positive().default(1).describe("Rollouts per task"),
    hold_weights: z
      .boolean()
      .nullable()
      .default(null)
      .describe("Delay weight updates until an evaluation has ended; unset: only when max_async_level is 0"),
    keep: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe("Number of newest evaluated versions whose rollouts stay in rollouts/; unset: all"),
    sampling: evalSampling,
    source: z
      .array(evalSource)
      .min(1, "an [orchestrator.eval] block needs at least one source")
      .describe("Evaluation sources"),
  })
  .describe('Held-out evaluation; "None" or absent: none');

export const orchestratorBlock = z
  .strictObject({
    batch_size: automatic(
      "Rollouts per training step, a multiple of group_size; unset: 128, or as many as token_batch_size needs",
      MOST_ROLLOUTS,
    ),
    token_batch_size: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe(
        "Tokens per training step with their prompts, in place of batch_size; unset: batch_size counts rollouts",
      ),
    oversampling: z
      .number()
      .min(1)
      .max(4)
      .default(1)
      .describe(
        "How many times as many groups are sampled as a batch needs, so that the batch does not wait for its slowest group; the other groups go on and train later. Above 1 needs a max_async_level of at least 1",
      ),
    recycle: z
      .enum(["off", "stale", "tails"])
      .default("off")
      .describe(
        "How the tokens of cancelled groups are used again. off: they are lost. stale: the task of a group that became too old is sampled again, and its rollouts continue from their tokens if the oldest token is within max_off_policy_steps. tails: as stale, and with each batch the groups that oversampling has under way beyond the next batch are cut and continue under the next version",
      ),
    fifo_window: automatic(
      "Number of groups that may enter a batch before the oldest group that is under way; a small number favours short samples less and waits longer; unset: any number",
    ),
    group_size: z.int().positive().max(MOST_ROLLOUTS).default(1).describe("Rollouts per task"),
    max_off_policy_steps: z
      .int()
      .nonnegative()
      .default(8)
      .describe("Largest staleness of a group that trains, in steps; at least max_async_level, and 0 when that is 0"),
    seq_len: seqLen.optional(),
    env_workers: z
      .int()
      .positive()
      .max(MOST_PROCESSES)
      .default(1)
      .describe(
        "Least number of processes that run environment code; each takes about 120 MB, and what the environments take",
      ),
    max_env_workers: automatic(
      "Most processes that run environment code; more are started when the load needs them for some seconds, and a spare beside a single one; at least env_workers; unset: one per core",
      MOST_PROCESSES,
    ),
    rollouts_per_env_worker: z
      .int()
      .positive()
      .default(256)
      .describe("Number of rollouts under way for which one such process is enough"),
    remote_env_workers: remoteEnvWorkersBlock,
    max_inflight: z
      .int()
      .positive()
      .max(MOST_ROLLOUTS)
      .default(1024)
      .describe("Most rollouts that run at once, with those of evaluations"),
    request_timeout_s: seconds().default(600).describe("Longest one rollout may take (seconds)"),
    algo: algoBlock.prefault({}),
    filter_zero_advantages: z
      .boolean()
      .default(true)
      .describe(
        "Leave traces with an advantage of 0 out of the batch, which becomes smaller; batch/zero_advantage counts them. curriculum.gates.advantage_range samples others in their place",
      ),
    filters: z.array(filterBlock).default([]).describe("Filters, which choose scored traces that do not train"),
    canary: z
      .strictObject({
        max_mean_abs: z
          .number()
          .nonnegative()
          .default(0.02)
          .describe(
            "Largest mean absolute difference between the log-probabilities of server and trainer (nats); embedded engines with one instruction set must differ by 0",
          ),
      })
      .prefault({})
      .describe("Check of every engine after each weight update, with fixed tokens"),
    client: engineClientBlock,
    concurrency: concurrencyBlock,
    tasks_per_minute: z
      .number()
      .min(LEAST_RATE, "fewer than one task in 100 minutes")
      .nullable()
      .default(null)
      .describe("Most tasks (groups) that begin per minute; groups under way do not wait for it; unset: any number"),
    train: z
      .strictObject({
        sampling: trainSampling,
        source: z.array(trainSource).min(1, "training needs at least one source").describe("Training sources"),
      })
      .describe("Training rollouts"),
    eval: evalBlock.nullable().default(null),
    model: modelBlock.optional(),
    max_steps: z.int().positive().nullable().optional().describe("Number of training steps"),
    max_async_level: z.int().nonnegative().optional().describe("Number of steps that sampling may lag behind training"),
    seed: seed.optional(),
    output_dir: outputDir.optional(),
  })
  .describe("The orchestrator process");
