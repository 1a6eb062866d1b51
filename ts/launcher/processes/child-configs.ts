/**
 * The config of each process of a run: `<run>/configs/<component>.json`, written before the process starts.
 *
 * Keys are in snake case and everything is resolved: a child reads no other config, no environment variable and no default. What a child
 * reads is checked (`readChildConfig`; inference servers and env workers have their own).
 */
import { join } from "node:path";

import {
  allSources,
  type ChildConfigs,
  loadedRank,
  mergesAdapter,
  type RlConfig,
  type WorkerSource,
} from "../../config/index.ts";
import { daemonSettings } from "../../environments/run-start.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { makeFolder } from "../../files/make-folder.ts";
import type { ModelDirs } from "../models/model-dirs.ts";

export interface InferenceChildConfig {
  /** The run's model, not the checkpoint of a resume: a server may be started again when that checkpoint is deleted. */
  model_dir: string;
  /** Policy version of the weights in `model_dir`. */
  version: number;
  seed: number;
  inference: RlConfig["inference"];
  weight_broadcast: RlConfig["weight_broadcast"];
  /** The server samples nothing before the orchestrator has brought the run's weights. */
  start_paused: boolean;
  /** The server shares its GPU with the trainer, and takes turns with it. */
  colocated: boolean;
  /** Rank of the adapters that a vLLM loads beside the model; null: it gets whole models. */
  adapter_rank: number | null;
}

export interface EnvWorkerChildConfig {
  run_id: string;
  seed: number;
  /** Folder with the tokenizer. */
  model_dir: string;
  sources: WorkerSource[];
  max_concurrent: number;
  /** Address for callers on other machines; null or absent: only this machine reaches it. */
  listen?: { address: string; tls_cert: string | null; tls_key: string | null } | null;
  sandbox: RlConfig["sandbox"];
}

/** The configs of an RL run's processes. */
export interface RlChildConfigs extends Pick<ChildConfigs, "sandboxd" | "trainer" | "orchestrator"> {
  inference: InferenceChildConfig;
  "env-worker": EnvWorkerChildConfig;
}

/** The state of a run that its processes begin with. */
export interface RunStart extends ModelDirs {
  readonly runId: string;
  /** Folder of the checkpoints. */
  readonly checkpoints: string;
  /** The checkpoint to continue from; null for a new run. */
  readonly resume: { readonly step: number; readonly dir: string } | null;
}

/** Number of the sandbox daemon's Prometheus endpoint in the run. */
const SANDBOXD_PORT_OFFSET = 3;

/** Writes `<run>/configs/<name>.json` and returns its path. */
export async function writeConfig(runDir: string, name: string, config: unknown): Promise<string> {
  const path = join(runDir, "configs", `${name}.json`);
  makeFolder(join(runDir, "configs"));
  await atomicWriteJson(path, config);
  return path;
}

/**
 * The configs for `config`, which has its thread counts filled.
 *
 * @param socket socket of the run's own sandbox daemon, when it has one
 */
export function rlChildConfigs(config: RlConfig, start: RunStart, socket: string | null = null): RlChildConfigs {
  return {
    inference: {
      model_dir: start.modelDir,
      version: 0,
      seed: config.seed,
      inference: config.inference,
      weight_broadcast: config.weight_broadcast,
      start_paused: true,
      colocated: config.deployment.type === "colocated",
      adapter_rank: loadedRank(config),
    },
    "env-worker": envWorkerConfig(config, start, socket),
    sandboxd: {
      socket,
      silence_timeout_s: config.deployment.silence_timeout_s,
      daemon: { ...daemonSettings(config.sandbox), ...metricsAddress(config.monitors) },
    },
    trainer: trainerConfig(config, start),
    orchestrator: {
      ...config,
      run_id: start.runId,
      model_dir: start.modelDir,
      checkpoints: start.checkpoints,
      start_step: start.resume?.step ?? 0,
      resume_from: start.resume?.dir ?? null,
      evaluate_only: null,
    },
  };
}

function envWorkerConfig(
  { orchestrator, sandbox, seed }: RlConfig,
  { runId, modelDir }: RunStart,
  socket: string | null,
): EnvWorkerChildConfig {
  return {
    run_id: runId,
    seed,
    model_dir: modelDir,
    sources: allSources(orchestrator),
    max_concurrent: orchestrator.max_inflight,
    sandbox: socket === null ? sandbox : { ...sandbox, addresses: [`unix:${socket}`] },
  };
}

function trainerConfig(config: RlConfig, start: RunStart): ChildConfigs["trainer"] {
  const { runId, modelDir, baseWeights, referenceDir, checkpoints, resume } = start;
  return {
    run_id: runId,
    base_weights: baseWeights,
    reference_dir: referenceDir,
    model_dir: resume === null ? modelDir : join(resume.dir, "trainer"),
    base_dir: modelDir,
    start_step: resume?.step ?? 0,
    checkpoints,
    ckpt: config.ckpt,
    seed: config.seed,
    max_steps: config.max_steps,
    trainer: config.trainer,
    weight_broadcast: config.weight_broadcast,
    rollout_transport: config.rollout_transport,
    monitors: config.monitors,
    merges_adapter: mergesAdapter(config),
    colocated: config.deployment.type === "colocated",
  };
}

function metricsAddress({ prometheus }: RlConfig["monitors"]): { metricsAddress?: string } {
  return prometheus === null ? {} : { metricsAddress: `127.0.0.1:${prometheus.port + SANDBOXD_PORT_OFFSET}` };
}
