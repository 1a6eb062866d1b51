/**
 * The config of each process of a run: `<run>/configs/<component>.json`, written before the process starts.
 *
 * Keys are in snake case and everything is resolved: a child reads no other config, no environment variable and no default.
 */
import { join } from "node:path";

import type { RlConfig, SftConfig } from "../../config/index.ts";
import { daemonSettings } from "../../environments/internal.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import type { DaemonSettings } from "../../sandbox/index.ts";
import type { RunBase } from "./rl-processes.ts";
import { makeFolder } from "../../files/make-folder.ts";

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
}

export interface EnvWorkerChildConfig {
  run_id: string;
  seed: number;
  /** Folder with the tokenizer. */
  model_dir: string;
  sources: { name: string; split: "train" | "eval"; env: RlConfig["orchestrator"]["train"]["source"][number]["env"] }[];
  max_concurrent: number;
  sandbox: RlConfig["sandbox"];
}

export interface SandboxdChildConfig {
  /** Socket of the sandbox daemon. */
  socket: string | null;
  daemon: DaemonSettings;
}

/** Number of the sandbox daemon's Prometheus endpoint in the run. */
const SANDBOXD_PORT_OFFSET = 3;

export interface TrainerChildConfig {
  run_id: string;
  /** Digest of the weights under the model's name. */
  base_weights: string;
  /** The model that a KL term of the loss pulls towards; null: none. */
  reference_dir: string | null;
  /** The run's model, or the trainer's half of the checkpoint that it goes on from. */
  model_dir: string;
  /** The run's model, which the checkpoint's tokenizer is that of. */
  base_dir: string;
  /** Step of that checkpoint; 0 for a new run. */
  start_step: number;
  checkpoints: string;
  ckpt: RlConfig["ckpt"];
  seed: number;
  max_steps: number | null;
  trainer: RlConfig["trainer"];
  weight_broadcast: RlConfig["weight_broadcast"];
  rollout_transport: RlConfig["rollout_transport"];
  monitors: RlConfig["monitors"];
}

/** The whole resolved config, with what the launcher added. */
export type OrchestratorChildConfig = RlConfig & {
  run_id: string;
  model_dir: string;
  checkpoints: string;
  /** Step of the checkpoint to continue from; 0 for a new run. */
  start_step: number;
  /** Its folder. */
  resume_from: string | null;
  /** Versions that a supervised run evaluates, without training on the rollouts; null: this is an RL run. */
  evaluate_only: number[] | null;
};

export interface SftChildConfig {
  run_id: string;
  /** The run's model, or the trainer's half of the checkpoint that it goes on from. */
  model_dir: string;
  /** The run's model, which the checkpoint's tokenizer is that of. */
  base_dir: string;
  /** Step of that checkpoint; 0 for a new run. */
  start_step: number;
  /** Folder of the checkpoints; null: none are written. */
  checkpoints: string | null;
  /** An orchestrator evaluates the versions that it publishes. */
  is_evaluated: boolean;
  /** Folder that gets the trained checkpoint. */
  out_dir: string;
  config: SftConfig;
}

function shownAt({ prometheus }: RlConfig["monitors"]): Pick<DaemonSettings, "metricsAddress"> {
  return prometheus === null ? {} : { metricsAddress: `127.0.0.1:${prometheus.port + SANDBOXD_PORT_OFFSET}` };
}

/** Writes `<run>/configs/<name>.json` and returns its path. */
export async function writeConfig(runDir: string, name: string, config: unknown): Promise<string> {
  const path = join(runDir, "configs", `${name}.json`);
  makeFolder(join(runDir, "configs"));
  await atomicWriteJson(path, config);
  return path;
}

/** The configs of an RL run's processes; `config` has its thread counts filled. */
export function rlChildConfigs(
  config: RlConfig,
  {
    runId,
    modelDir,
    baseWeights,
    referenceDir,
    checkpoints,
    resume,
  }: Pick<RunBase, "runId" | "modelDir" | "baseWeights" | "referenceDir" | "checkpoints" | "resume">,
  /** Socket of the run's own sandbox daemon, when it has one. */
  socket: string | null = null,
): {
  inference: InferenceChildConfig;
  "env-worker": EnvWorkerChildConfig;
  sandboxd: SandboxdChildConfig;
  trainer: TrainerChildConfig;
  orchestrator: OrchestratorChildConfig;
} {
  const { orchestrator, seed } = config;
  const startStep = resume?.step ?? 0;
  return {
    inference: {
      model_dir: modelDir,
      version: 0,
      seed,
      inference: config.inference,
      weight_broadcast: config.weight_broadcast,
      start_paused: true,
    },
    "env-worker": {
      run_id: runId,
      seed,
      model_dir: modelDir,
      sources: [
        ...orchestrator.train.source.map(({ name, env }) => ({ name, split: "train" as const, env })),
        ...(orchestrator.eval?.source ?? []).map(({ name, env }) => ({ name, split: "eval" as const, env })),
      ],
      max_concurrent: orchestrator.max_inflight,
      sandbox: socket === null ? config.sandbox : { ...config.sandbox, addresses: [`unix:${socket}`] },
    },
    sandboxd: { socket, daemon: { ...daemonSettings(config.sandbox), ...shownAt(config.monitors) } },
    trainer: {
      run_id: runId,
      base_weights: baseWeights,
      reference_dir: referenceDir,
      model_dir: resume === null ? modelDir : join(resume.dir, "trainer"),
      base_dir: modelDir,
      start_step: startStep,
      checkpoints,
      ckpt: config.ckpt,
      seed,
      max_steps: config.max_steps,
      trainer: config.trainer,
      weight_broadcast: config.weight_broadcast,
      rollout_transport: config.rollout_transport,
      monitors: config.monitors,
    },
    orchestrator: {
      ...config,
      run_id: runId,
      model_dir: modelDir,
      checkpoints,
      start_step: startStep,
      resume_from: resume?.dir ?? null,
      evaluate_only: null,
    },
  };
}
