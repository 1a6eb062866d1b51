/**
 * Prepares one process of a run that is started without the launcher: finds the checkpoint to continue from, resolves the folders of the models
 * and writes the config that the launcher would write.
 *
 * The user then has to do what the launcher does besides: give all processes one config, give each run a new folder, and stop the
 * processes that serve.
 */
import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";

import type { RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { writeFailureNotesTo } from "../../failure-note.ts";
import { ifThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import type { DownloadProgress } from "../../models/index.ts";
import { DownloadLines, METRICS_FILE, MetricsTail } from "../../monitors/index.ts";
import { type BaseModel, ensureBaseModel } from "../models/base-model.ts";
import { type ModelDirs, resolveModelDirs, tokenizerDirs } from "../models/model-dirs.ts";
import { type EnvWorkerChildConfig, rlChildConfigs, type RunStart, writeConfig } from "../processes/child-configs.ts";
import { withThreads } from "../processes/cores.ts";
import { ensureWarmStart } from "../processes/warm-start.ts";
import { warmStartConfig } from "../run/prepare.ts";
import { checkpointRoot, type ResumeRequest } from "../run/resume-run.ts";
import { SUMMARY_FILE } from "../run/run-session.ts";
import { type ResumablePart, resumeStandalone, type StandaloneResume } from "./resume-standalone.ts";

/** A process of a run that can be started without the launcher. */
export interface StandalonePart {
  readonly component: "trainer" | "inference" | "orchestrator" | "env-worker";
  readonly index: number;
  readonly runDir: string;
  /** The checkpoint to continue from, if the run is to continue. */
  readonly request: ResumeRequest | undefined;
  /** Number of the attempt; null: it is counted. */
  readonly attempt: number | null;
}

export interface StandaloneOptions {
  readonly signal: AbortSignal;
  readonly hurry: AbortSignal;
  /** Called with what the user should know before the process works. */
  readonly note: (text: string) => void;
}

export interface PreparedPart {
  /** The config of the process. */
  readonly configPath: string;
  /** The attempt that it continues as; null: the run is new. */
  readonly attempt: number | null;
}

/** @throws PrlError `PRL_CLI_USAGE`, `PRL_RUN_EXISTS` when the directory holds an earlier run, those of the models and of the resume */
export async function prepareStandalone(
  part: StandalonePart,
  config: RlConfig,
  options: StandaloneOptions,
): Promise<PreparedPart> {
  const { component, index, runDir } = part;
  const resumed = await resumedOf(part, { ...config, run: { ...config.run, name: basename(runDir) } });
  if (component === "orchestrator" && resumed === null) await refuseEarlierRun(runDir);
  if (resumed?.checkpoint === null) options.note(`${runDir} has no whole checkpoint yet: it begins again at step 0`);
  makeFolder(join(runDir, "run"));
  // A warm start may fail long before the process joins the run.
  if (component === "trainer") writeFailureNotesTo({ runDir, component, index: 0 });
  const start = await startOf(part, config, resumed, options);
  const configs = rlChildConfigs(withThreads(config), start);
  const child = component === "env-worker" ? { ...configs[component], listen: listenOf(config) } : configs[component];
  const configPath = await writeConfig(runDir, `${component}-${index}`, child);
  // A later attempt is compared with this config.
  if (isResumable(component)) await writeConfig(runDir, "rl", config);
  return { configPath, attempt: resumed?.attempt ?? null };
}

/** Where an env worker listens for an orchestrator on another machine; null: for one on this machine. */
function listenOf({ orchestrator }: RlConfig): EnvWorkerChildConfig["listen"] {
  const { listen: address, tls_cert, tls_key } = orchestrator.remote_env_workers;
  return address === null ? null : { address, tls_cert, tls_key };
}

async function resumedOf(part: StandalonePart, config: RlConfig): Promise<StandaloneResume | null> {
  const { component, runDir, request, attempt } = part;
  if (request === undefined) return null;
  if (isResumable(component)) return resumeStandalone(component, config, runDir, { request, attempt });
  throw new PrlError(
    "PRL_CLI_USAGE",
    `${component} holds nothing of a run: start it without --resume; trainer and orchestrator continue one`,
  );
}

function isResumable(component: StandalonePart["component"]): component is ResumablePart {
  return component === "trainer" || component === "orchestrator";
}

/** The trainer loads the models; the other processes get their weights from it, and their tokenizer from the model's folder. */
async function startOf(
  { component, runDir }: StandalonePart,
  config: RlConfig,
  resumed: StandaloneResume | null,
  options: StandaloneOptions,
): Promise<RunStart> {
  const { runId, checkpoint: resume } = resumed ?? { runId: basename(runDir), checkpoint: null };
  const lines = new DownloadLines(options.note);
  const pull = { signal: options.signal, onProgress: (progress: DownloadProgress) => lines.show(progress) };
  const model = await ensureBaseModel(config.model.name, config.seed, pull);
  const dirs = component === "trainer" ? await trainerDirs(config, model, { runDir, resume }, options) : null;
  const checkpoints = checkpointRoot(config, runDir, basename(runDir));
  return { runId, checkpoints, resume, ...(dirs ?? tokenizerDirs(model)) };
}

function trainerDirs(
  config: RlConfig,
  model: BaseModel,
  { runDir, resume }: { runDir: string; resume: RunStart["resume"] },
  options: StandaloneOptions,
): Promise<ModelDirs> {
  const { warm_start: warmStart } = config;
  return resolveModelDirs(config, {
    model,
    isNew: resume === null,
    warmStart: warmStart === null ? null : () => warmUp({ config, file: warmStart.sft, model }, runDir, options),
  });
}

/** The folder of the warm start, from the cache or trained now. */
async function warmUp(
  { config, file, model }: { config: RlConfig; file: string; model: BaseModel },
  runDir: string,
  { signal, hurry, note }: StandaloneOptions,
): Promise<string> {
  const { config: sft } = await warmStartConfig(config, file);
  const logs = join(runDir, "logs");
  makeFolder(logs);
  note(`warm start: from the cache, or trained now; its log is ${join(logs, "sft-0.log")}`);
  const tail = new MetricsTail(join(runDir, METRICS_FILE));
  const stage = { runDir, tail, onLine: () => undefined, onRestart: () => undefined, note, signal, hurry };
  const { path } = await ensureWarmStart(sft, model, { runId: basename(runDir), runDir, logs, attempt: 1 }, stage);
  return path;
}

/** Refuses a directory with batches and weights that would count as this run's; an earlier run that failed early leaves only a summary. */
async function refuseEarlierRun(runDir: string): Promise<void> {
  const entries = (await ifThere(readdir(runDir), runDir)) ?? [];
  const earlier = entries.filter((entry) => ["rollouts", "checkpoints"].includes(entry));
  if (earlier.length === 0) return rm(join(runDir, SUMMARY_FILE), { force: true });
  throw new PrlError(
    "PRL_RUN_EXISTS",
    `${runDir} holds ${earlier.join(", ")} of an earlier run: give another --run-dir, or --resume`,
  );
}
