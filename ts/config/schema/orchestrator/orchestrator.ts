/** `[orchestrator]`: the process that schedules rollouts, computes advantages, packs batches and runs evaluations. */
import { z } from "zod";
import { algoBlock } from "./algo.ts";
import { concurrencyBlock } from "./concurrency.ts";
import { curriculumBlock } from "./curriculum.ts";
import { engineClientBlock } from "./engine-client.ts";
import { filterBlock } from "./filters.ts";
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
  .describe("Most tokens of one completion; unset: what seq_len leaves after the prompt");

const trainSampling = z
  .strictObject({
    temperature: z
      .number()
      .gt(0, "training samples need a temperature above 0: greedy samples have no log-probability to train on")
      .max(2)
      .default(1)
      .describe("Sampling temperature, above 0 and up to 2; no other truncation, so that sampler and trainer agree"),
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
  ratio: z.number().positive().default(1).describe("Share of this source among all training sources, as a weight"),
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
    .describe("Tasks to run, -1 is all; unset: orchestrator.eval.num_examples"),
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
    .describe("Sampling of this source; what is unset comes from orchestrator.eval.sampling"),
});

export const evalBlock = z
  .strictObject({
    interval: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe("Steps between evaluations; unset: at start and end only"),
    eval_at_start: z.boolean().default(true).describe("Evaluate the policy before the first step"),
    num_examples: numExamples.default(-1).describe("Tasks per source, -1 is all"),
    group_size: z.int().positive().default(1).describe("Rollouts per task"),
    hold_weights: z
      .boolean()
      .nullable()
      .default(null)
      .describe("Hold weight updates back until an evaluation ends; unset: only when max_async_level is 0"),
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
      "Rollouts per training step, a multiple of group_size; unset: 128, or by token_batch_size",
      MOST_ROLLOUTS,
    ),
    token_batch_size: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe(
        "Tokens per training step, prompts included, in place of batch_size; unset: a batch is counted in rollouts",
      ),
    oversampling: z
      .number()
      .min(1)
      .max(4)
      .default(1)
      .describe(
        "Batches' worth that is sampled for each that the schedule needs, so that a batch does not wait for its slowest group; what is left goes on and trains later. Above 1 only with max_async_level of at least 1",
      ),
    recycle: z
      .enum(["off", "stale", "tails"])
      .default("off")
      .describe(
        "What becomes of the tokens of groups that are cancelled. stale: the task of a group that became too old comes back, and its rollouts go on from their tokens where the oldest one is within max_off_policy_steps. tails: besides, what oversampling has under way beyond the next batch is cut with each batch and goes on under the next version. off: they are lost, and tails are sampled on without a cut",
      ),
    fifo_window: automatic(
      "Groups that may overtake the oldest one under way into a batch; unset: any number. Smaller ones lean less to short samples and wait longer",
    ),
    group_size: z.int().positive().max(MOST_ROLLOUTS).default(1).describe("Rollouts per task"),
    max_off_policy_steps: z
      .int()
      .nonnegative()
      .default(8)
      .describe(
        "Oldest dispatch version that still trains, in steps behind; at least max_async_level, and 0 when that is 0",
      ),
    seq_len: seqLen.optional(),
    env_workers: z
      .int()
      .positive()
      .max(MOST_PROCESSES)
      .default(1)
      .describe("Least number of processes that run environment code"),
    max_env_workers: automatic(
      "Most of them, started when the load asks for some seconds; at least env_workers; unset: one per core",
      MOST_PROCESSES,
    ),
    rollouts_per_env_worker: z
      .int()
      .positive()
      .default(256)
      .describe("Rollouts under way for which there is one such process"),
    max_inflight: z
      .int()
      .positive()
      .max(MOST_ROLLOUTS)
      .default(1024)
      .describe("Most rollouts running at once, those of evaluations included"),
    request_timeout_s: seconds().default(600).describe("Longest one rollout may take (seconds)"),
    algo: algoBlock.prefault({}),
    filter_zero_advantages: z
      .boolean()
      .default(true)
      .describe(
        "Leave traces without an advantage out of the batch, which is then smaller: batch/zero_advantage counts them; curriculum.gates.advantage_range samples others in their place",
      ),
    filters: z.array(filterBlock).default([]).describe("Traces that do not train although they were scored"),
    canary: z
      .strictObject({
        max_mean_abs: z
          .number()
          .nonnegative()
          .default(0.02)
          .describe(
            "Largest mean |log-probability difference| to the trainer (nats); 0 for embedded engines of one instruction set",
          ),
      })
      .prefault({})
      .describe("Check of every engine after each weight update"),
    client: engineClientBlock,
    concurrency: concurrencyBlock,
    tasks_per_minute: z
      .number()
      .min(LEAST_RATE, "fewer than one task in 100 minutes")
      .nullable()
      .default(null)
      .describe("Most tasks (groups) begun per minute; unset: any number. What is under way never waits for it"),
    train: z
      .strictObject({
        sampling: trainSampling,
        source: z.array(trainSource).min(1, "training needs at least one source").describe("Training sources"),
      })
      .describe("Training rollouts"),
    eval: evalBlock.nullable().default(null),
    model: modelBlock.optional(),
    max_steps: z.int().positive().nullable().optional().describe("Steps to train"),
    max_async_level: z.int().nonnegative().optional().describe("Steps that sampling may lag behind training"),
    seed: seed.optional(),
    output_dir: outputDir.optional(),
  })
  .describe("The orchestrator process");
