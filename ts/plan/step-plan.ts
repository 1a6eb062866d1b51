/**
 * The tokens and the expected times of a step, from the assumptions.
 *
 * Rollouts are sampled I at a time: as many as may be under way by the rule of ARCHITECTURE.md ("Steps, versions and staleness") while the
 * trainer works, and as the servers hold. A rollout lasts its completion's decoding steps, its prompt and its environment; a batch of n rollouts
 * lasts n / I of them. Training and sampling overlap unless `max_async_level` is 0 or they take turns on one GPU: then the step is their sum, with the
 * changes of the turn.
 */
import { batchRanks, type RlConfig } from "../config/index.ts";
import type { DescribedModel } from "../models/index.ts";
import type { Assumptions } from "./assumptions.ts";
import type { Device } from "../models/index.ts";
import { type InferencePlan, meanLength } from "./inference-plan.ts";
import type { TorchWorkload } from "./torch-memory.ts";
import { decodeSeconds, prefillSeconds, secondsOf, trainingWork } from "./work.ts";
import type { VllmWorkload } from "./vllm-memory.ts";

export interface BatchPlan {
  readonly rollouts: number;
  /** Tokens of prompts and completions. */
  readonly tokens: number;
  readonly completion_tokens: number;
  /** Bins of `seq_len` tokens of each rank. */
  readonly bins_per_rank: number;
  /** Rollouts that may be under way while the trainer works. */
  readonly in_flight: number;
}

/** Seconds; null where the part runs on processors, whose speed is not in the table. */
export interface TimePlan {
  /** Operations of the trainer's step, in bfloat16 and in float32. */
  readonly bf16_operations: number;
  readonly f32_operations: number;
  readonly train: number | null;
  /** Sequences that each server decodes together. */
  readonly decoded_together: number;
  /** Seconds of one decoding step. */
  readonly token: number | null;
  readonly rollout: number | null;
  readonly sample: number | null;
  /** One way of one version; `sample` and `train` are without it. */
  readonly transfer: number;
  /** Both changes of the turn on a GPU that trainer and servers share; null: they share none. */
  readonly handover: number | null;
  readonly step: number | null;
}

export function batchPlan(config: RlConfig, assumptions: Assumptions): BatchPlan {
  const { orchestrator, trainer, seq_len: bin, max_async_level: level } = config;
  const mean = assumptions.promptTokens + assumptions.completionTokens;
  const { batch_size: size, token_batch_size: tokenSize, oversampling, max_inflight: most } = orchestrator;
  const rollouts = size ?? Math.max(1, Math.ceil((tokenSize ?? mean) / mean));
  const tokens = rollouts * mean;
  const batches = Math.max(1, level) + oversampling - 1;
  return {
    rollouts,
    tokens,
    completion_tokens: rollouts * assumptions.completionTokens,
    bins_per_rank: Math.ceil(tokens / bin / batchRanks(trainer)),
    in_flight: Math.min(most, Math.ceil(batches * rollouts)),
  };
}

export interface TimeParts {
  readonly model: DescribedModel;
  readonly assumptions: Assumptions;
  readonly batch: BatchPlan;
  readonly inference: InferencePlan;
  readonly trainer: { readonly workload: TorchWorkload; readonly device: Device | null };
  readonly server: { readonly workload: VllmWorkload; readonly device: Device | null };
  /** Bytes of a version, as it travels. */
  readonly versionBytes: number;
  /** As in `TimePlan`. */
  readonly handover: number | null;
}

export function timePlan(config: RlConfig, parts: TimeParts): TimePlan {
  const { batch, assumptions, trainer } = parts;
  const { envSeconds, mfu, promptTokens, completionTokens } = assumptions;
  const sequence = promptTokens + completionTokens;
  const tokens = { all: batch.tokens, trained: batch.completion_tokens, sequence };
  const work = trainingWork(parts.model.shape, trainer.workload, tokens);
  const { device } = trainer;
  const train = device === null ? null : secondsOf(work, device, { gpus: trainer.workload.ranks, mfu });
  const together = Math.min(parts.inference.mean_sequences, Math.ceil(batch.in_flight / parts.inference.servers));
  const token = together < 1 ? null : tokenSeconds(parts, together);
  const prompt = promptSeconds(config, parts);
  const rollout = token === null || prompt === null ? null : assumptions.completionTokens * token + prompt + envSeconds;
  const underWay = Math.min(batch.in_flight, parts.inference.servers * parts.inference.mean_sequences);
  const sample = rollout === null || underWay === 0 ? null : waves(config, batch.rollouts / underWay) * rollout;
  const transfer = parts.versionBytes / assumptions.transfer;
  const { handover } = parts;
  const both = train === null || sample === null ? null : { train: train + transfer, sample: sample + transfer };
  const step = both === null ? null : stepSeconds(config, both, handover);
  return {
    bf16_operations: work.bf16,
    f32_operations: work.f32,
    train,
    decoded_together: together,
    token,
    rollout,
    sample,
    transfer,
    handover,
    step,
  };
}

/** At level 0 the rollouts of a batch begin together, so that the last wave may be small. */
function waves({ max_async_level: level }: RlConfig, count: number): number {
  return level === 0 ? Math.ceil(count) : count;
}

/** Training and sampling one after the other at level 0 and in turns on one GPU, else side by side. */
function stepSeconds(
  { max_async_level: level }: RlConfig,
  { train, sample }: { train: number; sample: number },
  handover: number | null,
): number {
  if (handover !== null) return train + sample + handover;
  return level === 0 ? train + sample : Math.max(train, sample);
}

function tokenSeconds({ model, server, assumptions }: TimeParts, sequences: number): number | null {
  const { device, workload } = server;
  if (device === null) return null;
  const { bandwidth, mfu } = assumptions;
  return decodeSeconds(model.shape, device, workload, { sequences, length: meanLength(assumptions), bandwidth, mfu });
}

/** Seconds that a rollout waits for prompts: its share of those of its group, when prompts that begin alike are computed once. */
function promptSeconds(
  { inference, orchestrator }: RlConfig,
  { model, server, assumptions }: TimeParts,
): number | null {
  const { device, workload } = server;
  if (device === null) return null;
  const alike = inference.prefix_cache ? orchestrator.group_size : 1;
  const load = { tokens: assumptions.promptTokens, mfu: assumptions.mfu };
  return prefillSeconds(model.shape, device, workload, load) / alike;
}
