/**
 * Schema of `rl.toml`.
 *
 * `RlConfig` is the resolved config: all defaults filled, shared keys copied into the sections that have them, sources named and
 * their settings inherited. A resolved config parses to itself.
 */
import { z } from "zod";
import { defaultSourceName, filePath, logBlock, modelBlock, outputDir, runBlock, seed, seqLen } from "./fields.ts";
import { inferenceBlock } from "./inference.ts";
import { ckptBlock, ckptProblem } from "./ckpt.ts";
import { concurrencyProblem } from "./orchestrator/concurrency.ts";
import { algoProblems } from "./orchestrator/algo.ts";
import { curriculumProblem, gateProblem } from "./orchestrator/curriculum.ts";
import { filterProblems } from "./orchestrator/filters.ts";
import { deploymentBlock, deploymentProblem } from "./deployment.ts";
import { lengthProblems } from "./lengths.ts";
import { lossProblems } from "./trainer/loss.ts";
import { monitorsBlock } from "./monitors.ts";
import { orchestratorBlock } from "./orchestrator/orchestrator.ts";
import { optimProblems, scheduleProblem, trainerBlock } from "./trainer/trainer.ts";
import { samplingOver } from "./sampling.ts";
import { sandboxBlock } from "./sandbox.ts";
import { rolloutTransportBlock, weightBroadcastBlock } from "./transports.ts";

/** The keys of the file. */
export const rlInputSchema = z
  .strictObject({
    run: runBlock,
    output_dir: outputDir.default("outputs"),
    clean: z.boolean().default(false).describe("Delete the run directory first when it exists"),
    seed: seed.default(0),
    max_steps: z.int().positive().nullable().default(null).describe("Steps to train; unset: until interrupted"),
    max_async_level: z
      .int()
      .nonnegative()
      .default(1)
      .describe("Steps that sampling may lag behind training; 0 is synchronous and exactly reproducible"),
    seq_len: seqLen.default(2048),
    model: modelBlock,
    log: logBlock,
    monitors: monitorsBlock,
    trainer: trainerBlock,
    orchestrator: orchestratorBlock,
    inference: inferenceBlock,
    sandbox: sandboxBlock,
    warm_start: z
      .strictObject({ sft: filePath("SFT config of the stage that runs before RL; its result is cached by content") })
      .nullable()
      .default(null)
      .describe("Short SFT stage before RL; absent: none"),
    ckpt: ckptBlock,
    deployment: deploymentBlock,
    rollout_transport: rolloutTransportBlock,
    weight_broadcast: weightBroadcastBlock,
  })
  .describe("Reinforcement learning");

/** The resolved config; parsing also checks conditions between keys. */
export const rlConfigSchema = rlInputSchema.transform((config, context) => {
  for (const { path, message } of problems(config)) context.addIssue({ code: "custom", path, message });
  return resolve(config);
});

/** A resolved RL config: every default filled, every path absolute when it came through `loadConfig`. */
export type RlConfig = z.output<typeof rlConfigSchema>;
type RlInput = z.output<typeof rlInputSchema>;

function resolve(config: RlInput) {
  const { model, seq_len, max_steps, max_async_level, seed: runSeed, output_dir, orchestrator } = config;
  const shared = { model, seq_len, max_steps, max_async_level, seed: runSeed, output_dir };
  return {
    ...config,
    trainer: { ...config.trainer, ...shared },
    orchestrator: {
      ...orchestrator,
      ...shared,
      batch_size: orchestrator.token_batch_size === null ? rolloutsPerBatch(orchestrator) : null,
      max_off_policy_steps: max_async_level === 0 ? 0 : orchestrator.max_off_policy_steps,
      train: {
        ...orchestrator.train,
        source: orchestrator.train.source.map((source) => ({
          ...source,
          name: source.name ?? defaultSourceName(source.env),
          group_size: source.group_size ?? orchestrator.group_size,
          algo: source.algo ?? orchestrator.algo,
        })),
      },
      eval: resolveEval(orchestrator.eval, max_async_level),
    },
    inference: { ...config.inference, model, max_model_len: config.inference.max_model_len ?? seq_len },
  };
}

function resolveEval(block: RlInput["orchestrator"]["eval"], level: number) {
  if (block === null) return null;
  return {
    ...block,
    hold_weights: block.hold_weights ?? level === 0,
    source: block.source.map((source) => ({
      ...source,
      name: source.name ?? defaultSourceName(source.env),
      num_examples: source.num_examples ?? block.num_examples,
      group_size: source.group_size ?? block.group_size,
      sampling: samplingOver(source.sampling, block.sampling),
    })),
  };
}

const DEFAULT_BATCH = 128;

function rolloutsPerBatch({ batch_size: rollouts }: RlInput["orchestrator"]): number {
  return rollouts ?? DEFAULT_BATCH;
}

const LAST_PORT = 65_535;

interface Problem {
  readonly path: (string | number)[];
  readonly message: string;
}

function problems(config: RlInput): Problem[] {
  const found: Problem[] = [];
  const { orchestrator, max_async_level: level } = config;
  const { group_size, max_inflight, max_off_policy_steps, token_batch_size: tokenBatch } = orchestrator;
  if (tokenBatch !== null && orchestrator.batch_size !== null) {
    const path = ["orchestrator", "token_batch_size"];
    found.push({ path, message: "give batch_size (rollouts) or token_batch_size (tokens), not both" });
  }
  const batch = tokenBatch === null ? rolloutsPerBatch(orchestrator) : null;
  if (batch !== null && batch % group_size !== 0) {
    const message = `${batch} is no multiple of orchestrator.group_size ${group_size}`;
    found.push({ path: ["orchestrator", "batch_size"], message });
  }
  orchestrator.train.source.forEach((source, i) => {
    const size = source.group_size;
    if (size !== null && batch !== null && batch % size !== 0) {
      const path = ["orchestrator", "train", "source", i, "group_size"];
      found.push({ path, message: `orchestrator.batch_size ${batch} is no multiple of ${size}` });
    }
  });
  orchestrator.train.source.forEach((source, i) => {
    const message = curriculumProblem(source.curriculum);
    if (message !== null)
      found.push({ path: ["orchestrator", "train", "source", i, "curriculum", "sampler"], message });
    const gate = gateProblem(source.curriculum);
    if (gate !== null) {
      const path = ["orchestrator", "train", "source", i, "curriculum", "gates", "advantage_range"];
      found.push({ path, message: gate });
    }
  });
  for (const [path, algo] of [
    [["orchestrator"], orchestrator.algo] as const,
    ...orchestrator.train.source.map((source, i) => [["orchestrator", "train", "source", i], source.algo] as const),
  ]) {
    if (algo === null) continue;
    for (const { key, message } of algoProblems(algo)) found.push({ path: [...path, "algo", key], message });
  }
  for (const { index, key, message } of filterProblems(orchestrator.filters)) {
    found.push({ path: ["orchestrator", "filters", index, key], message });
  }
  const largest = Math.max(group_size, ...orchestrator.train.source.map((source) => source.group_size ?? group_size));
  if (max_inflight < largest) {
    const path = ["orchestrator", "max_inflight"];
    found.push({ path, message: `${max_inflight} is less than the group size ${largest}: no group could run` });
  }
  const concurrency = concurrencyProblem(orchestrator);
  if (concurrency !== null)
    found.push({ path: ["orchestrator", "concurrency", concurrency.key], message: concurrency.message });
  if ((orchestrator.max_env_workers ?? Infinity) < orchestrator.env_workers) {
    const path = ["orchestrator", "max_env_workers"];
    found.push({
      path,
      message: `${orchestrator.max_env_workers} is less than env_workers ${orchestrator.env_workers}`,
    });
  }
  if (orchestrator.client.api === "vllm" && orchestrator.client.base_url.length === 0) {
    const message =
      "the run starts its own servers, which are not vLLM: name running ones with orchestrator.client.base_url";
    found.push({ path: ["orchestrator", "client", "api"], message });
  }
  if (orchestrator.recycle === "tails" && orchestrator.oversampling === 1) {
    const message =
      "without oversampling there are no tails to cut: raise orchestrator.oversampling, or recycle what is stale";
    found.push({ path: ["orchestrator", "recycle"], message });
  }
  if (orchestrator.oversampling > 1 && level === 0) {
    const path = ["orchestrator", "oversampling"];
    const message =
      "at max_async_level 0 every group is of the batch it was opened for: raise the level, or leave it 1";
    found.push({ path, message });
  }
  if (max_off_policy_steps < level && level > 0) {
    const path = ["orchestrator", "max_off_policy_steps"];
    found.push({
      path,
      message: `${max_off_policy_steps} is less than max_async_level ${level}: raise it to at least ${level}`,
    });
  }
  if (config.weight_broadcast.keep <= level) {
    const path = ["weight_broadcast", "keep"];
    found.push({ path, message: `${config.weight_broadcast.keep} must be more than max_async_level ${level}` });
  }
  const { port } = config.inference.server;
  if (port + config.inference.replicas > LAST_PORT + 1) {
    const path = ["inference", "server", "port"];
    found.push({
      path,
      message: `${config.inference.replicas} replicas from port ${port} on need ports above ${LAST_PORT}`,
    });
  }
  for (const { key, message } of lossProblems(config.trainer.loss)) {
    found.push({ path: ["trainer", "loss", key], message });
  }
  const deployment = deploymentProblem(config.deployment);
  if (deployment !== null) found.push({ path: ["deployment"], message: deployment });
  const ckpt = ckptProblem(config.ckpt);
  if (ckpt !== null) found.push({ path: ["ckpt"], message: ckpt });
  const schedule = scheduleProblem(config.trainer.scheduler, config.max_steps);
  if (schedule !== null) found.push({ path: ["trainer", "scheduler"], message: schedule });
  for (const { path, message } of optimProblems(config.trainer.optim, config.trainer.scheduler)) {
    found.push({ path: ["trainer", ...path], message });
  }
  found.push(...lengthProblems(["orchestrator", "train"], orchestrator.train, config.seq_len));
  found.push(...lengthProblems(["orchestrator", "eval"], orchestrator.eval, config.seq_len));
  const { max_model_len: longest } = config.inference;
  if (longest !== null && longest < config.seq_len && orchestrator.client.base_url.length === 0) {
    const message = `${longest} is less than seq_len ${config.seq_len}: the servers would refuse longer sequences`;
    found.push({ path: ["inference", "max_model_len"], message });
  }
  found.push(...nameProblems(["orchestrator", "train", "source"], orchestrator.train.source));
  orchestrator.train.source.forEach((source, i) => {
    const name = source.name ?? defaultSourceName(source.env);
    if (!OF_ALL_SOURCES.has(name)) return;
    const message = `"${name}" is where the metrics have the numbers of all sources together: give the source another name`;
    found.push({ path: ["orchestrator", "train", "source", i, "name"], message });
  });
  found.push(...nameProblems(["orchestrator", "eval", "source"], orchestrator.eval?.source ?? []));
  return found;
}

/** `train/agg/...`, `entropy/all/mean`. */
const OF_ALL_SOURCES: ReadonlySet<string> = new Set(["agg", "all"]);

type Source = { name: string | null; env: Parameters<typeof defaultSourceName>[0] };

/** Problems of sources with the same name. */
export function nameProblems(path: string[], sources: readonly Source[]): Problem[] {
  const seen = new Map<string, number>();
  const found: Problem[] = [];
  sources.forEach((source, i) => {
    const name = source.name ?? defaultSourceName(source.env);
    const first = seen.get(name);
    if (first === undefined) seen.set(name, i);
    else {
      const message = `"${name}" is already the name of ${[...path, first].join(".")}: give each source another name`;
      found.push({ path: [...path, i, "name"], message });
    }
  });
  return found;
}
