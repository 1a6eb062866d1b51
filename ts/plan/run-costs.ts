/**
 * The costs of a run's parts as functions of their load, for a simulation: what a plan sums up with means.
 *
 * The formulas and assumptions are those of the plan. Only runs whose trainer and servers are on GPUs have them.
 */
import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { describeModel } from "../models/index.ts";
import { type Assumptions, assumptionsFor, type PlanOptions } from "./assumptions.ts";
import { assumptionLines } from "./assumption-lines.ts";
import type { Device } from "../models/index.ts";
import { inferencePlan, inferenceProblems, longestSequence, vllmWorkload } from "./inference-plan.ts";
import type { PlanSurroundings } from "./plan.ts";
import { batchPlan } from "./step-plan.ts";
import { trainerPlan, trainerProblems, torchWorkload } from "./trainer-plan.ts";
import { versionPlan } from "./version-plan.ts";
import { decoder, prefillSeconds, secondsOf, trainingWork } from "./work.ts";

/** Tokens of a batch: all of them, and those of completions. */
export interface TrainedTokens {
  readonly all: number;
  readonly trained: number;
}

export interface RunCosts {
  readonly device: Device;
  /** GPUs of the trainer in the config. */
  readonly trainerGpus: number;
  readonly servers: number;
  readonly gpusPerServer: number;
  /** Most sequences that a server decodes together. */
  readonly sequences: number;
  /** Tokens that the KV cache of a server holds. */
  readonly kvTokens: number;
  readonly promptTokens: number;
  /** Mean, and longest. */
  readonly completionTokens: number;
  readonly longestCompletion: number;
  readonly envSeconds: number;
  /** Rollouts of a batch. */
  readonly rollouts: number;
  /** Bytes of a version as it travels, and at how many per second one server gets it. */
  readonly versionBytes: number;
  readonly transfer: number;
  /** Prompts that begin alike are computed once. */
  readonly sharesPrompts: boolean;
  /** Seconds of a decoding step with so many sequences that have so many tokens together. */
  readonly decode: (sequences: number, tokens: number) => number;
  /** Seconds of a prompt. */
  readonly prefill: (tokens: number) => number;
  /** Seconds of a batch on so many ranks: each takes whole bins. */
  readonly train: (tokens: TrainedTokens, ranks: number) => number;
  /** The parts that do not fit with so many ranks once the model is loaded, in words. */
  readonly problems: (ranks: number) => readonly string[];
  readonly assumptions: readonly string[];
}

/** Errors: PRL_CLI_USAGE for a run with a part on processors; those of `makePlan`. */
export async function runCosts(
  config: RlConfig,
  options: PlanOptions = {},
  { settings, signal }: PlanSurroundings = {},
): Promise<RunCosts> {
  const model = await describeModel(config.model.name, { settings, signal });
  const longest = longestSequence(config, model);
  const assumptions = assumptionsFor(config, options, longest);
  const dtype = config.model.dtype === "auto" ? model.dtype : config.model.dtype;
  const device = gpuOf(config, assumptions);
  const workload = torchWorkload(config, dtype, true);
  const trainer = trainerPlan(config, model, workload);
  const inference = inferencePlan(config, model, { dtype, assumptions, device });
  const served = vllmWorkload(config, model, { dtype, assumptions });
  const versions = versionPlan(config, model, { dtype, assumptions });
  const { mfu, promptTokens, completionTokens, envSeconds, transfer } = assumptions;
  const most = config.orchestrator.train.sampling.max_completion_tokens ?? longest;
  return {
    device,
    trainerGpus: config.trainer.ranks,
    servers: inference.servers,
    gpusPerServer: inference.gpus_per_server,
    sequences: config.inference.max_num_seqs,
    kvTokens: inference.kv_tokens,
    promptTokens,
    completionTokens,
    longestCompletion: Math.min(most, longest - promptTokens),
    envSeconds,
    rollouts: batchPlan(config, assumptions).rollouts,
    versionBytes: versions.sparse ?? versions.full,
    transfer,
    sharesPrompts: config.inference.prefix_cache,
    decode: decoder(model.shape, device, served, assumptions),
    prefill: (tokens) => prefillSeconds(model.shape, device, served, { tokens, mfu }),
    train({ all, trained }, ranks) {
      const sequence = promptTokens + completionTokens;
      const bin = { all: config.seq_len, trained: (config.seq_len * trained) / Math.max(1, all), sequence };
      const bins = Math.ceil(all / config.seq_len / ranks);
      return bins * secondsOf(trainingWork(model.shape, workload, bin), device, { gpus: 1, mfu });
    },
    problems(ranks) {
      const cut = { ...workload, ranks };
      return [
        ...trainerProblems({ ...trainerPlan(config, model, cut), loading: null }, model.shape, cut, device),
        ...inferenceProblems(inference, device),
      ];
    },
    assumptions: assumptionLines(config, assumptions, { trainer, inference, longest }),
  };
}

function gpuOf(config: RlConfig, { device }: Assumptions): Device {
  const { trainer, inference, orchestrator } = config;
  const { base_url: addresses, api } = orchestrator.client;
  const samples = addresses.length === 0 ? inference.backend : api;
  if (device !== null && trainer.backend === "torch" && samples === "vllm") return device;
  throw new PrlError(
    "PRL_CLI_USAGE",
    "prl plan --simulate: only runs on GPUs are simulated: trainer.backend must be torch and the servers vLLM's; prl rl --bench measures a run on processors",
  );
}
