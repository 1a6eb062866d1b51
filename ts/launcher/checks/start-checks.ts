/**
 * Checks of a run before it starts, besides its code and its model: errors for values that would fail later, warnings for values that are
 * allowed and most likely not meant.
 */
import { availableParallelism } from "node:os";

import {
  type KeyPath,
  placeOf,
  type Provenance,
  rolloutTransportBlock,
  type RlConfig,
  type SftConfig,
  weightBroadcastBlock,
} from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { checkCapacity } from "../../inference/internal.ts";
import { modelFolder } from "../models/base-model.ts";

/** Beyond this, Adam's steps of about the learning rate overwrite weights of ordinary size. */
const HIGH_RATE = 0.1;

interface Remark {
  readonly key: KeyPath;
  readonly text: string;
}

/**
 * @param evaluation where the config that the user wrote has its evaluation
 * @throws PrlError `PRL_CONFIG_INVALID` naming the key of a length or a memory size that does not fit the model
 */
export async function checkEngineMemory(
  config: RlConfig,
  provenance: Provenance | undefined,
  evaluation: KeyPath = ["orchestrator", "eval"],
): Promise<void> {
  if (config.orchestrator.client.base_url.length > 0) return;
  const { inference, orchestrator } = config;
  const { maxPositions, neededBytes } = await checkCapacity(await modelFolder(config.model.name), {
    ...inference,
    // vLLM keeps keys and values in the format of the weights, and says itself when they do not fit.
    ...(inference.backend === "vllm" && { kv_cache_bytes: null }),
  });
  if (neededBytes !== null) {
    const text = `${inference.kv_cache_bytes} bytes do not hold one sequence of max_model_len ${inference.max_model_len}: it needs ${neededBytes}`;
    throw invalid({ key: ["inference", "kv_cache_bytes"], text }, provenance);
  }
  const blocks: { key: KeyPath; most: number | null }[] = [
    { key: ["orchestrator", "train"], most: orchestrator.train.sampling.max_completion_tokens },
    ...(orchestrator.eval?.source ?? []).map(({ sampling }, index) => ({
      key: [...evaluation, "source", index],
      most: sampling.max_completion_tokens,
    })),
  ];
  const long = blocks.find(({ most }) => most !== null && most >= maxPositions);
  if (long === undefined) return;
  const key = [...long.key, "sampling", "max_completion_tokens"];
  const text = `${long.most} leaves no room for a prompt: the model takes sequences of at most ${maxPositions} tokens`;
  throw invalid({ key, text }, provenance);
}

/** Warnings for a run, each with its place. */
export function rlWarnings(config: RlConfig, provenance: Provenance | undefined): string[] {
  const { trainer, inference } = config;
  const remarks = [
    ...optimRemarks(trainer.optim, ["trainer", "optim"]),
    ...warmupRemark(trainer.scheduler, config.max_steps, ["trainer", "scheduler"]),
    ...threadRemark(trainer.threads, 1, ["trainer", "threads"]),
    ...threadRemark(inference.threads, inference.replicas, ["inference", "threads"]),
    ...transportRemarks(config),
  ];
  return remarks.map((remark) => remarkText(remark, provenance));
}

/** The same for supervised training. */
export function sftWarnings(config: SftConfig, provenance: Provenance | undefined): string[] {
  const remarks = [
    ...optimRemarks(config.optim, ["optim"]),
    ...warmupRemark(config.scheduler, config.max_steps, ["scheduler"]),
    ...threadRemark(config.threads, 1, ["threads"]),
  ];
  return remarks.map((remark) => remarkText(remark, provenance));
}

function optimRemarks({ type, lr, weight_decay: decay }: SftConfig["optim"], at: KeyPath): Remark[] {
  const key = [...at, "lr"];
  if (lr === 0) return [{ key, text: "is 0: the weights stay as they are" }];
  const high = type !== "sgd" && lr > HIGH_RATE ? [{ key, text: `${lr} is far above what ${type} bears` }] : [];
  const isTotal = decay * lr >= 1;
  const total = { key: [...at, "weight_decay"], text: `times lr is ${decay * lr}: each step takes the weights away` };
  return [...high, ...(isTotal ? [total] : [])];
}

/** A short trial of a config for a long run is fine; its rate stays below the peak. */
function warmupRemark({ warmup_steps: steps }: SftConfig["scheduler"], maxSteps: number | null, at: KeyPath): Remark[] {
  if (maxSteps === null || steps <= maxSteps) return [];
  const text = `${steps} is more than max_steps ${maxSteps}: the learning rate never gets to its peak`;
  return [{ key: [...at, "warmup_steps"], text }];
}

function threadRemark(threads: number | null, processes: number, key: KeyPath): Remark[] {
  const cores = availableParallelism();
  if (threads === null || threads * processes <= cores) return [];
  const each = processes === 1 ? "" : ` in each of ${processes} processes`;
  return [{ key, text: `${threads} threads${each} share ${cores} cores: more threads than cores are slower` }];
}

/** Network keys that have no effect where batches or weights travel by files. */
function transportRemarks(config: RlConfig): Remark[] {
  const blocks = [
    ["rollout_transport", rolloutTransportBlock.parse({})],
    ["weight_broadcast", weightBroadcastBlock.parse({})],
  ] as const;
  return blocks.flatMap(([block, defaults]) => {
    const given: Readonly<Record<string, unknown>> = config[block];
    if (given["type"] !== "filesystem") return [];
    return Object.entries(defaults)
      .filter(([key, value]) => !["type", "keep", "verify"].includes(key) && given[key] !== value)
      .map(([key]) => ({ key: [block, key], text: `is not read: ${block}.type is "filesystem"` }));
  });
}

function remarkText({ key, text }: Remark, provenance: Provenance | undefined): string {
  return `${placeOf(key, provenance)}: ${text}`;
}

function invalid(remark: Remark, provenance: Provenance | undefined): PrlError {
  return new PrlError("PRL_CONFIG_INVALID", remarkText(remark, provenance));
}
