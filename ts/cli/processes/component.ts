/**
 * Starts one process of a run without the launcher, from the run's own config: `prl trainer @ rl.toml --run-dir <dir>`.
 *
 * It makes and writes the same config as the launcher, and returns the arguments that the launcher would start the process with.
 * The user then has to do what the launcher does besides: give all processes one config, give each run a new folder, and stop the
 * processes that serve.
 */
import { readdir, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

import { loadConfig, parseConfigArguments, referenceOf, type RlConfig, START_REFERENCE } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { tellFailureAt } from "../../failure-note.ts";
import { ifThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { checkOptions } from "../arguments/args.ts";
import type { Component } from "./standalone.ts";
import { CHILD_OPTIONS } from "./child.ts";
import type { CommandIo } from "../command.ts";
import { METRICS_FILE, MetricsTail } from "../../monitors/index.ts";
import {
  type BaseModel,
  ensureBaseModel,
  rlChildConfigs,
  writeConfig,
  withThreads,
  warmStartConfig,
  type StandaloneResume,
  type ResumablePart,
  resumeStandalone,
  checkpointRoot,
  type ResumeRequest,
  type RunBase,
  SUMMARY_FILE,
  ensureWarmStart,
} from "../../launcher/index.ts";
import { RESUME_OPTION, resumeRequest } from "./show-run.ts";

const RUN_DIR = { flag: "--run-dir", value: "dir" } as const;
const INDEX = { flag: "--index", value: "i" } as const;
const ATTEMPT = { flag: "--attempt", value: "n" } as const;

/**
 * The arguments that the launcher would give, for a config as `prl rl` takes it.
 *
 * @throws PrlError `PRL_CLI_USAGE`, those of the config, `PRL_RUN_EXISTS` when the directory holds an earlier run
 */
export async function launcherArguments(
  component: Component,
  args: readonly string[],
  io: CommandIo,
): Promise<readonly string[]> {
  const { files, overrides, options } = parseConfigArguments("rl", args, [RUN_DIR, INDEX, ATTEMPT, RESUME_OPTION]);
  checkOptions(CHILD_OPTIONS, options);
  const given = options.get(RUN_DIR.flag);
  if (given === undefined)
    throw new PrlError("PRL_CLI_USAGE", "--run-dir: <dir> is missing, the directory of the run that this is a part of");
  const runDir = resolve(io.cwd, given);
  const { config } = await loadConfig(files, overrides, { kind: "rl", env: io.env, cwd: io.cwd });
  const request = resumeRequest(options.get(RESUME_OPTION.flag));
  const resumed = await resumedOf(component, { ...config, run: { ...config.run, name: basename(runDir) } }, runDir, {
    request,
    attempt: attemptOf(options.get(ATTEMPT.flag)),
  });
  if (component === "orchestrator" && resumed === null) await refuseEarlierRun(runDir);
  if (resumed?.checkpoint === null)
    io.stderr.write(`prl: ${runDir} has no whole checkpoint yet: it begins again at step 0\n`);
  const index = options.get(INDEX.flag) ?? "0";
  makeFolder(join(runDir, "run"));
  // A warm start may fail long before the process joins the run.
  if (component === "trainer") tellFailureAt({ runDir, component, index: 0 });
  const child = await childConfig(component, config, runDir, resumed?.checkpoint ?? null, io);
  const path = await writeConfig(runDir, `${component}-${index}`, child);
  // A later attempt is compared with this config.
  if (isResumable(component)) await writeConfig(runDir, "rl", config);
  const attempt = resumed === null ? [] : ["--attempt", String(resumed.attempt)];
  return ["--config", path, "--run-dir", runDir, "--index", index, ...attempt];
}

async function resumedOf(
  component: Component,
  config: RlConfig,
  runDir: string,
  { request, attempt }: { request: ResumeRequest | undefined; attempt: number | null },
): Promise<StandaloneResume | null> {
  if (request === undefined) return null;
  if (isResumable(component)) return resumeStandalone(component, config, runDir, { request, attempt });
  throw new PrlError(
    "PRL_CLI_USAGE",
    `${component} holds nothing of a run: start it without --resume; trainer and orchestrator continue one`,
  );
}

function isResumable(component: Component): component is ResumablePart {
  return component === "trainer" || component === "orchestrator";
}

function attemptOf(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
}

async function childConfig(
  component: Component,
  config: RlConfig,
  runDir: string,
  resume: StandaloneResume["checkpoint"] | null,
  io: CommandIo,
): Promise<unknown> {
  const model = await ensureBaseModel(config.model.name, config.seed);
  const runId = basename(runDir);
  const base = {
    runId,
    modelDir: model.dir,
    baseWeights: model.weights,
    checkpoints: checkpointRoot(config, runDir, runId),
    resume,
  };
  const reference = referenceOf(config.trainer.loss);
  let referenceDir = reference && model.dir;
  // The other processes get their weights from the trainer, and their tokenizer from the model.
  if (component === "trainer") {
    const isStart = reference === START_REFERENCE;
    if (reference !== null && !isStart) referenceDir = (await ensureBaseModel(reference, config.seed)).dir;
    if (config.warm_start !== null && (resume === null || isStart)) {
      const path = await warmStart(config, config.warm_start.sft, model, { ...base, runDir }, io);
      if (resume === null) base.modelDir = path;
      if (isStart) referenceDir = path;
    }
  }
  return rlChildConfigs(withThreads(config), { ...base, referenceDir })[component];
}

/** The folder of the warm start, from the cache or trained now. */
async function warmStart(
  config: RlConfig,
  file: string,
  model: BaseModel,
  { runDir, ...base }: Pick<RunBase, "runId" | "runDir" | "modelDir" | "baseWeights" | "checkpoints">,
  { signal, hurry, stderr }: CommandIo,
): Promise<string> {
  const { config: sft } = await warmStartConfig(config, file);
  const logs = join(runDir, "logs");
  makeFolder(logs);
  stderr.write(`warm start: from the cache, or trained now; its log is ${join(logs, "sft-0.log")}\n`);
  const run = { ...base, runDir, logs, attempt: 1, referenceDir: null, resume: null, needsSandboxes: false };
  const tail = new MetricsTail(join(runDir, METRICS_FILE));
  const stage = { runDir, tail, onLine: () => undefined, signal, hurry };
  const { path } = await ensureWarmStart(sft, model, run, stage);
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
